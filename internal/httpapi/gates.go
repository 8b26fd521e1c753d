package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/schema"
)

// openGate opens a gated exchange: 201 with the gate, or 200 with the one that this request opened before. For the ask
// return, this response alone has the approval query with its capability.
func (s *server) openGate(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	ctx := r.Context()
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	asked, raw, err := s.asked(w, r, t)
	if err != nil {
		return err
	}
	g, opened, err := s.openedBy(ctx, raw, key, asked)
	var refused *schema.Refusal
	switch {
	case errors.As(err, &refused):
		return problemOfRefusal(refused, codeOfGateFault)
	case err != nil:
		return err
	}
	status := http.StatusOK
	if opened {
		status = http.StatusCreated
		w.Header().Set("Location", "/api/agent/gates/"+string(g.ID))
	} else {
		w.Header().Set(replayHeader, "true")
	}
	document := s.shownGate(g)
	if g.Route == collector.ByReturn && g.State == collector.Open {
		document.Query = dialect.ToQuery(s.Gates.Ready(g.Approval.Query))
	}
	return reply(w, status, document)
}

func (s *server) openedBy(ctx context.Context, raw []byte, key string, asked dialect.AskContext) (collector.Gate, bool, error) {
	body, err := schema.Decode[schema.GateOpening](raw)
	if err != nil {
		return collector.Gate{}, false, err
	}
	opening := dialect.FromGateOpening(body, asked)
	if key != "" {
		opening.Request.Key = key
		if opening.Request.Hash, err = schema.Fingerprint(raw); err != nil {
			return collector.Gate{}, false, err
		}
	}
	return s.Gates.Open(ctx, opening)
}

// shownGate shows a gate to whoever opened it, with the continuation that is theirs to have answered.
func (s *server) shownGate(g collector.Gate) schema.Gate {
	document := dialect.ToGate(g)
	if next := g.Offered(); next != nil {
		document.NextQuery = new(dialect.ToQuery(s.Gates.Ready(*next)))
	}
	return document
}

// gates lists those that the agent opened, newest first.
func (s *server) gates(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	l := collector.Listing{Agent: t.Agent, State: collector.State(p.Get("state"))}
	switch l.State {
	case "", collector.Open, collector.Approved, collector.Declined, collector.Expired, collector.Answered, collector.Withheld:
	default:
		return invalidParameter("state", "must be open, approved, declined, expired, answered or withheld")
	}
	if l.Limit, l.Cursor, err = p.page(); err != nil {
		return err
	}
	if l.CorrelationID, err = p.text("correlation_id"); err != nil {
		return err
	}
	found, next, err := s.Gates.Gates(r.Context(), l)
	if err != nil {
		return err
	}
	page := schema.Gates{Gates: dialect.ToGates(found)}
	if next != "" {
		page.NextCursor = &next
	}
	return reply(w, http.StatusOK, page)
}

// gateHold is how long a fetch of a gate may hold, in seconds; integers beyond are clamped.
var gateHold = bounds{otherwise: 0, low: 0, high: 30}

// gate gives one as it stands, as soon as it has left the state that the parameter while names, or once wait is over.
func (s *server) gate(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	id := r.PathValue("id")
	if !storable(id) {
		return &bridge.Error{Code: collector.CodeGateUnknown, Reason: "there is no such gate"}
	}
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	seconds, err := p.int("wait", gateHold)
	if err != nil {
		return err
	}
	during := collector.State(p.Get("while"))
	switch during {
	case "":
		during = collector.Open
	case collector.Open, collector.Approved:
	default:
		return invalidParameter("while", "must be open or approved: no gate leaves another state")
	}
	read := func() (*collector.Gate, error) {
		return apart(func() (*collector.Gate, error) {
			g, err := s.Gates.Gate(r.Context(), t.Agent, collector.GateID(id))
			return &g, err
		})
	}
	g, err := read()
	if err != nil {
		return err
	}
	if seconds > 0 && g.State == during {
		err = s.hold(w, r, holding{g.Woken(), time.Duration(seconds) * time.Second, func() (over bool, err error) {
			g, err = read()
			return g.State != during, err
		}})
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, s.shownGate(*g))
}
