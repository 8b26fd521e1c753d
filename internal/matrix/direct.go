package matrix

import (
	"context"
	"errors"
	"net/http"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// directRoom gives the room in which nobody but a person and the bot reads, and makes one where there is none yet. What is
// tried there under a key once stays there. sealed demands that it be encrypted. An error that is not temporary is the
// homeserver's refusal to make one.
func (s *Service) directRoom(ctx context.Context, with bridge.UserID, sealed bool, key string) (bridge.ConversationID, error) {
	if tried, ok, err := s.store.SendByKey(ctx, key); err != nil || ok {
		return tried.Conversation, err
	}
	s.befriending.Lock()
	defer s.befriending.Unlock()
	room, err := s.findDirect(ctx, with, sealed)
	if err != nil || room != "" {
		return room, err
	}
	return s.makeDirect(ctx, with, sealed)
}

// findDirect looks through our own copies of the rooms that the person has to do with: every room that the bot itself has
// made is a direct one. It gives "" where there is none any more, such as when the person has left it or invited others.
func (s *Service) findDirect(ctx context.Context, with bridge.UserID, sealed bool) (bridge.ConversationID, error) {
	rooms, err := s.store.RoomsOf(ctx, with)
	if err != nil {
		return "", err
	}
	for _, room := range rooms {
		if ours, err := s.made(ctx, room); err != nil {
			return "", err
		} else if !ours { // and may be many, or hard to read just now
			continue
		}
		v, err := s.rooms.view(ctx, room, false)
		switch {
		case errors.Is(err, errNotJoined):
		case err != nil:
			return "", err
		case v.isDirect(with) && (v.encrypted || !sealed) && (s.cipher != nil || !v.encrypted):
			return room, nil
		}
	}
	return "", nil
}

// made says whether the bot has made a room, which never changes.
func (s *Service) made(ctx context.Context, room bridge.ConversationID) (bool, error) {
	created, err := s.store.StateOf(ctx, room, "m.room.create")
	return err == nil && len(created) == 1 && created[0].Sender == s.hs.bot, err
}

// isDirect is true of a room that the bot shares with the person alone, or will once they come.
func (v view) isDirect(with bridge.UserID) bool { return v.tombstone == nil && v.isOnly(with) }

// isOnly says whether a person, who is joined or invited, is the only one besides the bot.
func (v view) isOnly(who bridge.UserID) bool {
	there := v.members[who].membership
	return v.others(true) == 1 && (there == "join" || there == "invite")
}

// makeDirect makes a room as clients make direct ones, and invites the person.
func (s *Service) makeDirect(ctx context.Context, with bridge.UserID, sealed bool) (bridge.ConversationID, error) {
	request := map[string]any{"preset": "trusted_private_chat", "is_direct": true, "invite": []bridge.UserID{with}}
	if sealed {
		request["initial_state"] = []any{map[string]any{
			"type": "m.room.encryption", "state_key": "", "content": map[string]any{"algorithm": id.AlgorithmMegolmV1},
		}}
	}
	s.introduce(ctx)
	var made mautrix.RespCreateRoom
	if err := s.hs.call(ctx, http.MethodPost, mautrix.ClientURLPath{"v3", "createRoom"}, nil, request, &made); err != nil {
		return "", err
	}
	room := bridge.ConversationID(made.RoomID)
	if _, err := s.rooms.view(ctx, room, true); err != nil { // which keeps it, to be found again
		return "", err
	}
	if err := s.noteDirect(ctx, with, room); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not note a direct room")
	}
	return room, nil
}

// noteDirect writes down among the bot's own account data that a room is a direct one. Nothing of ours depends on it.
func (s *Service) noteDirect(ctx context.Context, with bridge.UserID, room bridge.ConversationID) error {
	path := mautrix.ClientURLPath{"v3", "user", string(s.hs.bot), "account_data", "m.direct"}
	rooms := map[bridge.UserID][]bridge.ConversationID{}
	if err := s.hs.call(ctx, http.MethodGet, path, nil, nil, &rooms); err != nil && !answered(err, http.StatusNotFound) {
		return err
	}
	rooms[with] = append(rooms[with], room)
	return s.hs.call(ctx, http.MethodPut, path, nil, rooms, nil)
}
