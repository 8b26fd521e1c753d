// Package client asks people questions through a question-bridge server and learns their one answer. It is the Go
// binding of The Question Protocol 1.1, section 8.
//
// [Client.Ask] (or [Client.AskYesNo], [Client.AskApproval]) creates a question and returns it with its id and deadline. It
// is asked once, however often the connection is lost: see [IdempotencyKey]. Then there are two ways to the answer:
//
//   - [Client.Await] waits until the question ends, through restarts of the server, and returns an [Outcome].
//   - A program that does not wait gives the ask a correlation id, and has the server's webhook tell it later: a [Webhook]
//     verifies the request and gives the [Event], which is an Outcome too.
//
// Three outcomes are kept apart: a person answered (a "no" is an answer too), nobody answered in time, and the question was
// withdrawn. [Client.Fetch], [Client.List] and [Client.Cancel] are for audit, recovery and cleaning up.
//
// [Client.AskQuery] puts a query of a gated exchange (docs/gate.md) to people, and [Outcome.Next] is what follows a yes;
// [Client.Gates] is the side that hands such queries out, and [Respond] answers one.
//
// A [Responder] is the other side: it lists what waits for a person, and answers as them.
//
// Who answered is always what the server authenticated: nothing here lets a caller name a responder.
package client
