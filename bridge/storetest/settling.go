package storetest

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

var settling = []promise{
	{"an answer settles", func(k *kit) {
		q := k.ask()
		a := filled[bridge.Answer]()
		settled := k.settle(bridge.Settlement{Question: q.ID, State: bridge.Answered, Revision: 0, Answer: &a, At: after(50)})
		at := after(50)
		q.State, q.Answer, q.SettledAt = bridge.Answered, &a, &at
		k.Is("returned", settled, q)
		k.Is("stored", k.stored(q.ID), q)
	}},
	{"a cancellation settles", func(k *kit) {
		q := k.ask()
		settled := k.settle(bridge.Settlement{Question: q.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, Reason: "edited", At: after(50)})
		at := after(50)
		q.State, q.CancelledBy, q.Reason, q.SettledAt = bridge.Cancelled, bridge.ByAsker, "edited", &at
		k.Is("returned", settled, q)
		k.Is("stored", k.stored(q.ID), q)
	}},
	{"a question that is dismissed keeps by whom", func(k *kit) {
		q := k.ask()
		settled := k.settle(bridge.Settlement{
			Question: q.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByResponder, DismissedBy: "@dana:example.org", At: after(50),
		})
		k.Is("by", settled.DismissedBy, bridge.UserID("@dana:example.org"))
		k.Is("stored", k.stored(q.ID), settled)
	}},
	{"a loser gets the question as it stands", func(k *kit) {
		q := k.ask()
		first := k.settle(answered(q.ID, 1, after(1)))
		for _, s := range []bridge.Settlement{
			answered(q.ID, 2, after(2)),
			{Question: q.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, At: after(2)},
		} {
			stands, won, err := k.Settle(k.Context(), s)
			k.OK(err)
			k.Is("won", won, false)
			k.Is("returned", stands, first)
		}
		k.Is("stored", k.stored(q.ID), first)
	}},
	{"an answer at the deadline is late", func(k *kit) {
		q := k.ask()
		for _, late := range []time.Time{q.ExpiresAt, q.ExpiresAt.Add(time.Millisecond)} {
			stands, won, err := k.Settle(k.Context(), answered(q.ID, 1, late))
			k.OK(err)
			k.Is("won", won, false)
			k.Is("returned", stands, q)
		}
		k.settle(answered(q.ID, 1, q.ExpiresAt.Add(-time.Millisecond)))
	}},
	{"a cancellation asks for no deadline", func(k *kit) {
		q := k.ask()
		k.settle(bridge.Settlement{Question: q.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, At: q.ExpiresAt})
	}},
	{"an answer to another revision loses", func(k *kit) {
		q := k.ask()
		k.Is("advanced", demand.Got(k.Advance(k.Context(), q.ID, 0, nil, false))(k), true)
		s := answered(q.ID, 1, after(1))
		for _, s.Revision = range []int{0, 2} {
			stands, won, err := k.Settle(k.Context(), s)
			k.OK(err)
			k.Is("won", won, false)
			k.Is("revision", stands.Revision, 1)
			k.Is("state", stands.State, bridge.Pending)
		}
		s.Revision = 1
		k.Is("revision", k.settle(s).Revision, 1)
	}},
	{"what is no settlement is refused", func(k *kit) {
		q := k.ask()
		for _, s := range []bridge.Settlement{
			{State: bridge.Answered},
			{State: bridge.Pending},
			{State: bridge.Expired},
			{State: "done", Answer: answer(1, start)},
			{State: bridge.Cancelled, Answer: answer(1, start)},
			{State: bridge.Answered, Answer: answer(1, start), CancelledBy: bridge.ByAsker},
			{State: bridge.Cancelled, CancelledBy: "nobody"},
			{State: bridge.Cancelled, CancelledBy: bridge.ByAsker, DismissedBy: "@dana:example.org"},
		} {
			s.Question, s.Revision, s.At = q.ID, -1, start
			if _, won, err := k.Settle(k.Context(), s); err == nil || won || bridge.CodeOf(err) != "" {
				k.Errorf("%s: won %t, error %v", demand.Shown(s), won, err)
			}
		}
		k.Is("stored", k.stored(q.ID), q)
	}},
	{"of 50 answers at once one wins, and the others get it", func(k *kit) {
		q := k.ask()
		stands, won := make([]bridge.Question, 50), make([]bool, 50)
		demand.Parallel(50, func(i int) {
			var err error
			if stands[i], won[i], err = k.Settle(k.Context(), answered(q.ID, i, after(i))); err != nil {
				k.Error(err)
			}
		})
		stored, winners := k.stored(q.ID), 0
		for i := range stands {
			k.Is("returned", stands[i], stored)
			if won[i] {
				winners++
				k.Is("winner", stored.Answer, answer(i, after(i)))
			}
		}
		k.Is("winners", winners, 1)
	}},
	{"answers race the sweep and a cancellation, and one move wins", func(k *kit) {
		for range 10 {
			q := k.ask()
			var moves atomic.Int32
			demand.Parallel(8, func(i int) {
				var won bool
				var err error
				switch i {
				case 0:
					var expired []bridge.Lapsed
					expired, err = k.ExpireDue(k.Context(), q.ExpiresAt, 10)
					won = len(expired) > 0
				case 1:
					_, won, err = k.Settle(k.Context(), bridge.Settlement{Question: q.ID, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, At: after(1)})
				default:
					_, won, err = k.Settle(k.Context(), answered(q.ID, i, q.ExpiresAt.Add(-time.Millisecond)))
				}
				if err != nil {
					k.Error(err)
				}
				if won {
					moves.Add(1)
				}
			})
			k.Is("moves", moves.Load(), int32(1))
			k.Is("settled", k.stored(q.ID).State.Terminal(), true)
		}
	}},
	{"an answer races an advance, and one of them is too late", func(k *kit) {
		for range 10 {
			q := k.ask()
			var answers, advances atomic.Int32
			demand.Parallel(6, func(i int) {
				if i%2 == 0 {
					s := answered(q.ID, i, after(1))
					s.Revision = 0
					if _, won, err := k.Settle(k.Context(), s); err != nil {
						k.Error(err)
					} else if won {
						answers.Add(1)
					}
					return
				}
				if moved, err := k.Advance(k.Context(), q.ID, 0, json.RawMessage(`{}`), false); err != nil {
					k.Error(err)
				} else if moved {
					advances.Add(1)
				}
			})
			k.Is("moves", answers.Load()+advances.Load(), int32(1))
			stored := k.stored(q.ID)
			k.Is("answered", stored.State == bridge.Answered, answers.Load() == 1)
			k.Is("revision", stored.Revision, int(advances.Load()))
		}
	}},
}

func lapsed(q bridge.Question) bridge.Lapsed {
	return bridge.Lapsed{ID: q.ID, Asker: q.Asker, Conversation: q.Conversation}
}

var deadlines = []promise{
	{"what is due expires, at the deadline and after", func(k *kit) {
		a, b, c := k.ask(), k.ask(), k.ask() // deadlines a millisecond apart
		expired := demand.Got(k.ExpireDue(k.Context(), b.ExpiresAt, 10))(k)
		at := b.ExpiresAt
		for _, q := range []*bridge.Question{&a, &b} {
			q.State, q.SettledAt = bridge.Expired, &at
		}
		k.Is("expired", expired, []bridge.Lapsed{lapsed(a), lapsed(b)})
		k.Is("stored", k.stored(a.ID), a)
		k.Is("stored", k.stored(b.ID), b)
		k.Is("the third", k.stored(c.ID), c)
		k.Is("again", len(demand.Got(k.ExpireDue(k.Context(), b.ExpiresAt, 10))(k)), 0)
	}},
	{"at most the limit expire, the earliest first", func(k *kit) {
		a, b, _ := k.ask(), k.ask(), k.ask()
		expired := demand.Got(k.ExpireDue(k.Context(), start.Add(2*time.Hour), 2))(k)
		k.Is("first", expired, []bridge.Lapsed{lapsed(a), lapsed(b)})
		k.Is("rest", len(demand.Got(k.ExpireDue(k.Context(), start.Add(2*time.Hour), 2))(k)), 1)
	}},
	{"what is settled does not expire", func(k *kit) {
		q := k.settle(answered(k.ask().ID, 1, start))
		k.Is("expired", len(demand.Got(k.ExpireDue(k.Context(), start.Add(2*time.Hour), 10))(k)), 0)
		k.Is("stored", k.stored(q.ID), q)
	}},
	{"sweeps at once expire each question once", func(k *kit) {
		for range 40 {
			k.ask()
		}
		var n atomic.Int32
		demand.Parallel(4, func(int) {
			for range 10 {
				expired, err := k.ExpireDue(k.Context(), start.Add(2*time.Hour), 5)
				if err != nil {
					k.Error(err)
				}
				n.Add(int32(len(expired)))
			}
		})
		k.Is("expired", n.Load(), int32(40))
	}},
	{"the next deadline", func(k *kit) {
		absent(k.NextDeadline(k.Context()))(k)
		a, b := k.ask(), k.ask()
		k.Is("next", only(k.NextDeadline(k.Context()))(k), a.ExpiresAt)
		k.settle(answered(a.ID, 1, start))
		k.Is("next", only(k.NextDeadline(k.Context()))(k), b.ExpiresAt)
		demand.Got(k.ExpireDue(k.Context(), b.ExpiresAt, 10))(k)
		absent(k.NextDeadline(k.Context()))(k)
	}},
	{"a settled question is forgotten in time, with everything that hangs on it", func(k *kit) {
		ctx := k.Context()
		q := k.ask()
		k.OK(k.SavePosting(ctx, bridge.Posting{Question: q.ID, Conversation: room, Messages: []bridge.Message{{ID: "$m", PostedAt: start}}, ChangedAt: start}))
		k.OK(k.KeepReply(ctx, bridge.Reply{ID: "$r", Conversation: room, Sender: "@u:example.org", Question: q.ID}))
		demand.Got(k.FirstTime(ctx, q.ID, "key"))(k)
		k.add(q.ID, "effect")
		k.settle(answered(q.ID, 1, start))
		k.Is("too early", demand.Got(k.Forget(ctx, q.ForgetAfter.Add(-time.Millisecond), 10))(k), 0)
		k.Is("in time", demand.Got(k.Forget(ctx, q.ForgetAfter, 10))(k), 1)
		_, err := k.Question(ctx, q.ID)
		k.code("question", err, bridge.CodeNotFound)
		absent(k.QuestionOf(ctx, room, "$m"))(k)
		absent(k.Reply(ctx, "$r"))(k)
		absent(k.NextEffect(ctx))(k)
		k.OK(k.CreateQuestion(ctx, q)) // nothing is in the way of its id
		k.Is("posting", demand.Got(k.Posting(ctx, q.ID))(k), bridge.Posting{Question: q.ID, Conversation: room})
		k.Is("first time", demand.Got(k.FirstTime(ctx, q.ID, "key"))(k), true)
	}},
	{"a pending question is not forgotten", func(k *kit) {
		q := k.ask()
		k.Is("forgotten", demand.Got(k.Forget(k.Context(), q.ForgetAfter.Add(time.Hour), 10))(k), 0)
		k.Is("stored", k.stored(q.ID), q)
	}},
	{"at most the limit are forgotten", func(k *kit) {
		for range 3 {
			k.settle(answered(k.ask().ID, 1, start))
		}
		long := start.Add(1000 * 24 * time.Hour)
		k.Is("first", demand.Got(k.Forget(k.Context(), long, 2))(k), 2)
		k.Is("rest", demand.Got(k.Forget(k.Context(), long, 2))(k), 1)
	}},
}
