package matrix

import (
	"context"
	"errors"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
)

// Rights implements [bridge.Gatekeeper]. A room that the bot may not see gives no rights. When the homeserver cannot be
// asked, there is an error beside Unreadable: the answer is not refused for that, but looked at again later.
func (s *Service) Rights(ctx context.Context, q bridge.Question, who bridge.UserID, fresh bool) (bridge.Rights, error) {
	rights := bridge.Rights{Machine: s.machines[who], IsAsker: s.isAsker(q, who)}
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
	rights.WorkspaceAdmin = rights.Member && s.isAdmin(v, q, who)
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

// isAdmin looks into the lists for the room and for the question's board, and at the power level where that counts.
func (s *Service) isAdmin(v view, q bridge.Question, who bridge.UserID) bool {
	if slices.Contains(s.cfg.Admins.Users[string(q.Conversation)], who) {
		return true
	}
	if board := readObject(q.Content).string("board_id"); board != "" && slices.Contains(s.cfg.Admins.Users[board], who) {
		return true
	}
	return s.cfg.Admins.PowerLevel != nil && v.power(who) >= *s.cfg.Admins.PowerLevel
}
