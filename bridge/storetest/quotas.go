package storetest

import (
	"context"
	"sync/atomic"

	"superpipeline.dev/question-bridge/bridge"
)

// pending counts without an end.
func (k *kit) pending(asker bridge.AgentID, conv bridge.ConversationID) bridge.Quota {
	k.Helper()
	return got(k.CountPending(k.Context(), asker, conv, bridge.Quota{Asker: 1000, Conversation: 1000}))(k)
}

var quotas = []promise{
	{"pending questions are counted by asker and by conversation", func(k *kit) {
		k.is("at first", k.pending(agent, room), bridge.Quota{})
		k.ask()
		gone := k.ask()
		k.ask(func(q *bridge.Question) { q.Conversation = "!another:example.org" })
		k.ask(func(q *bridge.Question) { q.Asker = "another" })
		k.is("asked", k.pending(agent, room), bridge.Quota{Asker: 3, Conversation: 3})
		k.settle(answered(gone.ID, 1, start))
		k.is("after an answer", k.pending(agent, room), bridge.Quota{Asker: 2, Conversation: 2})
		k.is("elsewhere", k.pending("another", "!another:example.org"), bridge.Quota{Asker: 1, Conversation: 1})
	}},
	{"a count goes no further than its bound, and nowhere with none", func(k *kit) {
		for range 4 {
			k.ask()
		}
		for _, bound := range []bridge.Quota{{Asker: 3, Conversation: 2}, {Asker: 3}, {Conversation: 2}, {}} {
			k.is("bounded", got(k.CountPending(k.Context(), agent, room, bound))(k), bound)
		}
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
	parallel(many, func(i int) {
		stored := false
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			q := asking[i]
			pending, err := k.CountPending(ctx, q.Asker, q.Conversation, quota)
			if stored = err == nil && pending != quota; !stored {
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
	k.is("stored", in.Load(), int32(few))
}
