package queue

import (
	"context"
	"errors"

	"superpipeline.dev/question-bridge/bridge"
)

// ending is what ends a candidate's delivery, or its waiting for one.
type ending struct {
	to  Candidate // as it stands then
	by  bridge.CancelledBy
	why string
}

func answeredBy(c Candidate, option int, turn Turn) ending {
	return ending{c.answered(turn, option), bridge.ByAsker, bridge.ReasonElsewhere}
}

func repliedTo(c Candidate, turn Turn) ending {
	return ending{c.cooled(turn, turn+CooldownTurns), bridge.ByResponder, bridge.ReasonCooled}
}

func ignored(c Candidate, turn Turn) ending {
	return ending{c.cooled(turn, *c.DeliveredTurn+CooldownTurns), bridge.ByAsker, bridge.ReasonIgnored}
}

func gone(c Candidate, turn Turn) ending {
	return ending{c.expired(turn), bridge.ByAsker, bridge.ReasonGone}
}

var errMoved = errors.New("a candidate whose question was withdrawn was moved meanwhile")

// end moves a candidate, withdraws the question in a room that it was asked by, and ends the delivery of those that were
// asked with it. It gives everybody who was moved, as they stood before; nobody, if the candidate does not stand any more
// as it was read.
//
// The question is withdrawn first, since whoever settles it holds it first, too, and then its candidate.
func (q *Queue) end(ctx context.Context, c Candidate, e ending) (moved []Candidate, err error) {
	asked := c.Status == Delivered && c.Leader == ""
	withdrawn := false
	if asked && c.Question != "" {
		if withdrawn, err = q.Withdrawer.Withdraw(withdrawing(ctx, c.Question), c.Question, e.by, e.why); err != nil {
			return nil, err
		}
	}
	stood, err := q.Store.MoveCandidate(ctx, c, e.to)
	switch {
	case err != nil:
		return nil, err
	case !stood && withdrawn:
		return nil, errMoved
	case !stood:
		return nil, nil
	case !asked:
		return []Candidate{c}, nil
	}
	followers, err := q.endFollowers(ctx, c, e)
	return append([]Candidate{c}, followers...), err
}

func (q *Queue) endFollowers(ctx context.Context, leader Candidate, e ending) (moved []Candidate, err error) {
	followers, err := q.Store.Followers(ctx, leader.ID)
	if err != nil {
		return nil, err
	}
	for _, f := range followers {
		turn, err := q.Store.HighestTurn(ctx, f.Agent)
		if err != nil {
			return nil, err
		}
		stood, err := q.Store.MoveCandidate(ctx, f, e.ofFollower(f, turn))
		if err != nil {
			return nil, err
		}
		if stood {
			moved = append(moved, f)
		}
	}
	return moved, nil
}

// ofFollower is how a follower stands after the ending of its leader, in the turns of its own agent. The facts of a leader
// that expired are gone; those of a follower need not be.
func (e ending) ofFollower(f Candidate, turn Turn) Candidate {
	switch {
	case e.to.Status == Answered:
		return f.answered(turn, *e.to.AnswerOption)
	case e.by == bridge.ByResponder:
		return repliedTo(f, turn).to
	}
	return ignored(f, turn).to
}

// ageBatch is how many candidates one turn cools, and how many it expires.
const ageBatch = 1000

// age cools what was ignored, and expires what waited too long.
func (q *Queue) age(ctx context.Context, agent bridge.AgentID, turn Turn) error {
	return q.locked(ctx, agent, turn, func(ctx context.Context) error {
		unheard, err := q.Store.IgnoredCandidates(ctx, agent, turn, ageBatch)
		if err != nil {
			return err
		}
		for _, c := range unheard {
			if _, err := q.end(ctx, c, ignored(c, turn)); err != nil {
				return err
			}
		}
		_, err = q.Store.ExpireLapsed(ctx, agent, turn, ageBatch)
		return err
	})
}

// expire expires candidates that still stand as they were read.
func (q *Queue) expire(ctx context.Context, turn Turn, candidates []Candidate) (expired int, err error) {
	for _, c := range candidates {
		moved, err := q.end(ctx, c, gone(c, turn))
		if err != nil {
			return 0, err
		}
		if len(moved) > 0 {
			expired++
		}
	}
	return expired, nil
}

// Gone expires the agent's open candidates about facts that are no more, also delivered ones, and gives how many.
// (Question Queue, "Expiry and dedup".)
func (q *Queue) Gone(ctx context.Context, agent bridge.AgentID, keys []string, turn Turn) (expired int, err error) {
	if err := turn.Check(); err != nil {
		return 0, err
	}
	if len(keys) == 0 || q.idle(ctx) {
		return 0, nil
	}
	err = q.locked(ctx, agent, turn, func(ctx context.Context) error {
		about, err := q.Store.CandidatesAbout(ctx, agent, keys)
		if err != nil {
			return err
		}
		expired, err = q.expire(ctx, turn, about)
		return err
	})
	if q.failed(ctx, err, "expire what is gone") {
		return 0, nil
	}
	return expired, nil
}
