package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

var questions = []promise{
	{"a question comes back with every field", func(k *kit) {
		q := filled[bridge.Question]()
		q.State, q.Answer, q.SettledAt, q.CancelledBy, q.DismissedBy, q.Reason = bridge.Pending, nil, nil, "", "", ""
		q.Delivery.State = bridge.Posted
		k.OK(k.CreateQuestion(k.Context(), q))
		k.Is("question", k.stored(q.ID), q)
		k.Is("by elicitation", demand.Got(k.QuestionByElicitation(k.Context(), q.Asker, q.ElicitationID))(k), q)
		all, _, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: q.Asker, CorrelationID: q.CorrelationID, Limit: 1})
		k.OK(err)
		k.Is("in a list", all, []bridge.Question{q})
	}},
	{"what is absent stays absent", func(k *kit) {
		q := k.ask(func(q *bridge.Question) { q.Items = []bridge.Item{{Prompt: "Why?"}} })
		k.Is("question", k.stored(q.ID), q)
		empty := ""
		q = k.ask(func(q *bridge.Question) { q.CorrelationID, q.ReplyTo, q.Data = &empty, &empty, json.RawMessage("{}") })
		k.Is("question with empty texts", k.stored(q.ID), q)
	}},
	{"times are kept to the millisecond, in UTC", func(k *kit) {
		zone := time.FixedZone("somewhere", 3600)
		at := start.Add(1234*time.Microsecond + 567).In(zone)
		q := k.ask(func(q *bridge.Question) {
			q.CreatedAt, q.ExpiresAt, q.ForgetAfter, q.RemindAt, q.EscalateAt = at, at.Add(time.Hour), at.Add(2*time.Hour), &at, &at
			q.Subject = &bridge.Subject{LapsesAt: &at}
		})
		want := after(1)
		q.CreatedAt, q.ExpiresAt, q.ForgetAfter, q.RemindAt, q.EscalateAt = want, want.Add(time.Hour), want.Add(2*time.Hour), &want, &want
		q.Subject = &bridge.Subject{LapsesAt: &want}
		k.Is("question", k.stored(q.ID), q)
		settled := k.settle(answered(q.ID, 1, at))
		k.Is("settled at", *settled.SettledAt, want)
		k.Is("answered at", settled.Answer.At, want)
		k.Is("read again", k.stored(q.ID), settled)
	}},
	{"an equal elicitation id of the same asker is a conflict", func(k *kit) {
		first := k.ask()
		second := k.question()
		second.ElicitationID = first.ElicitationID
		k.code("create", k.CreateQuestion(k.Context(), second), bridge.CodeElicitationConflict)
		_, err := k.Question(k.Context(), second.ID)
		k.code("the second", err, bridge.CodeNotFound)
		k.Is("the first", k.stored(first.ID), first)
		second.Asker = "another"
		k.OK(k.CreateQuestion(k.Context(), second))
		k.Is("of another asker", demand.Got(k.QuestionByElicitation(k.Context(), "another", first.ElicitationID))(k).ID, second.ID)
	}},
	{"a transaction goes on after a conflict", func(k *kit) {
		first := k.ask()
		second := k.question()
		second.ElicitationID = first.ElicitationID
		third := k.question()
		k.OK(k.Atomically(k.Context(), func(ctx context.Context) error {
			k.code("create", k.CreateQuestion(ctx, second), bridge.CodeElicitationConflict)
			k.Is("the first", demand.Got(k.QuestionByElicitation(ctx, agent, first.ElicitationID))(k).ID, first.ID)
			return k.CreateQuestion(ctx, third)
		}))
		k.Is("the third", k.stored(third.ID), third)
	}},
	{"of equal questions asked at once one is stored", func(k *kit) {
		var asked []bridge.Question
		for range 20 {
			q := k.question()
			q.ElicitationID = "the same"
			asked = append(asked, q)
		}
		errs := make([]error, len(asked))
		demand.Parallel(len(asked), func(i int) { errs[i] = k.CreateQuestion(k.Context(), asked[i]) })
		kept := demand.Got(k.QuestionByElicitation(k.Context(), agent, "the same"))(k)
		for i, err := range errs {
			if asked[i].ID == kept.ID {
				k.OK(err)
			} else {
				k.code("a later one", err, bridge.CodeElicitationConflict)
			}
		}
	}},
	{"a question that is not pending is not created", func(k *kit) {
		q := k.question()
		q.State = bridge.Answered
		if err := k.CreateQuestion(k.Context(), q); err == nil {
			k.Error("it was")
		}
	}},
	{"unknown ids are not found", func(k *kit) {
		ctx, id := k.Context(), bridge.QuestionID("q_none")
		_, e1 := k.Question(ctx, id)
		_, e2 := k.QuestionByElicitation(ctx, agent, "none")
		_, _, e3 := k.Settle(ctx, answered(id, 1, start))
		_, e4 := k.Posting(ctx, id)
		_, e5 := k.Advance(ctx, id, 0, nil, false)
		_, e6 := k.FirstTime(ctx, id, "key")
		_, e7 := k.KeepResponse(ctx, response("key", id))
		for what, err := range map[string]error{
			"Question": e1, "QuestionByElicitation": e2, "Settle": e3, "Posting": e4, "Advance": e5, "FirstTime": e6, "KeepResponse": e7,
			"SetDelivery":    k.SetDelivery(ctx, id, bridge.Delivery{State: bridge.Posted}),
			"MoveQuestion":   k.MoveQuestion(ctx, id, room),
			"SavePosting":    k.SavePosting(ctx, bridge.Posting{Question: id, Conversation: room, ChangedAt: start}),
			"LinkMessage":    k.LinkMessage(ctx, room, "$m", id),
			"SeenMessage":    k.SeenMessage(ctx, bridge.Echo{Question: id, Conversation: room, Message: "$m", Seq: 1, SentAt: start}),
			"KeepReply":      k.KeepReply(ctx, bridge.Reply{ID: "$r", Conversation: room, Question: id}),
			"AddEffects":     k.AddEffects(ctx, bridge.Effect{Kind: bridge.EffectTell, Question: id, Due: start}),
			"FinishEffect":   k.FinishEffect(ctx, 4711),
			"PostponeEffect": k.PostponeEffect(ctx, 4711, start, ""),
			"RetryEffect":    k.RetryEffect(ctx, 4711, start, ""),
			"FailEffect":     k.FailEffect(ctx, 4711, ""),
		} {
			k.code(what, err, bridge.CodeNotFound)
			var shown *bridge.Error
			if errors.As(err, &shown) && shown.Reason == "" {
				k.Errorf("%s: no reason", what)
			}
		}
	}},
	{"a transaction goes on after something was not found", func(k *kit) {
		q := k.question()
		k.OK(k.Atomically(k.Context(), func(ctx context.Context) error {
			k.code("AddEffects", k.AddEffects(ctx, bridge.Effect{Kind: bridge.EffectTell, Question: "q_none", Due: start}), bridge.CodeNotFound)
			k.code("LinkMessage", k.LinkMessage(ctx, room, "$m", "q_none"), bridge.CodeNotFound)
			return k.CreateQuestion(ctx, q)
		}))
		k.Is("question", k.stored(q.ID), q)
	}},
	{"delivery is recorded", func(k *kit) {
		q := k.ask()
		q.Delivery = bridge.Delivery{State: bridge.Failed, Message: "$m", Reason: "redacted"}
		k.OK(k.SetDelivery(k.Context(), q.ID, q.Delivery))
		k.Is("question", k.stored(q.ID), q)
	}},
	{"a moved question is queued elsewhere, at the step where it stood", func(k *kit) {
		q := k.ask()
		p := bridge.Posting{Question: q.ID, Conversation: room, Messages: []bridge.Message{{ID: "$old", PostedAt: start}}, Progress: json.RawMessage(`1`), Moving: true, ChangedAt: start}
		k.OK(k.SavePosting(k.Context(), p))
		k.OK(k.SetDelivery(k.Context(), q.ID, bridge.Delivery{State: bridge.Posted, Message: "$old"}))
		k.OK(k.MoveQuestion(k.Context(), q.ID, "!new:example.org"))
		q.Conversation = "!new:example.org"
		k.Is("question", k.stored(q.ID), q)
		p.Conversation, p.Messages, p.Moving = "!new:example.org", nil, false
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
		k.Is("old message", only(k.QuestionOf(k.Context(), room, "$old"))(k), q.ID)
		k.Is("pending here", len(demand.Got(k.PendingIn(k.Context(), room, 9))(k)), 0)
		k.Is("pending there", len(demand.Got(k.PendingIn(k.Context(), "!new:example.org", 9))(k)), 1)
	}},
	{"a settled question does not move", func(k *kit) {
		q := k.settle(answered(k.ask().ID, 1, start))
		k.OK(k.MoveQuestion(k.Context(), q.ID, "!new:example.org"))
		k.Is("question", k.stored(q.ID), q)
	}},
}

var lists = []promise{
	{"newest first, of this asker alone", func(k *kit) {
		a, b := k.ask(), k.ask()
		k.ask(func(q *bridge.Question) { q.Asker = "another" })
		all, next, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, Limit: 10})
		k.OK(err)
		k.Is("list", all, []bridge.Question{b, a})
		k.Is("next", next, "")
	}},
	{"by state and correlation id", func(k *kit) {
		one, two := "one", "two"
		a := k.ask(func(q *bridge.Question) { q.CorrelationID = &one })
		k.ask(func(q *bridge.Question) { q.CorrelationID = &two })
		c := k.ask(func(q *bridge.Question) { q.CorrelationID = &one })
		k.ask()
		c = k.settle(answered(c.ID, 1, start))
		all, _, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, CorrelationID: &one, Limit: 10})
		k.OK(err)
		k.Is("one", all, []bridge.Question{c, a})
		all, _, err = k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, CorrelationID: &one, State: bridge.Pending, Limit: 10})
		k.OK(err)
		k.Is("one, pending", all, []bridge.Question{a})
		all, _, err = k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, State: bridge.Answered, Limit: 10})
		k.OK(err)
		k.Is("answered", all, []bridge.Question{c})
	}},
	{"pages are complete, also while questions are added", func(k *kit) {
		var want []bridge.QuestionID
		for i := range 25 {
			// Several were asked in the same millisecond.
			q := k.ask(func(q *bridge.Question) { q.CreatedAt = after(i / 4) })
			want = append(want, q.ID)
		}
		var seen []bridge.QuestionID
		last, next := start.Add(time.Hour), ""
		for page := 0; ; page++ {
			all, cursor, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, Limit: 4, Cursor: next})
			k.OK(err)
			for _, q := range all {
				if q.CreatedAt.After(last) {
					k.Fatalf("page %d is not in order", page)
				}
				last = q.CreatedAt
				seen = append(seen, q.ID)
			}
			if next = cursor; next == "" {
				break
			}
			k.ask(func(q *bridge.Question) { q.CreatedAt = after(1000 + page) })
		}
		slices.Sort(seen)
		slices.Sort(want)
		k.Is("seen", seen, want)
	}},
	{"the last page has no cursor", func(k *kit) {
		k.ask()
		k.ask()
		all, next, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, Limit: 2})
		k.OK(err)
		k.Is("length", len(all), 2)
		k.Is("next", next, "")
	}},
	{"a conversation, whoever asked: newest first, in every state, by pages", func(k *kit) {
		var want []bridge.QuestionID
		pages := func(l bridge.Listing) (seen []bridge.QuestionID) {
			for l.Conversation, l.Limit = room, 3; ; {
				all, next, err := k.ListQuestions(k.Context(), l)
				k.OK(err)
				for _, q := range all {
					k.Is("question", q, k.stored(q.ID))
					seen = append(seen, q.ID)
				}
				if l.Cursor = next; next == "" {
					return seen
				}
			}
		}
		k.Is("none", pages(bridge.Listing{}), want)
		byState := map[bridge.State][]bridge.QuestionID{}
		for i := range 12 { // several in the same millisecond
			q := k.ask(func(q *bridge.Question) {
				q.Asker, q.CreatedAt = bridge.AgentID(fmt.Sprintf("agent%d", i%2)), after(i/3)
				if i%4 == 3 {
					q.ExpiresAt = after(i + 10)
				}
			})
			k.ask(func(q *bridge.Question) { q.Conversation, q.CreatedAt = "!other:example.org", after(i/3) })
			want = append(want, q.ID)
		}
		for i, id := range want {
			switch i % 4 {
			case 1:
				k.settle(answered(id, 1, start))
			case 2:
				k.settle(bridge.Settlement{Question: id, State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, At: start})
			}
		}
		demand.Got(k.ExpireDue(k.Context(), after(100), 10))(k)
		slices.SortFunc(want, func(a, b bridge.QuestionID) int { return k.stored(a).Place().Compare(k.stored(b).Place()) })
		for _, id := range want {
			state := k.stored(id).State
			byState[state] = append(byState[state], id)
		}
		k.Is("all", pages(bridge.Listing{}), want)
		k.Is("states", len(byState), 4)
		for state, ids := range byState {
			k.Is(string(state), pages(bridge.Listing{State: state}), ids)
		}
	}},
	{"a foreign cursor is refused", func(k *kit) {
		for _, cursor := range []string{"x", "!", "MTIz", "IDEyMw", "eCB5"} {
			_, _, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, Limit: 2, Cursor: cursor})
			k.code(cursor, err, bridge.CodeInvalidCursor)
		}
	}},
	{"the pending ones of a conversation, oldest first", func(k *kit) {
		a, b, c := k.ask(), k.ask(), k.ask()
		k.ask(func(q *bridge.Question) { q.Conversation = "!other:example.org" })
		k.settle(answered(b.ID, 1, start))
		k.Is("all", demand.Got(k.PendingIn(k.Context(), room, 10))(k), []bridge.Question{a, c})
		k.Is("one", demand.Got(k.PendingIn(k.Context(), room, 1))(k), []bridge.Question{a})
	}},
	{"the pending ones of several conversations, newest first, from a place on", func(k *kit) {
		const other, third = "!other:example.org", "!third:example.org"
		var want []bridge.Question // several of them were asked in the same millisecond
		for i := range 12 {
			q := k.ask(func(q *bridge.Question) {
				q.CreatedAt = after(i / 3)
				q.Conversation = []bridge.ConversationID{room, other, third}[i%3]
			})
			if q.Conversation != third {
				want = append(want, q)
			}
		}
		done := want[3]
		k.settle(answered(done.ID, 1, start))
		want = slices.DeleteFunc(want, func(q bridge.Question) bool { return q.ID == done.ID })
		slices.SortFunc(want, func(a, b bridge.Question) int { return a.Place().Compare(b.Place()) })
		both := []bridge.ConversationID{room, other}
		k.Is("all", demand.Got(k.PendingAfter(k.Context(), both, nil, 99))(k), want)
		for i, q := range want {
			place := demand.Got(bridge.ReadCursor(q.Place().Cursor()))(k)
			rest := demand.Got(k.PendingAfter(k.Context(), both, &place, 99))(k)
			k.Is("length", len(rest), len(want)-1-i)
			if len(rest) > 0 {
				k.Is("the rest", rest, want[i+1:])
			}
		}
		k.Is("some", demand.Got(k.PendingAfter(k.Context(), both, nil, 2))(k), want[:2])
		k.Is("of no conversation", len(demand.Got(k.PendingAfter(k.Context(), nil, nil, 9))(k)), 0)
	}},
	{"whether one was settled after a time", func(k *kit) {
		q := k.ask()
		k.Is("before", demand.Got(k.SettledSince(k.Context(), room, start))(k), false)
		k.settle(answered(q.ID, 1, after(10)))
		k.Is("after 9 ms", demand.Got(k.SettledSince(k.Context(), room, after(9)))(k), true)
		k.Is("after 10 ms", demand.Got(k.SettledSince(k.Context(), room, after(10)))(k), false)
		k.Is("elsewhere", demand.Got(k.SettledSince(k.Context(), "!other:example.org", start))(k), false)
	}},
}
