package queue

import (
	"context"
	"errors"
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
	// Asker asks questions in rooms. Nil where the queue asks in none.
	Asker Asker
	// Withdrawer ends the question in a room that a candidate was asked by. Nil where the queue asks in no rooms.
	Withdrawer Withdrawer
	// Reporter tells of answers. Nil for none.
	Reporter Reporter
	// Groups are agents whose equal candidates are asked once. An agent is in one at most.
	Groups [][]bridge.AgentID
	// PersonBudget is how often each person or room may be asked, by all agents together.
	PersonBudget PersonBudget
	// LockWait is how long a call waits for the agent's queue; 2 s, if 0.
	LockWait time.Duration
}

// Staleness is a check that a host registers for its candidates.
type Staleness interface {
	// Stale gives those of an agent's candidates that are stale. One that the check fails for is in failed: it neither
	// expires nor is delivered now. It may use the network, and is called outside of transactions.
	Stale(ctx context.Context, agent bridge.AgentID, candidates []Candidate) (stale, failed map[CandidateID]bool)
}

// CodeInvalidCallback is an address of a host that could never be asked which candidates are stale.
const CodeInvalidCallback bridge.Code = "invalid_callback"

// Withdrawer ends questions that are pending in a room.
type Withdrawer interface {
	// Withdraw cancels a question in the transaction of ctx, with everything that this owes. One that ended already stays
	// as it is, and withdrawn is false.
	Withdraw(ctx context.Context, id bridge.QuestionID, by bridge.CancelledBy, reason string) (withdrawn bool, err error)
}

// Reporter tells whoever is interested of an answered candidate.
type Reporter interface {
	// Answered is told in the transaction of ctx, which counts its evidence: as it stands with that, of every key that the
	// answer counts for, in their order. That is none where the answer is recorded only.
	Answered(ctx context.Context, c Candidate, evidence []Evidence) error
}

// Queue is the one ration of every agent's questions. Its methods may be called at once. What a host calls once a turn
// (Propose, Use, Gone, Next, Answer, Prune) never fails for the database's sake: it logs that, and gives what means
// "nothing" (Question Queue, "Fail-closed behavior"); its errors are *bridge.Error, and a fault of the caller.
type Queue struct{ Parts }

// New makes a queue of its parts.
func New(p Parts) *Queue {
	if p.Disabled == nil {
		p.Disabled = func() bool { return false }
	}
	if p.Withdrawer == nil {
		p.Withdrawer = inNoRoom{}
	}
	if p.Reporter == nil {
		p.Reporter = toNobody{}
	}
	if p.LockWait == 0 {
		p.LockWait = 2 * time.Second
	}
	return &Queue{p}
}

type toNobody struct{}

func (toNobody) Answered(context.Context, Candidate, []Evidence) error { return nil }

type inNoRoom struct{}

func (inNoRoom) Withdraw(context.Context, bridge.QuestionID, bridge.CancelledBy, string) (bool, error) {
	return false, nil
}

// off says whether the queue is switched off.
func (q *Queue) off(ctx context.Context) (bool, error) {
	if q.Disabled() {
		return true, nil
	}
	return q.Store.QueueOff(ctx)
}

// idle says whether a call has to do nothing, since the queue is switched off or its switch cannot be read.
func (q *Queue) idle(ctx context.Context) bool {
	off, err := q.off(ctx)
	return q.failed(ctx, err, "read the switch") || off
}

// failed logs a failure that is not the caller's fault, and says whether there was one.
func (q *Queue) failed(ctx context.Context, err error, doing string) bool {
	if err != nil {
		zerolog.Ctx(ctx).Err(err).Str("doing", doing).Msg("The question queue failed")
	}
	return err != nil
}

// fault gives an error that is the caller's fault, and logs any other.
func (q *Queue) fault(ctx context.Context, err error, doing string) error {
	var known *bridge.Error
	if errors.As(err, &known) {
		return known
	}
	q.failed(ctx, err, doing)
	return nil
}

// errBusy is what becomes of a call that waited too long for the agent's queue.
var errBusy = errors.New("the queue of this agent is busy")

// locked notes the turn and runs f, in a transaction that has the queue of the agent's group to itself. It waits for that
// no longer than LockWait.
func (q *Queue) locked(ctx context.Context, agent bridge.AgentID, turn Turn, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(q.LockWait, func() { cancel(errBusy) })
	defer patience.Stop()
	err := q.Store.Atomically(ctx, func(ctx context.Context) error {
		if err := q.Store.LockAgent(ctx, q.group(agent)[0]); err != nil {
			return err
		}
		patience.Stop()
		if err := q.Store.NoteTurn(ctx, agent, turn); err != nil {
			return err
		}
		return f(ctx)
	})
	if err != nil && context.Cause(ctx) == errBusy {
		return errBusy
	}
	return err
}

// Use notes that the host used facts on a turn, and gives of how many open candidates that moved the last use forwards:
// they pass the gate for the next [RecentUseTurns] turns. (Question Queue, "The gate", note_use.)
func (q *Queue) Use(ctx context.Context, agent bridge.AgentID, keys []string, turn Turn) (updated int, err error) {
	if err := turn.Check(); err != nil {
		return 0, err
	}
	if len(keys) == 0 || q.idle(ctx) {
		return 0, nil
	}
	err = q.locked(ctx, agent, turn, func(ctx context.Context) (err error) {
		updated, err = q.Store.NoteUse(ctx, agent, keys, turn)
		return err
	})
	if q.failed(ctx, err, "note a use") {
		return 0, nil
	}
	return updated, nil
}

// Prune deletes the agent's candidates that are not pending and older than [RetentionTurns], and gives how many. What
// nobody replied to is cooled before. (Question Queue, "Tuning constants".)
func (q *Queue) Prune(ctx context.Context, agent bridge.AgentID, turn Turn) (pruned int, err error) {
	if err := turn.Check(); err != nil {
		return 0, err
	}
	if q.idle(ctx) || q.failed(ctx, q.age(ctx, agent, turn), "age candidates") {
		return 0, nil
	}
	const batch = 1000
	for n := batch; n == batch; {
		err := q.locked(ctx, agent, turn, func(ctx context.Context) (err error) {
			n, err = q.Store.PruneCandidates(ctx, agent, turn, batch)
			return err
		})
		if q.failed(ctx, err, "prune") {
			break
		}
		pruned += n
	}
	return pruned, nil
}

// Candidate gives one of the agent's. Unlike what is called once a turn, it fails when the database does, as do
// Candidates and Evidence.
func (q *Queue) Candidate(ctx context.Context, agent bridge.AgentID, id CandidateID) (Candidate, error) {
	return q.Store.Candidate(ctx, agent, id)
}

// Candidates gives the agent's, newest first, and the cursor of the next page, "" on the last.
func (q *Queue) Candidates(ctx context.Context, l Listing) ([]Candidate, string, error) {
	return q.Store.ListCandidates(ctx, l)
}

// Evidence gives what the answers said about one of the agent's target keys.
func (q *Queue) Evidence(ctx context.Context, agent bridge.AgentID, key string) (Evidence, error) {
	e, err := q.Store.Evidence(ctx, agent, key)
	if err == nil && e.Count == 0 {
		e = Evidence{Key: key, Confidence: startConfidence}
	}
	return e, err
}
