package queue

import (
	"context"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
)

// group gives the agents of an agent's group, in the same order whoever asks; the agent alone where it is in none. Calls
// of a group's agents wait for each other: none of them starts to ask what another one is asking.
func (q *Queue) group(agent bridge.AgentID) []bridge.AgentID {
	for _, group := range q.Groups {
		if slices.Contains(group, agent) {
			return group
		}
	}
	return []bridge.AgentID{agent}
}

// equals gives the open candidates of the other agents of the group that one answer answers together with c.
func (q *Queue) equals(ctx context.Context, c Candidate) ([]Candidate, error) {
	others := slices.DeleteFunc(slices.Clone(q.group(c.Agent)), func(a bridge.AgentID) bool { return a == c.Agent })
	if len(others) == 0 {
		return nil, nil
	}
	found, err := q.Store.EqualCandidates(ctx, c, others)
	return slices.DeleteFunc(found, func(other Candidate) bool { return !c.Equal(other) }), err
}

// lead delivers what waits in the group and is equal to a candidate that is being delivered, together with it and at no
// cost of its own agent.
func (q *Queue) lead(ctx context.Context, c Candidate) error {
	equals, err := q.equals(ctx, c)
	if err != nil {
		return err
	}
	for _, e := range equals {
		turn, err := q.Store.HighestTurn(ctx, e.Agent)
		if err != nil {
			return err
		}
		if e.Status == Delivered || e.Lapsed(turn) {
			continue
		}
		if _, err := q.Store.MoveCandidate(ctx, e, e.delivered(turn, c.Question, c.ID)); err != nil {
			return err
		}
	}
	return nil
}

// join delivers a new candidate together with an equal one that the group is asking, if there is one.
func (q *Queue) join(ctx context.Context, c Candidate) (Candidate, error) {
	equals, err := q.equals(ctx, c)
	if err != nil {
		return c, err
	}
	i := slices.IndexFunc(equals, func(e Candidate) bool { return e.Status == Delivered && e.Leader == "" })
	if i < 0 {
		return c, nil
	}
	// Moved to where it stands, the leader stands there until the transaction ends: whoever answers it now answers this one too.
	if stands, err := q.Store.MoveCandidate(ctx, equals[i], equals[i]); err != nil || !stands {
		return c, err
	}
	joined := c.delivered(c.CreatedTurn, equals[i].Question, equals[i].ID)
	if moved, err := q.Store.MoveCandidate(ctx, c, joined); err != nil || !moved {
		return c, err
	}
	return joined, nil
}
