package matrix

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// sealed gives what is sent in place of a message's type and content. Every message passes here, at the last moment: the
// room's state must be known, and where it was ever seen encrypted, nothing but reactions goes there in clear.
func (s *sends) sealed(ctx context.Context, o outgoing, content map[string]any) (kind string, body any, err error) {
	v, err := s.rooms.view(ctx, o.room, false)
	switch {
	case err != nil:
		return "", nil, err
	case !v.encrypted || o.kind == "m.reaction":
		return o.kind, content, nil
	case s.cipher == nil:
		return "", nil, errNoEncryption
	}
	body, err = s.cipher.seal(ctx, sealing{room: o.room, readers: v.joined(), kind: o.kind, content: content})
	return "m.room.encrypted", body, err
}

// joined are the members who are there, ourselves among them.
func (v view) joined() (people []bridge.UserID) {
	for who, m := range v.members {
		if m.membership == "join" {
			people = append(people, who)
		}
	}
	slices.Sort(people)
	return people
}

// opened is an event of our own as it was sent. One that is not what it seems stays as it is, and so is no message of ours.
func (s *sends) opened(ctx context.Context, e event) (event, error) {
	if e.Type != "m.room.encrypted" || e.pruned() {
		return e, nil
	}
	if s.cipher == nil {
		return e, errNoEncryption
	}
	opened, err := s.cipher.open(ctx, e)
	var worthless *errWorthless
	if errors.As(err, &worthless) {
		return e, nil
	}
	return opened, err
}

// reaches holds what nobody could read.
func (s *Service) reaches(ctx context.Context, v view, target bridge.UserID) error {
	reached, err := s.cipher.reaches(ctx, v.joined())
	switch {
	case errors.Is(err, errNotBegun):
		return &bridge.ErrHeld{Reason: bridge.ReasonNotBegun, Again: 5 * time.Second}
	case err != nil:
		return err
	case target != "" && v.members[target].membership == "join":
		if reached[target] {
			return nil
		}
	default:
		for who := range reached {
			if !s.machines[who] {
				return nil
			}
		}
	}
	return &bridge.ErrHeld{Reason: bridge.ReasonNoKeys, Again: time.Minute}
}

// keyWait is how long the rest of a room waits for the key of one message: it is on its way by another path.
const keyWait = 2 * time.Second

// open reads an encrypted event. ok is false when there is nothing more to do with it for now: it is marked as handled, or
// set aside until its key comes.
func (w *worker) open(ctx context.Context, e event, ev bridge.InboxEvent) (opened event, ok bool, err error) {
	if err := w.encrypted(ctx, e); err != nil {
		return e, false, err
	}
	if w.s.cipher == nil || e.pruned() {
		return e, false, w.finish(ctx, e)
	}
	opened, err = w.s.cipher.open(ctx, e)
	var locked *errLocked
	var worthless *errWorthless
	switch {
	case errors.As(err, &locked):
		return e, false, w.lock(ctx, e, ev, locked)
	case errors.As(err, &worthless):
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Passing over an encrypted event")
		return e, false, w.finish(ctx, e)
	case errors.Is(err, errNotBegun):
		return e, false, &bridge.ErrRetry{After: time.Second, Err: err}
	case err != nil:
		return e, false, err
	case opened.Type != "m.room.message" && opened.Type != "m.reaction", contradicts(e.Content, opened.Content):
		// Nothing else is sent encrypted; a redaction, say, would have passed no homeserver's rules.
		zerolog.Ctx(ctx).Warn().Str("type", opened.Type).Msg("Passing over an encrypted event that is not what it seems")
		return e, false, w.finish(ctx, e)
	}
	return opened, true, nil
}

// contradicts is true of a message that is about another one by what stands outside, in clear, than by what is inside.
// Many clients write a relation only outside.
func contradicts(outside, inside object) bool {
	return outside.has("m.relates_to") && inside.has("m.relates_to") && readRelation(outside) != readRelation(inside)
}

// lock sets an event aside whose key does not come, after a moment of waiting. Its sender may hear of other ways to answer.
func (w *worker) lock(ctx context.Context, e event, ev bridge.InboxEvent, l *errLocked) error {
	if w.s.clock.Now().Sub(w.known(ev)) < keyWait {
		return &bridge.ErrRetry{After: 200 * time.Millisecond, Err: l}
	}
	if bridge.UserID(e.Sender) != w.s.hs.bot {
		r := readRelation(e.Content)
		said := bridge.Said{ReplyTo: bridge.MessageID(r.replyTo)}
		if r.kind == threaded {
			said.Thread = bridge.MessageID(r.target)
		}
		err := w.engine.Unreadable(ctx, bridge.Unread{
			ID: bridge.InteractionID(e.ID), Conversation: ev.Conversation, Sender: bridge.UserID(e.Sender),
			Target: bridge.Interaction{Act: said}.Target(), Thread: said.Thread, ReceivedAt: ev.ReceivedAt,
		})
		if err != nil {
			return err
		}
	}
	zerolog.Ctx(ctx).Info().Str("session_id", l.session).Msg("An event waits for its key")
	if err := w.s.store.LockEvent(ctx, ev.ID, l.session); err != nil {
		return err
	}
	// The key may have come meanwhile, and whoever took it found nothing to unlock.
	held, err := w.s.cipher.holds(ctx, ev.Conversation, l.session)
	if err != nil || !held {
		return err
	}
	_, err = w.s.store.UnlockEvents(ctx, ev.Conversation, l.session, w.s.clock.Now())
	return err
}

// doubts says whether the device that an event came from is trusted too little for what approves in its room.
func (s *Service) doubts(ctx context.Context, e event) (bool, error) {
	if e.seal == nil || e.seal.crossSigned {
		return false, nil
	}
	needed := s.cfg.Encryption.Trust
	for name, trust := range s.cfg.Encryption.RoomTrust {
		here, err := s.means(ctx, name, bridge.ConversationID(e.Room))
		if err != nil {
			return false, err
		}
		if here {
			needed = trust
		}
	}
	return needed == TrustCrossSigned, nil
}
