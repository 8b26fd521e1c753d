package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

func messages(ids ...bridge.MessageID) (all []bridge.Message) {
	for i, id := range ids {
		all = append(all, bridge.Message{ID: id, PostedAt: after(i), Item: i})
	}
	return all
}

var postings = []promise{
	{"a question never posted has an empty posting", func(k *kit) {
		q := k.ask()
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), bridge.Posting{Question: q.ID, Conversation: room})
	}},
	{"a posting comes back with every field", func(k *kit) {
		q := k.ask()
		p := filled[bridge.Posting]()
		p.Question, p.Revision = q.ID, 0
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
	}},
	{"a posting is replaced whole, and its messages stay linked", func(k *kit) {
		q := k.ask()
		p := bridge.Posting{Question: q.ID, Conversation: room, Messages: messages("$a", "$b"), Progress: json.RawMessage(`{"step":1}`), Moving: true, ChangedAt: after(1)}
		k.OK(k.SavePosting(k.Context(), p))
		p.Messages, p.Progress, p.Moving, p.ChangedAt = messages("$c"), nil, false, after(2)
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
		for _, m := range []bridge.MessageID{"$a", "$b", "$c"} {
			k.Is(string(m), only(k.QuestionOf(k.Context(), room, m))(k), q.ID)
		}
		p.Messages = nil
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("without messages", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
	}},
	{"large progress comes back byte for byte", func(k *kit) {
		q := k.ask()
		p := bridge.Posting{Question: q.ID, Conversation: room, Progress: json.RawMessage(`{ "x" : "` + strings.Repeat("é<", 100_000) + `" }`), ChangedAt: start}
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
	}},
	{"messages belong to a question within their conversation", func(k *kit) {
		a, b := k.ask(), k.ask()
		k.OK(k.LinkMessage(k.Context(), room, "$m", a.ID))
		k.OK(k.LinkMessage(k.Context(), "!other:example.org", "$m", b.ID))
		k.Is("here", only(k.QuestionOf(k.Context(), room, "$m"))(k), a.ID)
		k.Is("there", only(k.QuestionOf(k.Context(), "!other:example.org", "$m"))(k), b.ID)
		absent(k.QuestionOf(k.Context(), room, "$other"))(k)
	}},
	{"a linked message stays with its first question", func(k *kit) {
		a, b := k.ask(), k.ask()
		k.OK(k.LinkMessage(k.Context(), room, "$m", a.ID))
		k.OK(k.LinkMessage(k.Context(), room, "$m", b.ID))
		k.Is("of", only(k.QuestionOf(k.Context(), room, "$m"))(k), a.ID)
	}},
	{"an echo counts whether it comes before the posting or after", func(k *kit) {
		q := k.ask()
		echo := func(m bridge.MessageID, seq int64, at int) {
			k.OK(k.SeenMessage(k.Context(), bridge.Echo{Question: q.ID, Conversation: room, Message: m, Seq: seq, SentAt: after(at)}))
		}
		seen := messages("$a", "$b")
		seen[0].Seq, seen[0].PostedAt, seen[1].Seq, seen[1].PostedAt = 7, after(70), 9, after(90)
		echo("$a", 7, 70)
		k.Is("of", only(k.QuestionOf(k.Context(), room, "$a"))(k), q.ID)
		k.OK(k.SavePosting(k.Context(), bridge.Posting{Question: q.ID, Conversation: room, Messages: messages("$a", "$b"), ChangedAt: start}))
		echo("$b", 9, 90)
		p := demand.Got(k.Posting(k.Context(), q.ID))(k)
		k.Is("messages", p.Messages, seen)
		p.Messages[0].Seq, p.Messages[0].PostedAt = 0, after(1)
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("saved again", demand.Got(k.Posting(k.Context(), q.ID))(k).Messages, seen)
		echo("$a", 11, 110)
		k.Is("seen again", demand.Got(k.Posting(k.Context(), q.ID))(k).Messages, seen)
	}},
	{"an aside is kept, linked and seen as a message is, and is none", func(k *kit) {
		q := k.ask()
		a := bridge.Aside{Message: messages("$aside")[0], To: "@u1:example.org", About: "$e1"}
		p := bridge.Posting{Question: q.ID, Conversation: room, Messages: messages("$a"), Asides: []bridge.Aside{a}, ChangedAt: start}
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
		k.Is("of", only(k.QuestionOf(k.Context(), room, "$aside"))(k), q.ID)
		k.OK(k.SeenMessage(k.Context(), bridge.Echo{Question: q.ID, Conversation: room, Message: "$aside", Seq: 7, SentAt: after(70)}))
		p.Asides[0].Seq, p.Asides[0].PostedAt = 7, after(70)
		k.Is("seen", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
		k.Is("advanced", demand.Got(k.Advance(k.Context(), q.ID, 0, nil, false))(k), true)
		k.Is("asides after an advance", demand.Got(k.Posting(k.Context(), q.ID))(k).Asides, p.Asides)
		k.OK(k.MoveQuestion(k.Context(), q.ID, "!elsewhere:example.org"))
		k.Is("asides elsewhere", len(demand.Got(k.Posting(k.Context(), q.ID))(k).Asides), 0)
	}},
	{"an advance moves the revision on", func(k *kit) {
		q := k.ask()
		p := bridge.Posting{Question: q.ID, Conversation: room, Messages: messages("$a"), Progress: json.RawMessage(`0`), ChangedAt: after(5)}
		k.OK(k.SavePosting(k.Context(), p))
		k.Is("advanced", demand.Got(k.Advance(k.Context(), q.ID, 0, json.RawMessage(`{"step": 2}`), true))(k), true)
		p.Revision, p.Progress, p.Moving = 1, json.RawMessage(`{"step": 2}`), true
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
		k.Is("question", k.stored(q.ID).Revision, 1)
		k.Is("the same again", demand.Got(k.Advance(k.Context(), q.ID, 0, nil, false))(k), false)
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
		k.Is("quietly", demand.Got(k.Advance(k.Context(), q.ID, 1, json.RawMessage(`3`), false))(k), true)
		p.Revision, p.Progress, p.Moving = 2, json.RawMessage(`3`), false
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), p)
	}},
	{"a settled question does not advance", func(k *kit) {
		q := k.ask()
		k.settle(answered(q.ID, 1, start))
		k.Is("advanced", demand.Got(k.Advance(k.Context(), q.ID, 0, json.RawMessage(`1`), true))(k), false)
		k.Is("posting", demand.Got(k.Posting(k.Context(), q.ID))(k), bridge.Posting{Question: q.ID, Conversation: room})
	}},
	{"a question that was never posted can advance", func(k *kit) {
		q := k.ask()
		k.Is("advanced", demand.Got(k.Advance(k.Context(), q.ID, 0, json.RawMessage(`1`), false))(k), true)
		p := demand.Got(k.Posting(k.Context(), q.ID))(k)
		k.Is("progress", p.Progress, json.RawMessage(`1`))
		k.Is("messages", len(p.Messages), 0)
	}},
	{"of advances at once one wins", func(k *kit) {
		q := k.ask()
		for revision := range 5 {
			var winners, winner atomic.Int32
			demand.Parallel(10, func(i int) {
				moved, err := k.Advance(k.Context(), q.ID, revision, json.RawMessage(fmt.Sprint(i)), false)
				if err != nil {
					k.Error(err)
				}
				if moved {
					winners.Add(1)
					winner.Store(int32(i))
				}
			})
			k.Is("winners", winners.Load(), int32(1))
			p := demand.Got(k.Posting(k.Context(), q.ID))(k)
			k.Is("progress", string(p.Progress), fmt.Sprint(winner.Load()))
			k.Is("revision", p.Revision, revision+1)
		}
	}},
}

var replies = []promise{
	{"a reply is kept, replaced and dropped", func(k *kit) {
		q := k.ask()
		r := filled[bridge.Reply]()
		r.Question = q.ID
		absent(k.Reply(k.Context(), r.ID))(k)
		k.OK(k.KeepReply(k.Context(), r))
		k.Is("reply", only(k.Reply(k.Context(), r.ID))(k), r)
		r.Step++
		k.OK(k.KeepReply(k.Context(), r))
		k.Is("replaced", only(k.Reply(k.Context(), r.ID))(k), r)
		k.OK(k.DropReply(k.Context(), r.ID))
		absent(k.Reply(k.Context(), r.ID))(k)
		k.OK(k.DropReply(k.Context(), r.ID))
	}},
	{"a key is new once for each question", func(k *kit) {
		a, b := k.ask(), k.ask()
		k.Is("first", demand.Got(k.FirstTime(k.Context(), a.ID, "key"))(k), true)
		k.Is("again", demand.Got(k.FirstTime(k.Context(), a.ID, "key"))(k), false)
		k.Is("another key", demand.Got(k.FirstTime(k.Context(), a.ID, "other"))(k), true)
		k.Is("another question", demand.Got(k.FirstTime(k.Context(), b.ID, "key"))(k), true)
	}},
	{"a key is new to one of many at once", func(k *kit) {
		q := k.ask()
		var news atomic.Int32
		demand.Parallel(30, func(int) {
			isNew, err := k.FirstTime(k.Context(), q.ID, "key")
			if err != nil {
				k.Error(err)
			}
			if isNew {
				news.Add(1)
			}
		})
		k.Is("new", news.Load(), int32(1))
	}},
	{"an interaction from elsewhere can be finished", func(k *kit) {
		k.OK(k.FinishInteraction(k.Context(), "$none"))
	}},
}
