package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// Gatekeeper knows who may give a grant, and so who may take it back: that of the engine.
type Gatekeeper interface {
	// Rights is [bridge.Gatekeeper]'s.
	Rights(ctx context.Context, q bridge.Question, who bridge.UserID, fresh bool) (bridge.Rights, error)
	// Joined is [bridge.Gatekeeper]'s.
	Joined(ctx context.Context, who bridge.UserID) ([]bridge.ConversationID, error)
}

// Events tells others that a grant does not stand any more.
type Events interface {
	// GrantRevoked owes that to whoever wants to know it, in the transaction of ctx, which revoked g.
	GrantRevoked(ctx context.Context, g Grant) error
}

// Parts is what a book is made of. Events, Owed and Auditor may be nil.
type Parts struct {
	Store      Store
	Gatekeeper Gatekeeper
	Events     Events
	Clock      bridge.Clock
	Owed       func() // called after a commit that owes something
	Auditor    bridge.Auditor
	// OpenIDMayApprove lets [bridge.ViaOpenID] do what a person's own token may.
	OpenIDMayApprove bool
}

// Book is where grants are written down, looked up and taken back. Its methods may be called at once.
type Book struct{ Parts }

var (
	_ bridge.Feature = (*Book)(nil)
	_ bridge.Mover   = (*Book)(nil)
)

// New makes a book of its parts.
func New(p Parts) *Book {
	if p.Events == nil {
		p.Events = untold{}
	}
	if p.Owed == nil {
		p.Owed = func() {}
	}
	if p.Auditor == nil {
		p.Auditor = bridge.Unaudited{}
	}
	return &Book{p}
}

type untold struct{}

func (untold) GrantRevoked(context.Context, Grant) error { return nil }

// Settling implements [bridge.Feature]: it records what an answer grants for longer than once.
func (b *Book) Settling(ctx context.Context, q bridge.Question) error {
	granted, ok := q.Granted()
	if !ok || !granted.Grant.Lasts() {
		return nil
	}
	g := Grant{Granted: granted, Question: q, Conversation: q.Conversation}
	if err := b.add(ctx, &g); err != nil {
		return err
	}
	return b.Store.KeepQuestion(ctx, q.ID, g.keptUntil())
}

// Expiring implements [bridge.Selective]: nothing is granted where nobody answered.
func (*Book) Expiring(context.Context, []bridge.QuestionID) ([]bridge.QuestionID, error) {
	return nil, nil
}

// Moving implements [bridge.Mover]: what was granted in a conversation stands in the one that replaces it.
func (b *Book) Moving(ctx context.Context, from, to bridge.ConversationID) error {
	return b.Store.MoveGrants(ctx, from, to)
}

// idTries is how many ids are tried: of 28 million, the first few are free.
const idTries = 100

func (b *Book) add(ctx context.Context, g *Grant) error {
	for range idTries {
		g.ID = newID()
		if added, err := b.Store.AddGrant(ctx, *g); added || err != nil {
			return err
		}
	}
	return errors.New("no id is free for a grant")
}

// List gives grants, newest first, and the cursor of the next page, "" on the last. The error is bridge.CodeInvalidCursor.
func (b *Book) List(ctx context.Context, l Listing) (page []Grant, next string, err error) {
	l.Now = b.Clock.Now()
	return b.Store.ListGrants(ctx, l)
}

// Standing gives those that stand in the rooms which a person has joined; of l, the state and the rooms are filled in. The
// error is bridge.CodeInvalidCursor, or *bridge.ErrRetry while those rooms cannot be read.
func (b *Book) Standing(ctx context.Context, who bridge.UserID, l Listing) (page []Grant, next string, err error) {
	rooms, err := b.Gatekeeper.Joined(ctx, who)
	if err != nil {
		return nil, "", unread(err)
	}
	l.Asker, l.State, l.Conversations = "", Active, rooms
	return b.List(ctx, l)
}

// Revocation is what a person asks for who wants a grant taken back.
type Revocation struct {
	Grant ID
	By    bridge.UserID
	Via   bridge.Via // bridge.ViaAPI or bridge.ViaOpenID
}

// Revoke takes a grant back for a person who could give it: a member of its room whom the question was for, neither a
// machine nor its asker, and an admin where the option that granted it requires one. One that does not stand any more
// comes back as it is. Errors are *bridge.Error, with CodeUnknown also for somebody who is not in the room, or
// *bridge.ErrRetry where their rights cannot be read now.
func (b *Book) Revoke(ctx context.Context, r Revocation) (Grant, error) {
	g, err := b.Store.Grant(ctx, r.Grant)
	if err != nil {
		return Grant{}, err
	}
	rights, err := b.rights(ctx, g, r.By)
	if err != nil {
		return Grant{}, unread(err)
	}
	if !rights.Member && !rights.Unreadable {
		return Grant{}, unknown()
	}
	rights.Weak = r.Via == bridge.ViaOpenID && !b.OpenIDMayApprove
	if err := g.Revocable(r.By, rights); err != nil {
		return g, err
	}
	revoked := false
	err = b.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		g, revoked, err = b.revoke(ctx, Revoking{Grant: g.ID, By: r.By, At: b.Clock.Now()})
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	if revoked {
		b.told(ctx, g, r.Via, "")
	}
	return g, nil
}

// rights reads what a person may do where the grant stands. No copy is good enough to say that somebody is an admin,
// or that they are not there.
func (b *Book) rights(ctx context.Context, g Grant, who bridge.UserID) (bridge.Rights, error) {
	q, fresh := g.Question, g.Option.Requires != ""
	q.Conversation = g.Conversation
	r, err := b.Gatekeeper.Rights(ctx, q, who, fresh)
	if fresh || err != nil || r.Member {
		return r, err
	}
	return b.Gatekeeper.Rights(ctx, q, who, true)
}

func unread(err error) error {
	return &bridge.ErrRetry{After: time.Second, Err: fmt.Errorf("read the rights of somebody who asks for grants: %w", err)}
}

func unknown() error { return &bridge.Error{Code: CodeUnknown, Reason: "there is no such grant"} }

// Revocable says whether a person may take the grant back: if they could have given it. Like declining, it needs no
// subject, and no strong sign-in where the option does not require an admin. The error is a *bridge.Error that may be
// told to them.
func (g Grant) Revocable(who bridge.UserID, r bridge.Rights) error {
	q := g.Question
	if q.Target == bridge.Forgotten { // nobody is that any more
		q.Scope = bridge.Room
	}
	var refused *bridge.Error
	if err := q.Permits(who, r); errors.As(err, &refused) {
		return &bridge.Error{Code: refused.Code, Reason: texts.NotGrantedByYou(refused.Reason)}
	}
	switch {
	case g.Option.Requires != "" && !r.WorkspaceAdmin:
		return &bridge.Error{Code: bridge.CodeAdminsOnly, Reason: texts.AdminsRevoke}
	case g.Option.Requires != "" && r.Weak:
		return &bridge.Error{Code: bridge.CodeWeakSignIn, Reason: texts.WeakRevoke(string(g.ID))}
	}
	return nil
}

// revoke takes a grant back in the transaction of ctx, with what that owes, and gives it as it then stands: revoked is
// false where it did not stand any more.
func (b *Book) revoke(ctx context.Context, r Revoking) (g Grant, revoked bool, err error) {
	if revoked, err = b.Store.RevokeGrant(ctx, r); err != nil {
		return Grant{}, false, err
	}
	if g, err = b.Store.Grant(ctx, r.Grant); err != nil || !revoked {
		return g, false, err
	}
	g.Question.ForgetAfter = g.keptUntil()
	if err := b.Store.KeepQuestion(ctx, g.Question.ID, g.Question.ForgetAfter); err != nil {
		return Grant{}, false, err
	}
	return g, true, b.Events.GrantRevoked(ctx, g)
}

// told is what follows the commit of a revocation.
func (b *Book) told(ctx context.Context, g Grant, via bridge.Via, event bridge.InteractionID) {
	zerolog.Ctx(ctx).Info().Str("grant_id", string(g.ID)).Str("question_id", string(g.Question.ID)).Msg("Grant revoked")
	b.Auditor.Record(ctx, bridge.AuditRecord{
		At: *g.RevokedAt, Action: bridge.AuditGrantRevoked, Question: g.Question.ID, Conversation: g.Conversation,
		Agent: g.Question.Asker, User: g.RevokedBy, Via: via, Event: event, Origin: bridge.OriginOf(ctx),
	})
	b.Owed()
}
