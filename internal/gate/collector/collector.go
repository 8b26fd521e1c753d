package collector

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
)

// Parts is what a collector is made of. Decisions, Changed and Deadline may be nil.
type Parts struct {
	Store     Store
	Rooms     Rooms
	Decisions Decisions
	Announcer bridge.Announcer
	Clock     bridge.Clock
	Key       Key
	// Endpoint is where the response to a query is posted: an https:// address. Nil where there is none: then no gate is
	// opened.
	Endpoint func(gate.QueryID) string

	// Changed is called after a commit that moved a gate by itself, and Deadline after one that gave a gate another deadline.
	Changed  func(Gate)
	Deadline func(time.Time)
}

// Rooms asks questions in rooms; the engine does.
type Rooms interface {
	// AskWith asks as [bridge.Engine.Ask] does, and runs with in the transaction that stores the question.
	AskWith(ctx context.Context, q bridge.Question, with func(ctx context.Context, q bridge.Question) error) (asked bridge.Question, created bool, err error)
}

// Collector is the collector's role. Its methods may be called at once.
type Collector struct{ Parts }

var _ bridge.Feature = (*Collector)(nil)

// New makes a collector of its parts.
func New(p Parts) *Collector {
	if p.Decisions == nil {
		p.Decisions = forgetful{}
	}
	if p.Changed == nil {
		p.Changed = func(Gate) {}
	}
	if p.Deadline == nil {
		p.Deadline = func(time.Time) {}
	}
	return &Collector{p}
}

// The codes that a collector gives.
const (
	// CodeGateUnknown says that there is no such gate of this agent.
	CodeGateUnknown bridge.Code = "gate_not_found"
	// CodeQueryUnknown says that there is no such query, or that the capability is not its own: nobody learns which.
	CodeQueryUnknown bridge.Code = "query_not_found"
	// CodeInvalidGate is an opening that breaks a rule, CodeInvalidResponse what is no response at all.
	CodeInvalidGate     bridge.Code = "invalid_gate"
	CodeInvalidResponse bridge.Code = "invalid_response"
	// CodeNoEndpoint says that no gate is opened, since there is nowhere to post a response to.
	CodeNoEndpoint bridge.Code = "gates_off"
)

var (
	errUnknownQuery = &bridge.Error{Code: CodeQueryUnknown, Reason: "there is no such query, or the capability is not its own"}
	// errMoved takes back what was done to a gate that somebody else moved meanwhile.
	errMoved = errors.New("the gate was moved meanwhile")
)

// Gate gives one of the agent's.
func (c *Collector) Gate(ctx context.Context, agent bridge.AgentID, id GateID) (Gate, error) {
	return c.Store.Gate(ctx, agent, id)
}

// Gates gives the agent's, newest first, and the cursor of the next page, "" on the last.
func (c *Collector) Gates(ctx context.Context, l Listing) ([]Gate, string, error) {
	return c.Store.ListGates(ctx, l)
}

// Ready is a query as it is sent: with its endpoint and its capability.
func (c *Collector) Ready(q Query) Ready {
	r := Ready{Query: q, Capability: c.Key.Capability(q.ID)}
	if c.Endpoint != nil {
		r.Endpoint = c.Endpoint(q.ID)
	}
	return r
}

// move stores where a gate goes, in the transaction of ctx, with the news of it.
func (c *Collector) move(ctx context.Context, from, to Gate) error {
	to.Protected = nil
	moved, err := c.Store.MoveGate(ctx, from, to)
	switch {
	case err != nil:
		return err
	case !moved:
		return errMoved
	}
	return c.announce(ctx, to)
}

// announce owes the news of where a gate went to the webhooks of its room, in the transaction of ctx. Nothing of either
// query is in it, and nothing of its principal.
func (c *Collector) announce(ctx context.Context, g Gate) error {
	orNil := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	return c.Announcer.Announce(ctx, bridge.Announcement{
		Event: "gate." + string(g.State), Key: string(g.ID), Conversation: g.Conversation, Question: g.Question, At: c.Clock.Now(),
		Body: map[string]any{
			"gate_id": g.ID, "state": g.State, "reason": orNil(string(g.Reason)), "ask": g.Route, "asker": g.Agent, "requester": g.Requester,
			"purpose": g.Purpose, "question_id": orNil(string(g.Question)), "provenance": orNil(string(g.Provenance())),
			"correlation_id": g.CorrelationID,
		},
	})
}

// moved says after commit where gates went.
func (c *Collector) moved(ctx context.Context, gates ...Gate) {
	for _, g := range gates {
		zerolog.Ctx(ctx).Info().Str("gate_id", string(g.ID)).Str("state", string(g.State)).Msg("Gate moved")
		c.Changed(g)
		if due := g.Due(); due != nil {
			c.Deadline(*due)
		}
	}
}

// Expire expires what is overdue, at most limit, and says how many. A gate whose approval is asked in a room expires with
// its question.
func (c *Collector) Expire(ctx context.Context, limit int) (int, error) {
	var expired []Gate
	err := c.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		if expired, err = c.Store.ExpireGates(ctx, c.Clock.Now(), limit); err != nil {
			return err
		}
		for _, g := range expired {
			if err := c.announce(ctx, g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	c.moved(ctx, expired...)
	return len(expired), nil
}
