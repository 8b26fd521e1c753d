package queue

import (
	"context"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Store keeps candidates, budgets, evidence and the switch. Every method is atomic by itself and joins the transaction of
// its ctx, see [bridge.Store].
type Store interface {
	Atomically(ctx context.Context, f func(ctx context.Context) error) error

	Candidates
	Budgets
	Ledger

	// AddEffects stores what is owed, see [bridge.Outbox].
	AddEffects(ctx context.Context, effects ...bridge.Effect) error

	// QueueOff says whether an operator has switched the queue off; SetQueueOff does it.
	QueueOff(ctx context.Context) (bool, error)
	SetQueueOff(ctx context.Context, off bool) error
}

// Candidates keeps candidates. Where it gives several and says no other order, the oldest CreatedTurn comes first, then
// the least id.
type Candidates interface {
	// AddCandidate stores a new one.
	AddCandidate(ctx context.Context, c Candidate) error
	// Candidate reads one of an agent's. Any other id gives a *bridge.Error with [CodeCandidateUnknown].
	Candidate(ctx context.Context, agent bridge.AgentID, id CandidateID) (Candidate, error)
	// CandidateOf finds the one that a question was asked for, which is nobody's follower; ok is false when there is none.
	CandidateOf(ctx context.Context, q bridge.QuestionID) (c Candidate, ok bool, err error)
	// AskedOf gives those of the questions that candidates were asked for.
	AskedOf(ctx context.Context, ids []bridge.QuestionID) ([]bridge.QuestionID, error)
	// ListCandidates gives an agent's, newest first, at most limit, and the cursor of the next page, "" on the last. A
	// cursor that it did not give out is bridge.CodeInvalidCursor.
	ListCandidates(ctx context.Context, l Listing) ([]Candidate, string, error)

	// SimilarCandidates gives the agent's that a proposal may repeat: open ones, and answered ones that were resolved on or
	// after a turn.
	SimilarCandidates(ctx context.Context, s Similarity) ([]Candidate, error)
	// EqualCandidates gives other agents' open candidates with the kind and text of one, as [bridge.Plain] has it.
	EqualCandidates(ctx context.Context, c Candidate, others []bridge.AgentID) ([]Candidate, error)
	// Followers gives those that were delivered with a leader and stand at delivered.
	Followers(ctx context.Context, leader CandidateID) ([]Candidate, error)
	// CandidatesAbout gives the agent's open candidates with one of the target keys.
	CandidatesAbout(ctx context.Context, agent bridge.AgentID, keys []string) ([]Candidate, error)
	// IgnoredCandidates gives the agent's that are [Candidate.Ignored] on a turn, at most limit, the longest ignored first;
	// without those whose leader is still delivered: the question is theirs too, and stands.
	IgnoredCandidates(ctx context.Context, agent bridge.AgentID, turn Turn, limit int) ([]Candidate, error)
	// WaitingCandidates gives those that are [Candidate.Deliverable] and [Candidate.Relevant], in the order of
	// [CompareDelivery].
	WaitingCandidates(ctx context.Context, w Window) ([]Candidate, error)

	// TouchCandidate moves LastSeenTurn of an open one forwards.
	TouchCandidate(ctx context.Context, id CandidateID, turn Turn) error
	// NoteUse moves LastSeenTurn of the agent's open candidates with one of the target keys forwards, and says of how many.
	NoteUse(ctx context.Context, agent bridge.AgentID, keys []string, turn Turn) (int, error)
	// MoveCandidate stores a candidate's new status, with the turns and ids that come with it, by one conditional update:
	// moved is false, and nothing changed, unless it still has the status, asks and delivered turn that it was read with.
	// LastSeenTurn stays as it is stored.
	MoveCandidate(ctx context.Context, from, to Candidate) (moved bool, err error)
	// ExpireLapsed expires the agent's candidates that are [Candidate.Lapsed] on a turn, at most limit, and says how many.
	ExpireLapsed(ctx context.Context, agent bridge.AgentID, turn Turn, limit int) (int, error)
	// PruneCandidates deletes the agent's candidates that are not pending and, on a turn, not [Candidate.Kept], at most limit,
	// and says how many.
	PruneCandidates(ctx context.Context, agent bridge.AgentID, turn Turn, limit int) (int, error)
}

// Budgets keeps the turns of agents and what they, and the people they ask, are left with.
type Budgets interface {
	// LockAgent makes everybody else who locks the agent wait until the transaction ends.
	LockAgent(ctx context.Context, agent bridge.AgentID) error
	// NoteTurn notes a turn that an agent sent; the highest one counts.
	NoteTurn(ctx context.Context, agent bridge.AgentID, turn Turn) error
	// HighestTurn is the highest that NoteTurn noted; 0 for an agent that never sent one.
	HighestTurn(ctx context.Context, agent bridge.AgentID) (Turn, error)

	// SpendBudget takes the agent's budget for a turn by one conditional update of its bucket: granted when there was no
	// ask yet, or the last one is [BudgetTurns] turns back, or the bucket is past its wall-clock end. A turn before the last
	// ask is not granted, and never rewinds it. (Question Queue, "The budget".)
	SpendBudget(ctx context.Context, s Spending) (granted bool, err error)
	// BudgetLeft says whether SpendBudget would grant now.
	BudgetLeft(ctx context.Context, s Spending) (bool, error)
	// SpendPersonBudget takes one of the asks that a person or room is left with now, across all agents.
	SpendPersonBudget(ctx context.Context, s PersonSpending) (granted bool, err error)
}

// Ledger keeps what answers said about target keys.
type Ledger interface {
	// Evidence reads what is known of a target key; the zero Evidence of the key where nothing is.
	Evidence(ctx context.Context, agent bridge.AgentID, key string) (Evidence, error)
	// SaveEvidence stores it.
	SaveEvidence(ctx context.Context, agent bridge.AgentID, e Evidence) error
	// MarkApplied notes that an answered candidate's evidence is counted; first is false when it was already, and for a
	// candidate that is not answered.
	MarkApplied(ctx context.Context, id CandidateID) (first bool, err error)
}

// CodeCandidateUnknown says that there is no such candidate of this agent.
const CodeCandidateUnknown bridge.Code = "candidate_not_found"

// Spending is one try to spend an agent's budget.
type Spending struct {
	Agent bridge.AgentID
	Turn  Turn
	Now   time.Time
	Until time.Time // the wall-clock end that a grant gives the bucket
}

// PersonSpending is one try to spend what a person, or a room that is asked as a whole, is left with.
type PersonSpending struct {
	Whom string // a user id, or a room id
	Now  time.Time
	PersonBudget
}

// PersonBudget is how often a person, or a room that is asked as a whole, may be asked: at most Asks times within Per,
// which is more than 0. The zero one is no limit.
type PersonBudget struct {
	Asks int
	Per  time.Duration
}

// Similarity selects candidates with the text, with one of the target keys, or of the disjunction.
type Similarity struct {
	Agent         bridge.AgentID
	Text          string // compared as [bridge.Plain] has it
	Keys          []string
	Disjunction   string // "" for none
	AnsweredSince Turn
}

// Window selects candidates to deliver.
type Window struct {
	Agent bridge.AgentID
	Turn  Turn
	Cues  []string   // see [Candidate.Relevant]
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
