package httpapi

import (
	"context"
	"net/http"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/schema"
)

// Decisions is the book of what people decided about gated exchanges. Lists are newest first, with the cursor of the next
// page, "" on the last; a cursor that it did not give out is bridge.CodeInvalidCursor.
type Decisions interface {
	// OfAgent gives what is remembered for an agent's exchanges, OfPerson what a person decided.
	OfAgent(ctx context.Context, agent bridge.AgentID, l decision.Listing) (page []decision.Decision, next string, err error)
	OfPerson(ctx context.Context, who bridge.UserID, l decision.Listing) (page []decision.Decision, next string, err error)
	// OfAll gives what anybody decided, to an admin; to others the error is bridge.CodeAdminsOnly or bridge.CodeWeakSignIn.
	OfAll(ctx context.Context, v decision.Visitor, l decision.Listing) (page []decision.Decision, next string, err error)
	// Revoke takes one back, and gives what stood: for its person, its agent or an admin. For anybody else, and once
	// nothing stands, it is decision.CodeUnknown.
	Revoke(ctx context.Context, id decision.ID, v decision.Visitor) (decision.Decision, error)
}

// agentDecisions lists what is remembered for the agent's own exchanges. Who decided is not its business.
func (s *server) agentDecisions(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	l, err := decisionPage(r)
	if err != nil {
		return err
	}
	found, next, err := s.Decisions.OfAgent(r.Context(), t.Agent, l)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, decisionsOf(found, next, toAgent))
}

// agentRevoke takes one of those back, as its agent is told to by somebody whom another host had asked.
func (s *server) agentRevoke(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	if err := s.spend(s.agentBudget(t.Agent)); err != nil {
		return err
	}
	return s.revokeDecision(w, r, decision.Visitor{Agent: t.Agent, Via: surface(t)}, toAgent)
}

// The values of the parameter of.
const (
	ofMe        = "me"
	ofEverybody = "everybody"
)

// decisions lists what a person decided, or, for an admin, what anybody did.
func (s *server) decisions(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	l, err := decisionPage(r)
	if err != nil {
		return err
	}
	var found []decision.Decision
	var next string
	switch of := r.URL.Query().Get("of"); of {
	case "", ofMe:
		found, next, err = s.Decisions.OfPerson(r.Context(), t.User, l)
	case ofEverybody:
		found, next, err = s.Decisions.OfAll(r.Context(), visitor(t), l)
	default:
		return invalidParameter("of", "must be me or everybody")
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, decisionsOf(found, next, toPerson))
}

// revokeOwn takes one back for the person who made it, or for an admin.
func (s *server) revokeOwn(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	if err := s.spend(s.personBudget(t.User)); err != nil {
		return err
	}
	return s.revokeDecision(w, r, visitor(t), toPerson)
}

// revokeDecision answers with what stood. A body says nothing.
func (s *server) revokeDecision(w http.ResponseWriter, r *http.Request, v decision.Visitor, show func(decision.Decision) schema.Decision) error {
	id, ok := decision.ParseID(r.PathValue("id"))
	if !ok {
		return &bridge.Error{Code: decision.CodeUnknown, Reason: "there is no such decision"}
	}
	d, err := s.Decisions.Revoke(r.Context(), id, v)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, show(d))
}

func visitor(t bridge.Token) decision.Visitor { return decision.Visitor{User: t.User, Via: surface(t)} }

func decisionPage(r *http.Request) (l decision.Listing, err error) {
	p, err := paramsOf(r)
	if err == nil {
		l.Limit, l.Cursor, err = p.page()
	}
	return l, err
}

func decisionsOf(found []decision.Decision, next string, show func(decision.Decision) schema.Decision) schema.Decisions {
	page := schema.Decisions{Decisions: make([]schema.Decision, 0, len(found))}
	for _, d := range found {
		page.Decisions = append(page.Decisions, show(d))
	}
	if next != "" {
		page.NextCursor = &next
	}
	return page
}

func toAgent(d decision.Decision) schema.Decision {
	out := dialect.ToDecision(d)
	out.GateID = new(string(d.Made.Gate))
	return out
}

func toPerson(d decision.Decision) schema.Decision {
	out := dialect.ToDecision(d)
	if d.Made.By != "" {
		out.DecidedBy = new(string(d.Made.By))
	}
	return out
}
