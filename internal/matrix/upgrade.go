package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// valueUpgradeTo, followed by the id of a new room, keeps the room that it replaces.
const valueUpgradeTo = "upgrade_to/"

// tombstone closes a room, if its sender had the power to. What is pending there cannot be answered there any more; it is
// posted again in the new room, once the bot is in there and that room itself says whose successor it is. A tombstone
// without a usable successor, or a second one, changes nothing. (Field case A11.)
func (w *worker) tombstone(ctx context.Context, e event) error {
	room := bridge.ConversationID(e.Room)
	next := e.Content.string("replacement_room")
	v, err := w.s.rooms.view(ctx, room, false)
	if errors.Is(err, errNotJoined) {
		return w.finish(ctx, e)
	}
	if err != nil {
		return err
	}
	if !v.maySetState(bridge.UserID(e.Sender), e.Type) || !strings.HasPrefix(next, "!") || next == e.Room {
		zerolog.Ctx(ctx).Warn().Msg("Ignoring a tombstone that closes nothing")
		return w.finish(ctx, e)
	}
	if v.tombstone != nil && v.tombstone.Event != bridge.InteractionID(e.ID) {
		if first, _ := v.replacement(); first != "" {
			return w.finish(ctx, e)
		}
	}
	zerolog.Ctx(ctx).Info().Str("new_room_id", next).Msg("The room goes on in another one")
	if err := w.engine.Unanswerable(ctx, room, bridge.ReasonRoomUpgraded); err != nil {
		return err
	}
	err = w.s.rooms.apply(ctx, e, func(ctx context.Context) error {
		return w.s.store.SetValue(ctx, valueUpgradeTo+next, e.Room)
	})
	if err != nil {
		return err
	}
	if err := w.s.hs.joinedTo(ctx, next, []string{userServer(bridge.UserID(e.Sender))}); err != nil {
		if temporary(err) {
			return err
		}
		zerolog.Ctx(ctx).Warn().Err(err).Str("new_room_id", next).Msg("Cannot join the new room yet: it needs an invitation")
		return w.finish(ctx, e)
	}
	if err := w.joined(ctx, bridge.ConversationID(next)); err != nil {
		return err
	}
	return w.finish(ctx, e)
}

// continueUpgrade posts what is pending in the old room again in the new one, if the new one names the old one as its
// predecessor: anybody can point at a room from outside.
func (w *worker) continueUpgrade(ctx context.Context, next bridge.ConversationID) error {
	old, err := w.s.store.Value(ctx, valueUpgradeTo+string(next))
	if err != nil || old == "" {
		return err
	}
	v, err := w.s.rooms.view(ctx, next, false)
	if err != nil {
		return err
	}
	var create json.RawMessage
	if v.create != nil {
		create = v.create.Content
	}
	if readObject(create).object("predecessor").string("room_id") != old {
		zerolog.Ctx(ctx).Warn().Str("room_id", old).Str("new_room_id", string(next)).Msg("The new room does not say that it replaces the old one")
		return nil
	}
	return w.engine.Moved(ctx, bridge.ConversationID(old), next)
}
