package decision

import (
	"context"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// Visitor is who looks at decisions, or takes one back, over HTTP: an agent, or a person.
type Visitor struct {
	Agent bridge.AgentID
	User  bridge.UserID
	Via   bridge.Via // of a person: bridge.ViaAPI or bridge.ViaOpenID
}

// OfAgent gives what is remembered for an agent's exchanges, newest first, and the cursor of the next page, "" on the
// last. The error is bridge.CodeInvalidCursor.
func (b *Book) OfAgent(ctx context.Context, agent bridge.AgentID, l Listing) ([]Decision, string, error) {
	l.Agent, l.By = agent, ""
	return b.Store.ListDecisions(ctx, l)
}

// OfPerson gives in the same way what a person decided.
func (b *Book) OfPerson(ctx context.Context, who bridge.UserID, l Listing) ([]Decision, string, error) {
	l.Agent, l.By = "", who
	return b.Store.ListDecisions(ctx, l)
}

// OfAll gives in the same way what anybody decided, to an admin. Errors besides: bridge.CodeAdminsOnly and
// bridge.CodeWeakSignIn.
func (b *Book) OfAll(ctx context.Context, v Visitor, l Listing) ([]Decision, string, error) {
	if err := b.admit(v); err != nil {
		return nil, "", err
	}
	l.Agent, l.By = "", ""
	return b.Store.ListDecisions(ctx, l)
}

// admit refuses who is no admin, or did not show it well enough.
func (b *Book) admit(v Visitor) error {
	switch {
	case v.User == "" || b.Admin == nil || !b.Admin(v.User):
		return &bridge.Error{Code: bridge.CodeAdminsOnly, Reason: texts.AdminsDecisions}
	case v.Via == bridge.ViaOpenID && !b.OpenIDMayApprove:
		return &bridge.Error{Code: bridge.CodeWeakSignIn, Reason: texts.WeakDecisions}
	}
	return nil
}

// Revoke takes a decision back: for the person who made it, the agent that it was made for, or an admin. From then on it
// answers nothing. It gives what stood. For anybody else, and once nothing stands, the error is [CodeUnknown].
func (b *Book) Revoke(ctx context.Context, id ID, v Visitor) (Decision, error) {
	var d Decision
	err := b.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		d, err = b.revoke(ctx, id, func(d Decision) bool {
			own := d.Agent == v.Agent || v.User != "" && d.Made.By == v.User
			return own || b.admit(v) == nil
		})
		return err
	})
	if err != nil {
		return Decision{}, err
	}
	b.revoked(ctx, d, v, "")
	return d, nil
}

// revoke takes a decision back in the transaction of ctx, and gives it as it stood.
func (b *Book) revoke(ctx context.Context, id ID, may func(Decision) bool) (Decision, error) {
	d, err := b.Store.Decision(ctx, id)
	if err != nil {
		return Decision{}, err
	}
	if d.Made == nil || !may(d) {
		return Decision{}, unknown()
	}
	return d, b.move(ctx, d.emptied(b.Clock.Now()))
}

// revoked is what follows the commit of that; event is the command, "" where it came by HTTP.
func (b *Book) revoked(ctx context.Context, d Decision, v Visitor, event bridge.InteractionID) {
	zerolog.Ctx(ctx).Info().Str("decision_id", string(d.ID)).Msg("Decision revoked")
	b.Auditor.Record(ctx, bridge.AuditRecord{
		At: b.Clock.Now(), Action: bridge.AuditDecisionRevoked, Agent: d.Agent, User: v.User, Via: v.Via, Event: event, Origin: bridge.OriginOf(ctx),
	})
}
