package httpapi

import (
	"context"
	"net/http"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/schema"
)

// Grants is the book of what answers granted. Cursors that it did not give out are bridge.CodeInvalidCursor.
type Grants interface {
	// List gives those that an asker's questions gave, newest first, and the cursor of the next page, "" on the last.
	List(ctx context.Context, l grant.Listing) (page []grant.Grant, next string, err error)
	// Standing gives those that stand in the rooms which a person has joined, or a *bridge.ErrRetry where these cannot be
	// told now.
	Standing(ctx context.Context, who bridge.UserID, l grant.Listing) (page []grant.Grant, next string, err error)
	// Revoke takes one back for a person. One that does not stand any more comes back as it is.
	Revoke(ctx context.Context, r grant.Revocation) (grant.Grant, error)
}

// grants lists what the agent's own questions were granted, newest first.
func (s *server) grants(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	l := grant.Listing{Asker: t.Agent, State: grant.State(p.Get("state"))}
	switch l.State {
	case "", grant.Active, grant.Revoked, grant.Lapsed:
	default:
		return invalidParameter("state", "must be active, revoked or lapsed")
	}
	if l.Limit, l.Cursor, err = p.page(); err != nil {
		return err
	}
	found, next, err := s.Grants.List(r.Context(), l)
	if err != nil {
		return err
	}
	show := s.grantView(r.Context())
	return reply(w, http.StatusOK, grantPage(found, next, func(g grant.Grant) schema.Grant {
		out := show(g)
		out.CorrelationID = g.Question.CorrelationID
		return out
	}))
}

// standing lists what stands in the rooms of a person, newest first.
func (s *server) standing(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	p, err := paramsOf(r)
	if err != nil {
		return err
	}
	var l grant.Listing
	if l.Limit, l.Cursor, err = p.page(); err != nil {
		return err
	}
	found, next, err := s.Grants.Standing(r.Context(), t.User, l)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, grantPage(found, next, s.grantView(r.Context())))
}

// revoke takes a grant back for a person. One that was, or that has lapsed, comes back as it stands. A body says nothing.
func (s *server) revoke(w http.ResponseWriter, r *http.Request, t bridge.Token) error {
	if err := s.spend(s.personBudget(t.User)); err != nil {
		return err
	}
	id, ok := grant.ParseID(r.PathValue("id"))
	if !ok {
		return &bridge.Error{Code: grant.CodeUnknown, Reason: "there is no such grant"}
	}
	g, err := s.Grants.Revoke(r.Context(), grant.Revocation{Grant: id, By: t.User, Via: surface(t)})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, s.grantView(r.Context())(g))
}

// grantView shows grants, with nothing that is an asker's alone.
func (s *server) grantView(ctx context.Context) func(grant.Grant) schema.Grant {
	rooms, now := s.views(ctx, ""), s.Clock.Now()
	return func(g grant.Grant) schema.Grant {
		return dialect.ToGrant(g, *rooms.room(g.Conversation), now)
	}
}

func grantPage(found []grant.Grant, next string, show func(grant.Grant) schema.Grant) schema.Grants {
	page := schema.Grants{Grants: make([]schema.Grant, 0, len(found))}
	for _, g := range found {
		page.Grants = append(page.Grants, show(g))
	}
	if next != "" {
		page.NextCursor = &next
	}
	return page
}
