package bridge

import (
	"context"
	"errors"
	"maps"
	"slices"

	"superpipeline.dev/question-bridge/bridge/texts"
)

// Delivery says whether anybody could have seen the question: "nobody answered" differs from "nobody could have".
type Delivery struct {
	State   DeliveryState
	Message MessageID // the current message, once posted
	Reason  string    // why not, as a stable word; see [DeliveryReasons]
}

// DeliveryState is how far a question came.
type DeliveryState string

// The delivery states.
const (
	Queued       DeliveryState = "queued"       // it will be posted as soon as it can be
	Posted       DeliveryState = "posted"       // it stands in its conversation
	Failed       DeliveryState = "failed"       // it does not stand there, and is not tried again by itself
	Unanswerable DeliveryState = "unanswerable" // it may stand there, and nobody can answer it there any more
)

// Why a question does not stand in its conversation yet.
const (
	ReasonNobody      = "nobody_in_room"
	ReasonTargetAway  = "target_not_in_room"
	ReasonUnreadable  = "room_state_unreadable"
	ReasonUnreachable = "homeserver_unreachable"
	ReasonBusy        = "homeserver_busy"
	ReasonNoKeys      = "no_device_keys"
	ReasonNotBegun    = "encryption_not_begun"
)

// Why a question does not stand in its conversation, or cannot be answered there any more.
const (
	ReasonNotInRoom    = "bot_not_in_room"
	ReasonEncrypted    = "room_encrypted"
	ReasonRoomUpgraded = "room_upgraded" // and the question is not yet in the new one
	ReasonNotPermitted = "not_permitted_to_send"
	ReasonTooLarge     = "too_large"
	ReasonRefused      = "refused_by_homeserver"
	ReasonUnwritable   = "cannot_be_written"
	ReasonRedacted     = "redacted"
)

var reasonDetails = map[string]string{
	ReasonNobody:       texts.NobodyInRoom,
	ReasonTargetAway:   texts.TargetNotInRoom,
	ReasonUnreadable:   texts.RoomStateUnreadable,
	ReasonUnreachable:  texts.HomeserverUnreachable,
	ReasonBusy:         texts.HomeserverBusy,
	ReasonNoKeys:       texts.NoDeviceKeys,
	ReasonNotBegun:     texts.EncryptionNotBegun,
	ReasonNotInRoom:    texts.BotNotInRoom,
	ReasonEncrypted:    texts.RoomEncrypted,
	ReasonRoomUpgraded: texts.RoomUpgraded,
	ReasonNotPermitted: texts.NotPermittedToSend,
	ReasonTooLarge:     texts.TooLargeForRoom,
	ReasonRefused:      texts.RefusedByHomeserver,
	ReasonUnwritable:   texts.CannotBeWritten,
	ReasonRedacted:     texts.QuestionRedacted,
}

// DeliveryReasons lists every reason, in order.
func DeliveryReasons() []string { return slices.Sorted(maps.Keys(reasonDetails)) }

// Detail says the reason as a sentence, with what helps; "" where there is none.
func (d Delivery) Detail() string { return reasonDetails[d.Reason] }

// undelivered records why a question could not be posted, or its next step, and passes on what the outbox needs to know.
func (e *Engine) undelivered(ctx context.Context, q Question, err error) error {
	var held *ErrHeld
	var delayed *ErrDelayed
	var impossible *ErrImpossible
	d := Delivery{State: Queued, Message: q.Delivery.Message}
	switch {
	case errors.As(err, &held):
		d.Reason = held.Reason
	case errors.As(err, &delayed):
		d.Reason = delayed.Reason
	case errors.As(err, &impossible):
		d.State, d.Reason = impossible.State, impossible.Reason
		return e.note(ctx, q, d)
	default:
		return err
	}
	if noted := e.note(ctx, q, d); noted != nil {
		return noted
	}
	return err
}

// note records how far a question came, unless something else happened to it since it was read.
func (e *Engine) note(ctx context.Context, before Question, d Delivery) error {
	if before.Delivery == d {
		return nil
	}
	return e.Store.Atomically(ctx, func(ctx context.Context) error {
		q, err := e.Store.Question(ctx, before.ID)
		if err != nil || q.Delivery != before.Delivery || q.Conversation != before.Conversation {
			return err
		}
		return e.Store.SetDelivery(ctx, q.ID, d)
	})
}

// revive tries again what could not be done in a conversation: the question is posted, or its next step, or it stands
// there as it did.
func (e *Engine) revive(ctx context.Context, q Question) error {
	p, err := e.Store.Posting(ctx, q.ID)
	if err != nil {
		return err
	}
	if q.Delivery.Message != "" && !p.Moving {
		return e.Store.SetDelivery(ctx, q.ID, Delivery{State: Posted, Message: q.Delivery.Message})
	}
	if err := e.Store.SetDelivery(ctx, q.ID, Delivery{State: Queued, Message: q.Delivery.Message}); err != nil {
		return err
	}
	if p.Moving {
		return e.oweUpdate(ctx, q.ID, updatePayload{Revision: q.Revision})
	}
	return e.Store.AddEffects(ctx, Effect{
		Kind: EffectRender, Question: q.ID, Key: effectKey(q.ID, EffectRender, 0), Due: e.Clock.Now(),
	})
}
