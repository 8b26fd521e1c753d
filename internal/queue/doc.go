// Package queue rations clarifying questions, after the document Question Queue. Whoever is uncertain proposes a
// candidate in place of asking; the host asks once per turn whether anything is worth asking, and gives the reply back,
// which becomes evidence about the candidate's target keys.
//
// The queue never writes to a room and never addresses a person: [Queue.Next] gives a candidate, and delivering it is the
// host's step. [Queue.NextIn] does that step by an [Asker], which asks an ordinary question; what becomes of that is what
// becomes of the candidate ([Queue.Settling]). Turns are the host's own count, which only grows; the queue has none.
//
// Locks are taken in one order: the queue of an agent's group, the budget of whoever is asked, a question, its candidates.
// Whoever settles a question holds it already, and so moves its candidates without the first one: a candidate that stands
// at delivered may be moved by that at any time, which is what the condition of [Candidates.MoveCandidate] is for.
package queue

import "time"

// The tuning of the queue (Question Queue, "Tuning constants"). They are experimental values and no settings. All but the
// last two are in turns of the host.
const (
	BudgetTurns    = 5   // K: one delivery in so many turns, for each agent
	ExpiryTurns    = 20  // N: what was not delivered for so many turns expires
	RecentUseTurns = 5   // how long ago a candidate may have been used to pass the gate
	RetentionTurns = 500 // what is not pending and older than this is pruned
	CooldownTurns  = 10  // from a reply that was no answer, or none at all, until the question may be asked again

	AnswerWeight = 3                  // observations that one answer makes of each target
	BucketTTL    = 7 * 24 * time.Hour // an agent whose turns began anew is locked out for no longer
)

// How the ledger of targets counts (Question Queue, "Answers are evidence"; the figures are those of the document's
// ConfidenceField and ObservationProtocol).
const (
	startConfidence    = 0.5
	actedSignal        = 0.9
	contradictedSignal = 0.1
	evidenceCap        = 20 // an observation beyond it has the weight of the last one up to it: 1/21
)

// Limits of what is handed in. Whatever keeps those of a proposal can be asked in a room.
const (
	MaxText    = 2000 // characters of the question
	MaxOptions = 20
	MaxLabel   = 200 // characters
	MaxKeys    = 100 // target keys, and keys of each list of an option
	MaxKey     = 255 // characters

	MaxTurn Turn = 1<<53 - 1 // what every language's JSON holds exactly
)
