// Package client asks people questions through a question-bridge server and waits for their one answer. It is the Go
// binding of The Question Protocol 1.1, section 8.
//
// [Client.Ask] (or [Client.AskYesNo], [Client.AskApproval]) creates a question and returns it with its id and deadline.
// [Client.Await] waits until it ends, through restarts of the server, and returns an [Outcome]. Three outcomes are
// kept apart: a person answered (a "no" is an answer too), nobody answered in time, and the question was withdrawn.
//
// A [Responder] is the other side: it lists what waits for a person, and answers as them.
//
// Who answered is always what the server authenticated: nothing here lets a caller name a responder.
package client
