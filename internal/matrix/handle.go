package matrix

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// handle does what one stored event asks for, and marks it as handled. It may be called again with the same event after
// a crash.
func (w *worker) handle(ctx context.Context, ev bridge.InboxEvent) (err error) {
	if ev.Conversation == keysLane {
		return w.key(ctx, ev)
	}
	e, ok := decodeEvent(ev.Raw)
	if !ok {
		return &unusable{"it is no well-formed event"}
	}
	if e.StateKey == nil && e.Type == "m.room.encrypted" {
		opened, ok, err := w.open(ctx, e, ev)
		if err != nil || !ok {
			return err
		}
		e = opened
	}
	switch {
	case e.StateKey != nil:
		return w.state(ctx, e)
	case bridge.UserID(e.Sender) == w.s.hs.bot:
		return w.echo(ctx, e, ev)
	case e.Type == "m.room.redaction":
		return w.redaction(ctx, e, ev)
	case e.Content.has(sendKey):
		return w.finish(ctx, e) // another bridge's, and no person's
	}
	if carrier, ok := w.s.carriers[bridge.UserID(e.Sender)]; ok {
		return w.carried(ctx, e, ev, carrier)
	}
	if w.s.machines[bridge.UserID(e.Sender)] {
		return w.finish(ctx, e)
	}
	in, ok := e.interaction(string(w.s.hs.bot))
	if !ok {
		return w.finish(ctx, e)
	}
	if in.Doubted, err = w.s.doubts(ctx, e); err != nil {
		return err
	}
	return w.receive(ctx, in, ev)
}

func (w *worker) finish(ctx context.Context, e event) error {
	return w.s.store.FinishInteraction(ctx, bridge.InteractionID(e.ID))
}

func (w *worker) receive(ctx context.Context, in bridge.Interaction, ev bridge.InboxEvent) error {
	early, err := w.tooEarly(ctx, ev, in.Target())
	if err == nil && !early {
		early, err = w.promptUnknown(ctx, ev, in)
	}
	if err != nil {
		return err
	}
	if early {
		return &bridge.ErrRetry{After: 250 * time.Millisecond, Err: errors.New("it is about a message of ours that we do not know yet")}
	}
	encrypted, err := w.s.isEncrypted(ctx, in.Conversation)
	if err != nil {
		return err
	}
	in.Seq, in.ReceivedAt, in.Exposed, in.SentAt = ev.Seq, ev.ReceivedAt, encrypted && !in.Encrypted, sentAt(in.SentAt, ev)
	return w.engine.Receive(ctx, in)
}

// isEncrypted says whether the room is, by state that is not in doubt.
func (s *Service) isEncrypted(ctx context.Context, room bridge.ConversationID) (bool, error) {
	v, err := s.rooms.view(ctx, room, false)
	if errors.Is(err, errNotJoined) {
		_, _, v.encrypted, err = s.store.Standing(ctx, room)
	}
	return v.encrypted, err
}

// sentAt is when an event says that it was sent, which cannot be later than when it came.
func sentAt(says time.Time, ev bridge.InboxEvent) time.Time {
	if says.After(ev.ReceivedAt) {
		return ev.ReceivedAt
	}
	return says
}

// echo takes a message of ours that came back: it names the send that it is, whose result we may not know yet. What must
// not stand there is taken back or closed.
func (w *worker) echo(ctx context.Context, e event, ev bridge.InboxEvent) error {
	echo := bridge.Echo{
		Conversation: bridge.ConversationID(e.Room), Message: bridge.MessageID(e.ID), Seq: ev.Seq, SentAt: sentAt(e.SentAt, ev),
	}
	key := e.Content.string(sendKey)
	var fate fate
	err := w.s.store.Atomically(ctx, func(ctx context.Context) error {
		fate = stays
		sent, ok, err := w.s.store.SendByKey(ctx, key)
		if err != nil {
			return err
		}
		if key == "" || !ok || sent.Conversation != echo.Conversation {
			return w.finish(ctx, e)
		}
		recorded, err := w.s.store.SendDone(ctx, key, echo.Message)
		if err != nil {
			return err
		}
		over := false
		if echo.Question = sent.Question; echo.Question != "" {
			if over, err = w.engine.Echoed(ctx, echo); err != nil {
				return err
			}
		}
		switch {
		case recorded != echo.Message:
			fate = isTwice
		case over && e.isQuestion():
			fate = asksLate
		case over && sent.Message == "" && strings.Contains(key, keycapPart):
			fate = offersLate
		default:
			return w.finish(ctx, e)
		}
		return nil
	})
	switch {
	case err != nil || fate == stays:
		return err
	case fate == asksLate:
		return w.engine.AskedLate(ctx, echo, key)
	}
	return w.takeBack(ctx, e, fate)
}

// fate is what becomes of a message of ours that came back.
type fate string

const (
	stays fate = ""
	// A homeserver may make two messages of one send: it had the first in hand when we looked for it, or when it
	// crashed. The one that was recorded first counts; a reply to the other is a reply to the question all the same.
	isTwice fate = "sent twice"
	// The question ended before we knew that this asks it, or that this number reaction offers an answer.
	asksLate   fate = "asks a question that has ended"
	offersLate fate = "offers an answer to a question that has ended"
)

func (w *worker) takeBack(ctx context.Context, e event, why fate) error {
	log := zerolog.Ctx(ctx)
	log.Warn().Str("why", string(why)).Msg("Taking a message of ours back")
	err := w.s.sends.redact(ctx, bridge.ConversationID(e.Room), bridge.MessageID(e.ID), string(why))
	if err != nil && temporary(err) {
		return err
	}
	if err != nil {
		log.Warn().Err(err).Msg("Could not take it back")
	}
	return w.finish(ctx, e)
}

// redaction takes an event that was taken away: a question cannot be answered in its room any more, and a reply that was
// no answer yet cannot become one.
func (w *worker) redaction(ctx context.Context, e event, ev bridge.InboxEvent) error {
	target, ok := e.redaction()
	if !ok {
		return w.finish(ctx, e)
	}
	isQuestion, err := w.engine.QuestionRedacted(ctx, bridge.ConversationID(e.Room), bridge.MessageID(target))
	if err != nil {
		return err
	}
	if isQuestion {
		return w.finish(ctx, e)
	}
	in, _ := e.interaction(string(w.s.hs.bot))
	return w.receive(ctx, in, ev)
}

// linkWait is how long an event about a message of ours waits until we know what the message is.
const linkWait = 30 * time.Second

// tooEarly is true of an event about a message that we are just sending, or sent before we died: a person, or a
// homeserver that pushes out of order, can be faster than the answer to the send and than its echo.
func (w *worker) tooEarly(ctx context.Context, ev bridge.InboxEvent, target bridge.MessageID) (bool, error) {
	room := ev.Conversation
	if target == "" || w.s.clock.Now().Sub(ev.ReceivedAt) > linkWait {
		return false, nil
	}
	if _, linked, err := w.s.store.QuestionOf(ctx, room, target); err != nil || linked {
		return false, err
	}
	if doubt, err := w.s.store.InDoubt(ctx, room); err != nil || !doubt {
		return false, err
	}
	var raw jsonEvent
	path := mautrix.ClientURLPath{"v3", "rooms", string(room), "event", string(target)}
	err := w.s.hs.call(ctx, http.MethodGet, path, nil, nil, &raw)
	if err != nil && !temporary(err) {
		return false, nil
	}
	return bridge.UserID(raw.decode(room).Sender) == w.s.hs.bot, err
}

// encrypted notes that a room is encrypted, from now on and for ever. Without encryption here, questions that were asked
// before it cannot be answered there.
func (w *worker) encrypted(ctx context.Context, e event) error {
	room := bridge.ConversationID(e.Room)
	_, _, known, err := w.s.store.Standing(ctx, room)
	if err != nil || known {
		return err
	}
	if w.s.cipher == nil {
		if err := w.engine.Unanswerable(ctx, room, bridge.ReasonEncrypted); err != nil {
			return err
		}
	}
	return w.s.store.SetEncrypted(ctx, room)
}
