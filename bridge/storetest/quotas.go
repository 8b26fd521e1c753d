package storetest

import (
	"context"
	"sync/atomic"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

// reached demands what of a quota is reached by agent in room.
func (k *kit) reached(quota bridge.Quota, byAsker, there bool) {
	k.Helper()
	gotAsker, gotThere, err := k.QuotaReached(k.Context(), agent, room, quota)
	k.OK(err)
	k.Is("reached", []bool{gotAsker, gotThere}, []bool{byAsker, there})
}

var quotas = []promise{
	{"a quota is reached by pending questions of an asker, or in a conversation", func(k *kit) {
		one := bridge.Quota{Asker: 1, Conversation: 1}
		k.reached(one, false, false)
		k.ask(func(q *bridge.Question) { q.Asker, q.Conversation = "another", "!another:example.org" })
		k.reached(one, false, false)
		k.ask(func(q *bridge.Question) { q.Conversation = "!another:example.org" })
		k.reached(one, true, false)
		k.ask(func(q *bridge.Question) { q.Asker = "another" })
		k.reached(one, true, true)
		gone := k.ask()
		k.reached(bridge.Quota{Asker: 2, Conversation: 2}, true, true)
		k.reached(bridge.Quota{Asker: 3, Conversation: 3}, false, false)
		k.settle(answered(gone.ID, 1, start))
		k.reached(bridge.Quota{Asker: 2, Conversation: 2}, false, false)
	}},
	{"no quota is never reached", func(k *kit) {
		k.ask()
		k.reached(bridge.Quota{}, false, false)
		k.reached(bridge.Quota{Asker: 1}, true, false)
		k.reached(bridge.Quota{Conversation: 1}, false, true)
	}},
	{"of those who ask at once, no more get in than a quota lets in: of one asker", func(k *kit) {
		k.crowd(bridge.Quota{Asker: 5}, func(q *bridge.Question) { q.Conversation = bridge.ConversationID(q.ID) })
	}},
	{"of those who ask at once, no more get in than a quota lets in: into one conversation", func(k *kit) {
		k.crowd(bridge.Quota{Conversation: 5}, func(q *bridge.Question) { q.Asker = bridge.AgentID(q.ID) })
	}},
}

// crowd asks many questions at once where only five may be pending.
func (k *kit) crowd(quota bridge.Quota, change func(*bridge.Question)) {
	k.Helper()
	const many, few = 40, 5
	asking := make([]bridge.Question, many)
	for i := range asking {
		asking[i] = k.question()
		change(&asking[i])
	}
	var in atomic.Int32
	demand.Parallel(many, func(i int) {
		stored := false
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			q := asking[i]
			byAsker, there, err := k.QuotaReached(ctx, q.Asker, q.Conversation, quota)
			if stored = err == nil && !byAsker && !there; !stored {
				return err
			}
			return k.CreateQuestion(ctx, q)
		})
		switch {
		case err != nil:
			k.Error(err)
		case stored:
			in.Add(1)
		}
	})
	k.Is("stored", in.Load(), int32(few))
}
