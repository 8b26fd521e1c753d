package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
)

// Rights implements [bridge.Gatekeeper]. A room that the bot may not see gives no rights. When the homeserver cannot be
// asked, there is an error beside Unreadable: the answer is not refused for that, but looked at again later.
func (s *Service) Rights(ctx context.Context, q bridge.Question, who bridge.UserID, fresh bool) (bridge.Rights, error) {
	rights := bridge.Rights{Machine: s.machines[who], IsAsker: s.isAsker(q, who), Agent: s.isAgent(who)}
	v, err := s.rooms.view(ctx, q.Conversation, fresh)
	if err != nil {
		rights.Unreadable = true
		if errors.Is(err, errNotJoined) {
			return rights, nil
		}
		return rights, err
	}
	m := v.members[who]
	rights.Member, rights.DisplayName = m.membership == "join", m.displayName
	if !rights.Member || rights.Machine {
		return rights, nil
	}
	admins, err := s.admins(ctx, v, q, who)
	if err != nil {
		rights.Unreadable = true
		return rights, err
	}
	rights.WorkspaceAdmin = admins[who]
	return rights, nil
}

// Alone implements [bridge.Gatekeeper].
func (s *Service) Alone(ctx context.Context, conv bridge.ConversationID) (bool, error) {
	v, err := s.rooms.view(ctx, conv, false)
	if errors.Is(err, errNotJoined) {
		return false, nil
	}
	return err == nil && v.others(true) == 1, err
}

func (s *Service) isAsker(q bridge.Question, who bridge.UserID) bool {
	if slices.Contains(s.cfg.AgentUsers[q.Asker], who) || q.Carried != nil && q.Carried.By == who {
		return true
	}
	c, isCarrier := s.carriers[who]
	return isCarrier && c.Agent == q.Asker
}

func (s *Service) isAgent(who bridge.UserID) bool {
	for _, accounts := range s.cfg.AgentUsers {
		if slices.Contains(accounts, who) {
			return true
		}
	}
	return false
}

// admins gives those of the people who are workspace admins for the question, by the lists or by their power in the room.
// Whether they are there is the caller's to look at. The error is temporary: nobody's rights are known then.
func (s *Service) admins(ctx context.Context, v view, q bridge.Question, people ...bridge.UserID) (map[bridge.UserID]bool, error) {
	lists := [][]bridge.UserID{s.cfg.Admins.Users}
	if board := readObject(q.Content).string("board_id"); board != "" {
		lists = append(lists, s.cfg.Admins.Boards[board])
	}
	admins := map[bridge.UserID]bool{}
	add := func(lists ...[]bridge.UserID) {
		for _, who := range people {
			if slices.ContainsFunc(lists, func(l []bridge.UserID) bool { return slices.Contains(l, who) }) {
				admins[who] = true
			}
		}
	}
	add(lists...)
	for _, who := range people {
		if s.cfg.Admins.PowerLevel != nil && v.power(who) >= *s.cfg.Admins.PowerLevel {
			admins[who] = true
		}
	}
	for name, list := range s.cfg.Admins.Rooms {
		if !slices.ContainsFunc(people, func(who bridge.UserID) bool { return !admins[who] && slices.Contains(list, who) }) {
			continue // nobody's rights hang on which room that is
		}
		here, err := s.means(ctx, name, q.Conversation)
		if err != nil {
			return nil, err
		}
		if here {
			add(list)
		}
	}
	return admins, nil
}

// means says whether a room's code, id or alias in the configuration stands for the room. What an alias stands for, the
// homeserver says, each time anew: aliases are moved, and what a room says of itself is anybody's claim who may set it.
func (s *Service) means(ctx context.Context, name string, room bridge.ConversationID) (bool, error) {
	if configured, ok := s.cfg.Rooms[name]; ok {
		name = configured
	}
	if !strings.HasPrefix(name, "#") {
		return name == string(room), nil
	}
	found, err := s.hs.resolveAlias(ctx, name)
	if bridge.CodeOf(err) == bridge.CodeRoomUnknown {
		return false, nil
	}
	return err == nil && found == room, err
}
