package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// mostReminded is how many people one reminder names; the room as a whole is never notified.
const mostReminded = 20

// Remind implements [bridge.Channel]: a text in the question's thread that mentions whom it is for, since a notice
// notifies nobody.
func (s *Service) Remind(ctx context.Context, q bridge.Question, p bridge.Posting, r bridge.Reminder, key string) error {
	conv := conversation(q, p)
	if len(p.Messages) == 0 {
		return &bridge.ErrHeld{Reason: "the question is not posted yet", Again: time.Minute}
	}
	v, err := s.ready(ctx, conv, q.Target)
	if err != nil {
		return err
	}
	people, err := s.reminded(ctx, v, q, r)
	if err != nil {
		return err
	}
	if len(people) == 0 {
		zerolog.Ctx(ctx).Warn().Str("question_id", string(q.ID)).Str("reminder", string(r)).Msg("Not reminding: nobody in the room could be reminded")
		return nil
	}
	names := make([]string, len(people))
	for i, who := range people {
		names[i] = personName(bridge.Responder{ID: who, DisplayName: v.members[who].displayName})
	}
	sentence := texts.Reminder(strings.Join(names, ", "))
	if r == bridge.RemindAdmins {
		sentence = texts.Escalation(strings.Join(names, ", "))
	}
	content := notice(sentence)
	content["msgtype"], content["m.mentions"] = "m.text", map[string]any{"user_ids": people}
	content["m.relates_to"] = inThread(p.Messages[0].ID, p.Messages[len(p.Messages)-1].ID)
	if _, err := s.sends.send(ctx, outgoing{key: key, question: q.ID, room: conv, kind: "m.room.message", content: content}); err != nil && !errors.Is(err, errElsewhere) {
		return s.sendFailed(ctx, conv, err)
	}
	return nil
}

// reminded is whom a reminder is for, in order of their ids: the target of a direct question, else who may answer; or the
// workspace admins in the room.
func (s *Service) reminded(ctx context.Context, v view, q bridge.Question, r bridge.Reminder) (people []bridge.UserID, err error) {
	for who, m := range v.members {
		rights := bridge.Rights{Member: m.membership == "join", Machine: s.machines[who], IsAsker: s.isAsker(q, who)}
		if r == bridge.RemindAdmins && rights.Member && !rights.Machine && !rights.IsAsker || r == bridge.RemindResponders && q.Permits(who, rights) == nil {
			people = append(people, who)
		}
	}
	if r == bridge.RemindAdmins {
		admins, err := s.admins(ctx, v, q, people...)
		if err != nil {
			return nil, err
		}
		people = slices.DeleteFunc(people, func(who bridge.UserID) bool { return !admins[who] })
	}
	slices.Sort(people)
	return people[:min(len(people), mostReminded)], nil
}

// Joined implements [bridge.Gatekeeper].
func (s *Service) Joined(ctx context.Context, who bridge.UserID) (joined []bridge.ConversationID, err error) {
	rooms, err := s.store.RoomsOf(ctx, who)
	if err != nil {
		return nil, err
	}
	for _, room := range rooms {
		v, err := s.rooms.view(ctx, room, false)
		switch {
		case errors.Is(err, errNotJoined):
		case err != nil:
			return nil, err
		case v.members[who].membership == "join":
			joined = append(joined, room)
		}
	}
	return joined, nil
}
