package matrix

import (
	"context"
	"slices"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// testRealDeliveries: what its asker is told of a question that cannot be posted, for the reasons that a real homeserver
// can be made to give, and that it is posted once it can be.
func testRealDeliveries(r *real) {
	parent := r.t
	for name, test := range map[string]func(r *real){"the bot may not write": mayNotWrite, "nobody is there": nobodyThere, "the bot is banned": banned} {
		parent.Run(name, func(t *testing.T) { r.t = t; test(r) })
	}
	r.t = parent
}

func mayNotWrite(r *real) {
	room := r.room()
	powers := map[string]any{"users": map[string]any{r.alice.ID: 100}, "events_default": 50}
	_, err := r.alice.SetState(within(r.t), room, testserver.State{Type: "m.room.power_levels", Content: powers})
	noError(r.t, err)
	q := r.askedIn(room)
	r.delivered(q, bridge.Delivery{State: bridge.Failed, Reason: bridge.ReasonNotPermitted})
	noError(r.t, r.alice.SetPower(within(r.t), room, string(r.Bot()), 50))
	r.posted(q)
}

func nobodyThere(r *real) {
	room := r.aloneWithBot()
	noError(r.t, r.alice.Leave(within(r.t), room))
	r.eventually("the bot knows that it is alone", func() bool {
		v, err := r.rooms.view(within(r.t), bridge.ConversationID(room), false)
		noError(r.t, err)
		return v.others(false) == 0
	})
	q := r.askedIn(room)
	r.delivered(q, bridge.Delivery{State: bridge.Queued, Reason: bridge.ReasonNobody})
	_, err := r.bob.Join(within(r.t), room)
	noError(r.t, err)
	r.posted(q)
}

func banned(r *real) {
	room := r.room()
	q, m := r.ask(room, plain())
	noError(r.t, r.alice.Ban(within(r.t), room, string(r.Bot())))
	r.delivered(q, bridge.Delivery{State: bridge.Unanswerable, Message: bridge.MessageID(m), Reason: bridge.ReasonNotInRoom})
}

func homeserverDown(r *real) {
	room := r.room()
	q := r.named(room, plain())
	noError(r.t, r.Supports(within(r.t), q.Conversation))
	noError(r.t, r.hs.Kill())
	_, _, err := r.engine.Ask(within(r.t), q)
	noError(r.t, err)
	r.delivered(q, bridge.Delivery{State: bridge.Queued, Reason: bridge.ReasonUnreachable})
	noError(r.t, r.hs.Restart(context.Background()))
	r.posted(q)
}

// aloneWithBot makes a room of alice and the bot, into which bob is invited.
func (r *real) aloneWithBot() string {
	r.t.Helper()
	room, err := r.alice.CreateRoom(within(r.t), testserver.Room{Invite: []string{r.bob.ID, string(r.Bot())}})
	noError(r.t, err)
	noError(r.t, r.alice.WaitForMember(within(r.t), room, string(r.Bot()), "join"))
	return room
}

// askedIn asks in a room, and waits for nothing.
func (r *real) askedIn(room string) bridge.Question {
	r.t.Helper()
	q := r.named(room, plain())
	_, _, err := r.engine.Ask(within(r.t), q)
	noError(r.t, err)
	return q
}

func (r *real) delivered(q bridge.Question, want bridge.Delivery) {
	r.t.Helper()
	r.delivery(q, func(d bridge.Delivery) bool { return d == want })
}

func (r *real) posted(q bridge.Question) {
	r.t.Helper()
	r.delivery(q, func(d bridge.Delivery) bool { return d.State == bridge.Posted && d.Reason == "" && d.Message != "" })
}

// delivery waits until a question's delivery is right.
func (r *real) delivery(q bridge.Question, right func(bridge.Delivery) bool) {
	r.t.Helper()
	var seen []bridge.Delivery
	defer func() { r.t.Log(seen) }()
	r.eventually("its delivery is right", func() bool {
		q, err := r.db.Question(within(r.t), q.ID)
		noError(r.t, err)
		if !slices.Contains(seen, q.Delivery) {
			seen = append(seen, q.Delivery)
		}
		return right(q.Delivery)
	})
}

// testRealTargets: a direct question is asked of somebody who is in the room, and of nobody else.
func testRealTargets(r *real) {
	room := r.aloneWithBot()
	for target, code := range map[string]bridge.Code{
		r.alice.ID: "", r.bob.ID: bridge.CodeTargetNotPermitted, r.pod.ID: bridge.CodeTargetNotPermitted,
		string(r.Bot()): bridge.CodeTargetNotPermitted, "@nobody:question.test": bridge.CodeTargetNotPermitted,
	} {
		q := r.named(room, plain())
		q.Scope, q.Target = bridge.Direct, bridge.UserID(target)
		if _, _, err := r.engine.Ask(within(r.t), q); bridge.CodeOf(err) != code || err != nil && code == "" {
			r.t.Errorf("%s: %v", target, err)
		}
	}
}
