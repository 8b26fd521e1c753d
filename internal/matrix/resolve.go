package matrix

import (
	"context"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
)

// Place is a room as programs name it.
type Place struct {
	ID    bridge.ConversationID
	Code  string // from the configuration; "" when it has none
	Alias string
	Name  string
}

// Resolve gives the room that a client means by a room id, an alias, or a code from the configuration. What names no
// room is a *bridge.Error with CodeRoomUnknown; whether the bot is in the room is another question.
func (s *Service) Resolve(ctx context.Context, room string) (Place, error) {
	target := room
	if configured, ok := s.cfg.Rooms[room]; ok {
		target = configured
	}
	var p Place
	switch {
	case len(target) > maxID:
	case strings.HasPrefix(target, "!"):
		p.ID = bridge.ConversationID(target)
	case strings.HasPrefix(target, "#"):
		id, err := s.hs.resolveAlias(ctx, target)
		if err != nil {
			return Place{}, err
		}
		p.ID, p.Alias = id, target
	}
	if p.ID == "" {
		return Place{}, &bridge.Error{Code: bridge.CodeRoomUnknown, Reason: "there is no such room"}
	}
	for code, configured := range s.cfg.Rooms {
		if configured == string(p.ID) || configured == p.Alias {
			p.Code = code
		}
	}
	if v, err := s.rooms.view(ctx, p.ID, false); err == nil {
		if v.name != nil {
			p.Name = readObject(v.name.Content).string("name")
		}
		if p.Alias == "" && v.alias != nil {
			p.Alias = readObject(v.alias.Content).string("alias")
		}
	}
	return p, nil
}
