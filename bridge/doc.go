// Package bridge is the domain of question-bridge and its engine: questions, what people did, what that means, and the
// one move that settles a question. It knows no messaging protocol, no database and no HTTP; those implement the
// interfaces declared here.
//
// # Guarantees
//
//  1. What was acknowledged is never lost: an event is on disk before its sender is told so, and it is marked handled in
//     the transaction that stores whatever it caused.
//  2. A question is posted once: every send has a key that is saved before the first try. A send whose result is unknown
//     is looked up before it is repeated, and not repeated while it may still arrive; should a homeserver make two
//     messages of one send all the same, the second is taken back as soon as it is seen.
//  3. One question, one answer: state, revision and answer are in one row, settled by one conditional update that also
//     checks the deadline. A loser gets the winner's answer, never an error.
//  4. Every settled question is told at least once to its waiters, its webhooks and its room, with a stable delivery id.
//  5. Silence never becomes an answer.
package bridge
