package decision

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/shortid"
)

// CodeUnknown says that there is no such decision, or none that this person or agent may know of.
const CodeUnknown bridge.Code = "decision_not_found"

func unknown() error { return &bridge.Error{Code: CodeUnknown, Reason: "there is no such decision"} }

// Parts is what a book is made of. Auditor may be nil.
type Parts struct {
	Store  Store
	Secret Secret
	Clock  bridge.Clock
	// Admin says who may see and revoke what anybody decided.
	Admin   func(bridge.UserID) bool
	Auditor bridge.Auditor
	// OpenIDMayApprove lets [bridge.ViaOpenID] do what a person's own token may.
	OpenIDMayApprove bool
}

// Book is where decisions are written down, looked up and taken back. Its methods may be called at once.
type Book struct{ Parts }

var _ collector.Decisions = (*Book)(nil)

// New makes a book of its parts.
func New(p Parts) *Book {
	if p.Auditor == nil {
		p.Auditor = bridge.Unaudited{}
	}
	return &Book{p}
}

// Recall implements [collector.Decisions].
func (b *Book) Recall(ctx context.Context, s collector.Scope) (collector.Decision, error) {
	d, ok, err := b.Store.DecisionUnder(ctx, b.Secret.key(s))
	if err != nil || !ok {
		return collector.Decision{}, err
	}
	if d.Made == nil {
		return collector.Decision{Revision: d.Revision}, nil
	}
	return collector.Decision{ID: string(d.ID), Approved: d.Made.Approved, Revision: d.Revision}, nil
}

// Used implements [collector.Decisions].
func (b *Book) Used(ctx context.Context, u collector.Use) error {
	zerolog.Ctx(ctx).Info().Str("decision_id", u.Decision).Str("gate_id", string(u.Gate)).Msg("A remembered decision answers")
	return b.Store.AddUse(ctx, u)
}

// Remember implements [collector.Decisions]. A decision that was asked for at another revision than now stands is not
// stored, and where it contradicts what stands, that does not stand any more: the person is asked next time.
func (b *Book) Remember(ctx context.Context, m collector.Made) error {
	return b.Store.Atomically(ctx, func(ctx context.Context) error {
		stored, err := b.remember(ctx, m)
		if err == nil && !stored {
			zerolog.Ctx(ctx).Warn().Str("gate_id", string(m.Gate)).Msg("A decision is not remembered: it was asked for before another one")
		}
		return err
	})
}

func (b *Book) remember(ctx context.Context, m collector.Made) (stored bool, err error) {
	k := b.Secret.key(m.Scope)
	d, ok, err := b.Store.DecisionUnder(ctx, k)
	switch {
	case err != nil:
		return false, err
	case !ok && m.Revision == 0:
		if stored, err = b.add(ctx, k, m); stored || err != nil {
			return stored, err
		}
		return b.remember(ctx, m)
	case !ok: // it was forgotten meanwhile
		return false, nil
	case d.Revision == m.Revision:
		return true, b.move(ctx, d.next(m))
	case d.Made != nil && d.Made.Approved != m.Approved:
		return false, b.move(ctx, d.emptied(m.At))
	}
	return false, nil
}

// idTries is how many ids are tried: the first few are free.
const idTries = 100

// add stores the first decision under a key; added is false where somebody else was faster.
func (b *Book) add(ctx context.Context, k Key, m collector.Made) (added bool, err error) {
	for range idTries {
		first := Decision{Key: k, ID: ID(shortid.New(idLetter))}.next(m)
		if added, err = b.Store.AddDecision(ctx, first); added || err != nil {
			return added, err
		}
		if _, taken, err := b.Store.DecisionUnder(ctx, k); taken || err != nil {
			return false, err
		}
	}
	return false, errors.New("no id is free for a decision")
}

// move stores what stands now. Nobody else can have moved it, as it was read in this transaction.
func (b *Book) move(ctx context.Context, d Decision) error {
	moved, err := b.Store.MoveDecision(ctx, d)
	if err == nil && !moved {
		err = fmt.Errorf("decision %s was moved while it was held", d.ID)
	}
	return err
}
