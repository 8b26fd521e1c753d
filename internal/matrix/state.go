package matrix

import (
	"context"
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// state takes a state event into our copy of the room and acts on it.
func (w *worker) state(ctx context.Context, e event) error {
	switch {
	case e.Type == "m.room.member" && *e.StateKey == string(w.s.hs.bot):
		return w.ownMembership(ctx, e)
	case e.Type == "m.room.encryption" && *e.StateKey == "":
		if err := w.encrypted(ctx, e); err != nil {
			return err
		}
	case e.Type == "m.room.tombstone" && *e.StateKey == "":
		return w.tombstone(ctx, e)
	}
	if err := w.s.rooms.apply(ctx, e, func(context.Context) error { return nil }); err != nil {
		return err
	}
	if e.Type == "m.room.member" && e.Content.string("membership") == "join" || e.Type == "m.room.power_levels" {
		if err := w.engine.Changed(ctx, bridge.ConversationID(e.Room)); err != nil {
			return err
		}
	}
	return w.finish(ctx, e)
}

// ownMembership follows the bot's own way into and out of rooms. After every change of it our copy is worth nothing.
func (w *worker) ownMembership(ctx context.Context, e event) error {
	room := bridge.ConversationID(e.Room)
	switch e.Content.string("membership") {
	case "invite":
		return w.invited(ctx, e)
	case "join":
		if err := w.joined(ctx, room); err != nil {
			return err
		}
	case "leave", "ban":
		if err := w.left(ctx, room); err != nil {
			return err
		}
	}
	return w.finish(ctx, e)
}

// invited joins where the configuration or an upgrade of a room we were in allows it.
func (w *worker) invited(ctx context.Context, e event) error {
	log := zerolog.Ctx(ctx)
	room := bridge.ConversationID(e.Room)
	old, err := w.s.store.Value(ctx, valueUpgradeTo+e.Room)
	if err != nil {
		return err
	}
	if old == "" && !w.s.welcome(bridge.UserID(e.Sender)) {
		log.Warn().Str("inviter", e.Sender).Msg("Not joining: the configuration does not accept invitations from there")
		return w.finish(ctx, e)
	}
	w.s.introduce(ctx)
	if err := w.s.hs.joinedTo(ctx, e.Room, []string{userServer(bridge.UserID(e.Sender))}); err != nil {
		if temporary(err) {
			return err
		}
		log.Warn().Err(err).Msg("Could not join: the invitation may have been taken back")
		return w.finish(ctx, e)
	}
	log.Info().Msg("Joined a room")
	if err := w.joined(ctx, room); err != nil {
		return err
	}
	return w.finish(ctx, e)
}

func (s *Service) welcome(inviter bridge.UserID) bool {
	return slices.ContainsFunc(s.cfg.Invite, func(from string) bool {
		return from == "*" || from == string(inviter) || from == userServer(inviter)
	})
}

// joined reads the room anew and tries again what waited for it.
func (w *worker) joined(ctx context.Context, room bridge.ConversationID) error {
	if err := w.s.store.SetDoubtful(ctx, room); err != nil {
		return err
	}
	if _, err := w.s.rooms.view(ctx, room, true); errors.Is(err, errNotJoined) {
		return nil // out again already
	} else if err != nil {
		return err
	}
	if err := w.continueUpgrade(ctx, room); err != nil {
		return err
	}
	return w.engine.Changed(ctx, room)
}

// left drops what we know, unless the bot is back already: events are late sometimes.
func (w *worker) left(ctx context.Context, room bridge.ConversationID) error {
	if _, err := w.s.rooms.view(ctx, room, true); err == nil || !errors.Is(err, errNotJoined) {
		return err
	}
	zerolog.Ctx(ctx).Warn().Msg("The bot is no longer in the room")
	if err := w.engine.Unanswerable(ctx, room, bridge.ReasonNotInRoom); err != nil {
		return err
	}
	return w.s.store.ForgetState(ctx, room)
}

// distrustRooms marks every copy as doubtful at start: what happened while we were away may be lost.
func (s *Service) distrustRooms(ctx context.Context) error {
	known, err := s.store.KnownRooms(ctx)
	if err != nil {
		return err
	}
	for _, room := range known {
		if err := s.store.SetDoubtful(ctx, room); err != nil {
			return err
		}
	}
	return nil
}
