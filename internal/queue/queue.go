package queue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// Parts is what a queue is made of.
type Parts struct {
	Store Store
	Clock bridge.Clock
	// Disabled is the kill switch that the environment holds; it is read on every call. Nil for never.
	Disabled func() bool
	// Staleness says which candidates are about something that is no more. Nil for none.
	Staleness Staleness
	// Withdrawer ends the question in a room that a candidate was asked by. Nil where the queue asks in no rooms.
	Withdrawer Withdrawer
	// Groups are agents whose equal candidates are asked once. An agent is in one at most.
	Groups [][]bridge.AgentID
	// LockWait is how long a call waits for the agent's queue; 2 s, if 0.
	LockWait time.Duration
}

// Staleness is a check that a host registers for its candidates.
type Staleness interface {
	// Stale gives those of an agent's candidates that are stale. One that the check fails for is in failed: it neither
	// expires nor is delivered now. It may use the network, and is called outside of transactions.
	Stale(ctx context.Context, agent bridge.AgentID, candidates []Candidate) (stale, failed map[CandidateID]bool)
}

// Withdrawer ends questions that are pending in a room.
type Withdrawer interface {
	// Withdraw cancels a question in the transaction of ctx, with everything that this owes. One that ended already stays
	// as it is.
	Withdraw(ctx context.Context, id bridge.QuestionID, by bridge.CancelledBy, reason string) error
}

// ReasonCooled is why a question that got no answer was cancelled.
const ReasonCooled = "cooled"

// Queue is the one ration of every agent's questions. Its methods may be called at once. They never fail for the
// database's sake: they log that, and give what means "nothing" (Question Queue, "Fail-closed behavior"). An error is a
// *bridge.Error, and a fault of the caller.
type Queue struct{ Parts }

// New makes a queue of its parts.
func New(p Parts) *Queue {
	if p.Disabled == nil {
		p.Disabled = func() bool { return false }
	}
	if p.Staleness == nil {
		p.Staleness = neverStale{}
	}
	if p.Withdrawer == nil {
		p.Withdrawer = inNoRoom{}
	}
	if p.LockWait == 0 {
		p.LockWait = 2 * time.Second
	}
	return &Queue{p}
}

type neverStale struct{}

func (neverStale) Stale(context.Context, bridge.AgentID, []Candidate) (_, _ map[CandidateID]bool) {
	return nil, nil
}

type inNoRoom struct{}

func (inNoRoom) Withdraw(context.Context, bridge.QuestionID, bridge.CancelledBy, string) error {
	return nil
}

// off says whether the queue is switched off. It is, where that cannot be read.
func (q *Queue) off(ctx context.Context) bool {
	if q.Disabled() {
		return true
	}
	off, err := q.Store.Off(ctx)
	return off || q.failed(ctx, err, "read the switch")
}

// failed logs a failure that is not the caller's fault, and says whether there was one.
func (q *Queue) failed(ctx context.Context, err error, doing string) bool {
	if err != nil {
		zerolog.Ctx(ctx).Err(err).Str("doing", doing).Msg("The question queue failed")
	}
	return err != nil
}

// locked runs f in a transaction that has the agent's queue to itself. It waits for that no longer than LockWait.
func (q *Queue) locked(ctx context.Context, agent bridge.AgentID, turn Turn, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, q.LockWait)
	defer cancel()
	return q.Store.Atomically(ctx, func(ctx context.Context) error {
		if _, err := q.Store.LockAgent(ctx, agent, turn); err != nil {
			return err
		}
		return f(ctx)
	})
}

// Outcome is what became of a proposal.
type Outcome string

// What becomes of proposals.
const (
	Proposed  Outcome = "proposed"
	Touched   Outcome = "touched"   // an open candidate asks it already, and was used now
	Duplicate Outcome = "duplicate" // it was answered already
	Dropped   Outcome = "dropped"   // the queue is busy, or its database failed
	Disabled  Outcome = "disabled"
)

// Propose stores a proposal as a new candidate, unless one asks for the same already. The candidate is nil for one that was
// dropped. (Question Queue, "Expiry and dedup".)
func (q *Queue) Propose(ctx context.Context, p Proposal) (Outcome, *Candidate, error) {
	if err := p.Check(); err != nil {
		return "", nil, err
	}
	if q.off(ctx) {
		return Disabled, nil, nil
	}
	var outcome Outcome
	var stands Candidate
	err := q.locked(ctx, p.Agent, p.Turn, func(ctx context.Context) (err error) {
		outcome, stands, err = q.propose(ctx, p)
		return err
	})
	if q.failed(ctx, err, "propose") {
		return Dropped, nil, nil
	}
	return outcome, &stands, nil
}

func (q *Queue) propose(ctx context.Context, p Proposal) (Outcome, Candidate, error) {
	keys := make([]string, len(p.Targets))
	for i, t := range p.Targets {
		keys[i] = t.Key
	}
	similar, err := q.Store.Similar(ctx, Similarity{
		Agent: p.Agent, Text: SameText(p.Text), Keys: keys, Disjunction: p.Disjunction, AnsweredSince: p.Turn - RetentionTurns,
	})
	if err != nil {
		return "", Candidate{}, err
	}
	repeated := slices.DeleteFunc(similar, func(c Candidate) bool { return !p.Repeats(c) })
	if i := slices.IndexFunc(repeated, Candidate.Open); i >= 0 {
		c := repeated[i]
		c.LastSeenTurn = max(c.LastSeenTurn, p.Turn)
		return Touched, c, q.Store.Touch(ctx, c.ID, p.Turn)
	}
	if len(repeated) > 0 {
		return Duplicate, repeated[0], nil
	}
	c := p.candidate(q.Clock.Now())
	return Proposed, c, q.Store.AddCandidate(ctx, c)
}

// Use notes that the host used facts on a turn, and gives how many open candidates are about them: they pass the gate for
// the next [RecentUseTurns] turns. (Question Queue, "The gate", note_use.)
func (q *Queue) Use(ctx context.Context, agent bridge.AgentID, keys []string, turn Turn) (updated int) {
	if q.off(ctx) || len(keys) == 0 {
		return 0
	}
	err := q.locked(ctx, agent, turn, func(ctx context.Context) (err error) {
		updated, err = q.Store.NoteUse(ctx, agent, keys, turn)
		return err
	})
	if q.failed(ctx, err, "note a use") {
		return 0
	}
	return updated
}

// Gone expires the agent's open candidates about facts that are no more, and gives how many.
func (q *Queue) Gone(ctx context.Context, agent bridge.AgentID, keys []string, turn Turn) (expired int) {
	if q.off(ctx) || len(keys) == 0 {
		return 0
	}
	err := q.locked(ctx, agent, turn, func(ctx context.Context) error {
		expired = 0
		about, err := q.Store.WithKeys(ctx, agent, keys)
		if err != nil {
			return err
		}
		expired, err = q.expire(ctx, about)
		return err
	})
	if q.failed(ctx, err, "expire what is gone") {
		return 0
	}
	return expired
}

// Prune deletes the agent's candidates that are not pending and older than [RetentionTurns], and gives how many.
func (q *Queue) Prune(ctx context.Context, agent bridge.AgentID, turn Turn) (pruned int) {
	if q.off(ctx) {
		return 0
	}
	const batch = 1000
	for ctx.Err() == nil {
		n, err := q.Store.Prune(ctx, agent, turn-RetentionTurns, batch)
		if q.failed(ctx, err, "prune") {
			return pruned
		}
		if pruned += n; n < batch {
			break
		}
	}
	return pruned
}

// List gives the agent's candidates, newest first. A cursor that it did not give out is a *bridge.Error.
func (q *Queue) List(ctx context.Context, l Listing) ([]Candidate, string, error) {
	found, next, err := q.Store.List(ctx, l)
	return found, next, q.faultOf(ctx, err, "list")
}

// Candidate gives one of the agent's.
func (q *Queue) Candidate(ctx context.Context, agent bridge.AgentID, id CandidateID) (Candidate, error) {
	c, err := q.Store.Candidate(ctx, agent, id)
	return c, q.faultOf(ctx, err, "read a candidate")
}

// Evidence gives what the answers said about one of the agent's target keys.
func (q *Queue) Evidence(ctx context.Context, agent bridge.AgentID, key string) (Evidence, error) {
	e, err := q.Store.Evidence(ctx, agent, key)
	if e.Count == 0 {
		e = Evidence{Key: key, Confidence: startConfidence}
	}
	return e, q.faultOf(ctx, err, "read evidence")
}

// faultOf keeps an error that is the caller's fault, and logs any other.
func (q *Queue) faultOf(ctx context.Context, err error, doing string) error {
	var known *bridge.Error
	if errors.As(err, &known) {
		return known
	}
	q.failed(ctx, err, doing)
	return nil
}
