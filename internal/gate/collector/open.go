package collector

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/gate"
)

// Limits of a gate.
const (
	ShortestTTL = 30 * time.Second // of a query
	DefaultTTL  = time.Hour
	LongestTTL  = 2 * time.Hour // no capability is good for longer
	MaxPrompt   = 2000          // characters, also of the approval's with what is added to it

	// Retention is how long a gate is kept after it was opened.
	Retention = 90 * 24 * time.Hour
)

// Opening is what a gated exchange is opened with. Its texts keep the limits of package schema.
type Opening struct {
	Agent         bridge.AgentID
	Conversation  bridge.ConversationID
	Requester     string
	Purpose       string
	Principal     Principal
	Prompt        string // of the approval
	Instructions  string
	TTL           time.Duration
	Protected     Protected
	Route         Route
	Mode          Mode
	CorrelationID *string
	Request       Request
	// Question words the approval query as a question in the room, where it is asked InRoom. It is called at most once.
	Question func(Query) (bridge.Question, error)
}

// Open opens a gated exchange. Where the approval goes out, only that does: in the room, or with the gate, by whoever
// opened it. A stored decision may answer in its place. opened is false where an equal request opened the gate before.
//
// Errors: [CodeNoEndpoint], [CodeInvalidGate], bridge.CodeIdempotencyConflict, and, for a question in a room, those of
// [bridge.Engine.Ask].
func (c *Collector) Open(ctx context.Context, o Opening) (g Gate, opened bool, err error) {
	if c.Endpoint == nil {
		return Gate{}, false, &bridge.Error{Code: CodeNoEndpoint, Reason: "there is no https:// address here that responses could be posted to"}
	}
	if g, ok, err := c.before(ctx, o); ok || err != nil {
		return g, false, err
	}
	fresh, err := c.gateOf(o)
	if err != nil {
		return Gate{}, false, err
	}
	asked := false
	err = c.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		g, asked, err = c.recall(ctx, fresh)
		if err != nil || asked && o.Route == InRoom {
			return err
		}
		return c.add(ctx, g)
	})
	if err == nil && asked && o.Route == InRoom {
		g, err = c.ask(ctx, g, o.Question)
	}
	switch {
	case errors.Is(err, errRepeated):
		g, _, err = c.before(ctx, o)
		return g, false, err
	case err != nil:
		return Gate{}, false, err
	}
	zerolog.Ctx(ctx).Info().Str("gate_id", string(g.ID)).Str("room_id", string(g.Conversation)).Str("asker", string(g.Agent)).Msg("Gate opened")
	if due := g.Due(); due != nil {
		c.Deadline(*due)
	}
	if g.State != Open {
		c.moved(ctx, g)
	}
	return g, true, nil
}

// errRepeated takes back what a request opened while an equal one did the same.
var errRepeated = errors.New("a request of the same key was faster")

// before gives what an equal request opened; ok is false when there was none.
func (c *Collector) before(ctx context.Context, o Opening) (g Gate, ok bool, err error) {
	if o.Request.Key == "" {
		return Gate{}, false, nil
	}
	g, ok, err = c.Store.GateOfRequest(ctx, o.Agent, o.Conversation, o.Request.Key)
	if err == nil && ok && g.Request.Hash != o.Request.Hash {
		return Gate{}, false, &bridge.Error{Code: bridge.CodeIdempotencyConflict, Reason: "another request was made with this Idempotency-Key"}
	}
	return g, ok, err
}

// gateOf makes the gate that is to be opened, whose approval nobody was asked for.
func (c *Collector) gateOf(o Opening) (Gate, error) {
	now := c.Clock.Now()
	for field, ttl := range map[string]time.Duration{"/approval/ttl": o.TTL, "/query/ttl": o.Protected.TTL} {
		if ttl < ShortestTTL || ttl > LongestTTL {
			return Gate{}, &bridge.Error{Code: CodeInvalidGate, Field: field, Reason: fmt.Sprintf("must be %s to %s", ShortestTTL, LongestTTL)}
		}
	}
	prompt := o.Prompt
	if o.Mode.remembers() {
		prompt += "\n\n" + told(o)
	}
	if excess := utf8.RuneCountInString(prompt) - MaxPrompt; excess > 0 {
		return Gate{}, &bridge.Error{Code: CodeInvalidGate, Field: "/approval/prompt", Reason: fmt.Sprintf(
			"must be %d characters shorter: with what it says of the decision being remembered, it is longer than %d", excess, MaxPrompt)}
	}
	return Gate{
		ID: NewGateID(), Agent: o.Agent, Conversation: o.Conversation, Requester: o.Requester, Purpose: o.Purpose, Principal: o.Principal,
		Route: o.Route, Mode: o.Mode, CorrelationID: o.CorrelationID, Protected: &o.Protected, State: Open, CreatedAt: now,
		ForgetAfter: now.Add(Retention), Request: o.Request,
		Approval: Asked{Query: Query{
			ID: gate.NewQueryID(now), Type: Approval, Principal: o.Principal, Respondent: Human, Prompt: prompt,
			Instructions: o.Instructions, Timing: Immediate,
			Format: Format{Choices: []string{ChoiceApproved, ChoiceDeclined}}, ExpiresAt: ends(now, o.TTL),
		}},
	}, nil
}

// ends is when a query expires: on a whole second, as it is told.
func ends(from time.Time, ttl time.Duration) time.Time { return from.Add(ttl).Truncate(time.Second) }

// told says to whoever is asked that their decision is remembered, and how to take it back.
func told(o Opening) string {
	if o.Route == InRoom {
		return texts.RememberedHere(o.Requester, o.Purpose)
	}
	return texts.RememberedElsewhere(o.Requester, o.Purpose)
}

// recall lets a stored decision answer a gate that is to be opened; asked says that a person is to be asked instead.
func (c *Collector) recall(ctx context.Context, g Gate) (_ Gate, asked bool, err error) {
	if g.Mode == Off {
		return g, true, nil
	}
	d, err := c.Decisions.Recall(ctx, g.scope())
	if err != nil {
		return g, false, err
	}
	g.Revision = d.Revision
	switch {
	case g.Mode.uses() && d.ID != "":
		now := c.Clock.Now()
		g = g.decided(Accepted{Response: rememberedBy(g, d, now), ReceivedAt: now})
		return g, false, c.Decisions.Used(ctx, Use{Decision: d.ID, Gate: g.ID, At: now})
	case g.Mode == NeverAsk:
		g.State, g.Reason, g.Protected = Withheld, NoDecision, nil
		return g, false, nil
	}
	return g, true, nil
}

func rememberedBy(g Gate, d Decision, now time.Time) Response {
	choice := ChoiceDeclined
	if d.Approved {
		choice = ChoiceApproved
	}
	return Response{
		ID: gate.NewResponseID(now), Query: g.Approval.ID, Respondent: Human, Provenance: Remembered,
		Answer: Answer{Choice: &choice}, RespondedAt: now,
	}
}

func (g Gate) scope() Scope { return Scope{g.Agent, g.Requester, g.Purpose, g.Principal} }

// add stores a new gate in the transaction of ctx, with the news of where it went already.
func (c *Collector) add(ctx context.Context, g Gate) error {
	added, err := c.Store.AddGate(ctx, g)
	switch {
	case err != nil:
		return err
	case !added:
		return errRepeated
	case g.State == Open:
		return nil
	}
	return c.announce(ctx, g)
}

// ask asks for the approval in the room; question and gate are stored together.
func (c *Collector) ask(ctx context.Context, g Gate, question func(Query) (bridge.Question, error)) (Gate, error) {
	q, err := question(g.Approval.Query)
	if err != nil {
		return g, err
	}
	g.Question = q.ID
	_, created, err := c.Rooms.AskWith(ctx, q, func(ctx context.Context, _ bridge.Question) error { return c.add(ctx, g) })
	if err == nil && !created {
		err = fmt.Errorf("question %s was asked before its gate", q.ID)
	}
	return g, err
}
