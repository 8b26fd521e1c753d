package queue

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Store keeps candidates, budgets and evidence. Every method is atomic by itself and joins the transaction of its ctx,
// see [bridge.Store]. Unknown ids give a *bridge.Error with [CodeCandidateUnknown].
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error

	// LockAgent makes everybody else who locks the agent's queue wait until the transaction ends, and notes the turn,
	// which only moves forwards. It gives the highest turn that was ever noted.
	LockAgent(ctx context.Context, agent bridge.AgentID, turn Turn) (highest Turn, err error)
	// HighestTurn is the highest turn that LockAgent noted; ok is false for an agent that never called.
	HighestTurn(ctx context.Context, agent bridge.AgentID) (turn Turn, ok bool, err error)

	// Spend takes the agent's budget for a turn by one conditional update of its bucket: granted when there was no ask
	// yet, or the last one is [BudgetTurns] turns back, or the bucket is past its wall-clock end, which the grant sets to
	// until. A turn before the last ask never grants, and never rewinds it. (Question Queue, "The budget".)
	Spend(ctx context.Context, s Spending) (granted bool, err error)
	// CanSpend says whether Spend would grant now.
	CanSpend(ctx context.Context, s Spending) (bool, error)
	// SpendPerson takes one of the asks that a person or room is left with in the time before now, across all agents.
	SpendPerson(ctx context.Context, s PersonSpending) (granted bool, err error)

	// AddCandidate stores a new one.
	AddCandidate(ctx context.Context, c Candidate) error
	// Candidate reads one; somebody else's is unknown.
	Candidate(ctx context.Context, agent bridge.AgentID, id CandidateID) (Candidate, error)
	// CandidateOf finds the one that a question was asked for; ok is false when it is none.
	CandidateOf(ctx context.Context, q bridge.QuestionID) (c Candidate, ok bool, err error)
	// Similar gives the agent's candidates with the text, as [SameText] has it, with one of the keys, or of the
	// disjunction: open ones, and answered ones that were created on or after a turn.
	Similar(ctx context.Context, s Similarity) ([]Candidate, error)
	// Equals gives the other agents' pending and cooled candidates of the same kind, text and option labels.
	Equals(ctx context.Context, c Candidate, others []bridge.AgentID) ([]Candidate, error)
	// Followers gives the candidates that were delivered with this one as their leader and stand at delivered.
	Followers(ctx context.Context, leader CandidateID) ([]Candidate, error)
	// Touch moves LastSeenTurn of a candidate forwards.
	Touch(ctx context.Context, id CandidateID, turn Turn) error
	// NoteUse moves LastSeenTurn of the agent's open candidates with one of the keys forwards, and says of how many.
	NoteUse(ctx context.Context, agent bridge.AgentID, keys []string, turn Turn) (int, error)
	// List gives an agent's candidates, newest first, at most limit, and the cursor of the next page, "" on the last.
	List(ctx context.Context, l Listing) ([]Candidate, string, error)

	// Lapsed gives the agent's candidates that expire on a turn ([Candidate.Lapsed]), and Ignored those delivered ones
	// that nobody replied to ([Candidate.Ignored]); at most limit.
	Lapsed(ctx context.Context, agent bridge.AgentID, turn Turn, limit int) ([]Candidate, error)
	Ignored(ctx context.Context, agent bridge.AgentID, turn Turn, limit int) ([]Candidate, error)
	// WithKeys gives the agent's open candidates about one of the keys.
	WithKeys(ctx context.Context, agent bridge.AgentID, keys []string) ([]Candidate, error)
	// Waiting gives the candidates that pass the gate and may be delivered on a turn, in order of delivery: the latest
	// LastSeenTurn, then the fewest asks, then the oldest CreatedTurn, then id; those after a place in that order.
	Waiting(ctx context.Context, w Window) ([]Candidate, error)

	// Move changes a candidate that still stands as it was read: at its status and delivered turn, by one conditional
	// update. moved is false when it was moved meanwhile.
	Move(ctx context.Context, m Move) (moved bool, err error)
	// Prune deletes what is not pending and was created before a turn, at most limit, and says how many.
	Prune(ctx context.Context, agent bridge.AgentID, before Turn, limit int) (int, error)

	// Evidence reads what is known of a target key; the zero Evidence of the key where nothing is.
	Evidence(ctx context.Context, agent bridge.AgentID, key string) (Evidence, error)
	// MarkApplied notes that an answered candidate's evidence is counted; first is false when it was already.
	MarkApplied(ctx context.Context, id CandidateID) (first bool, err error)
	// SaveEvidence stores it.
	SaveEvidence(ctx context.Context, agent bridge.AgentID, e Evidence) error

	// Off says whether an operator has switched the queue off; SetOff does it.
	Off(ctx context.Context) (bool, error)
	SetOff(ctx context.Context, off bool, at time.Time) error
}

// CodeCandidateUnknown says that there is no such candidate of this agent.
const CodeCandidateUnknown bridge.Code = "candidate_not_found"

// Spending is one try to spend an agent's budget.
type Spending struct {
	Agent bridge.AgentID
	Turn  Turn
	Now   time.Time
	Until time.Time // the new wall-clock end of the bucket
}

// PersonSpending is one try to spend what a person, or a room that is asked as a whole, is left with.
type PersonSpending struct {
	Whom string // a user id, or a room id for room scope
	Now  time.Time
	Asks int           // at most so many …
	Per  time.Duration // … within this time
}

// Similarity selects candidates that a proposal may repeat.
type Similarity struct {
	Agent         bridge.AgentID
	Text          string // as SameText has it
	Keys          []string
	Disjunction   string // "" for none
	AnsweredSince Turn
}

// Window selects candidates to deliver.
type Window struct {
	Agent bridge.AgentID
	Turn  Turn
	Cues  []string   // nil for no question of relevance
	After *Candidate // go on behind this one
	Limit int
}

// Listing selects an agent's candidates.
type Listing struct {
	Agent  bridge.AgentID
	Status Status // "" for every one
	Limit  int    // 1–200
	Cursor string
}

// Move is one change of a candidate's status.
type Move struct {
	From Candidate // as it was read: its id, status and delivered turn are compared
	To   Status

	DeliveredTurn *Turn             // of a delivery, which also counts as an ask
	Question      bridge.QuestionID // of a delivery into a room
	Leader        CandidateID       // of a delivery that is another agent's: whose question it is
	CooldownUntil *Turn             // of one that cools
	AnswerOption  *int              // of an answer
}
