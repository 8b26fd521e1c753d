package storetest

import (
	"fmt"
	"sync"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

var effects = []promise{
	{"an effect comes back with every field", func(k *kit) {
		q := k.ask()
		e := filled[bridge.Effect]()
		e.Question = q.ID
		k.OK(k.AddEffects(k.Context(), e))
		claimed, _ := k.claim(e.Due, 10)
		k.Is("number", len(claimed), 1)
		e.ID, e.Attempts, e.Failures, e.Due = claimed[0].ID, 1, 0, e.Due.Add(time.Minute)
		k.Is("effect", claimed[0], e)
	}},
	{"an effect without payload or question", func(k *kit) {
		k.OK(k.AddEffects(k.Context(), bridge.Effect{Kind: "k", Key: "a", Due: start}, bridge.Effect{Kind: "k", Key: "b", Due: start}))
		claimed, keys := k.claim(start, 10)
		k.Is("both at once", keys, []string{"a", "b"})
		k.Is("payload", claimed[0].Payload == nil, true)
		k.Is("question", claimed[0].Question, bridge.QuestionID(""))
		k.OK(k.AddEffects(k.Context()))
	}},
	{"none is given out before it is due", func(k *kit) {
		q := k.ask()
		k.add(q.ID, "a")
		_, keys := k.claim(after(-1), 10)
		k.Is("early", len(keys), 0)
		_, keys = k.claim(start, 10)
		k.Is("due", keys, []string{"a"})
	}},
	{"those of one question come one after the other, in the order they were added", func(k *kit) {
		q := k.ask()
		k.OK(k.AddEffects(k.Context(),
			bridge.Effect{Kind: "k", Question: q.ID, Key: "a", Due: after(2)},
			bridge.Effect{Kind: "k", Question: q.ID, Key: "b", Due: after(1)},
			bridge.Effect{Kind: "k", Question: q.ID, Key: "c", Due: start},
		))
		_, keys := k.claim(after(1), 10)
		k.Is("while the first is not due", len(keys), 0)
		for _, want := range []string{"a", "b", "c"} {
			claimed, keys := k.claim(after(2), 10)
			k.Is("claimed", keys, []string{want})
			_, keys = k.claim(after(2), 10)
			k.Is("meanwhile", len(keys), 0)
			k.OK(k.FinishEffect(k.Context(), claimed[0].ID))
		}
		absent(k.NextEffect(k.Context()))(k)
	}},
	{"lanes and questions do not wait for each other", func(k *kit) {
		a, b := k.ask(), k.ask()
		k.add(a.ID, "a1", "a2")
		k.OK(k.AddEffects(k.Context(), bridge.Effect{Kind: "k", Lane: "hook", Question: a.ID, Key: "a-hook", Due: start}))
		k.add(b.ID, "b1")
		_, keys := k.claim(start, 10)
		k.Is("claimed", keys, []string{"a1", "a-hook", "b1"})
	}},
	{"at most the limit, those that are due longest", func(k *kit) {
		for i, due := range []int{3, 1, 2} {
			k.OK(k.AddEffects(k.Context(), bridge.Effect{Kind: "k", Question: k.ask().ID, Key: fmt.Sprint(i), Due: after(due)}))
		}
		_, keys := k.claim(after(9), 2)
		k.Is("claimed", keys, []string{"1", "2"})
	}},
	{"a lease keeps others out until it ends, and each claim is an attempt", func(k *kit) {
		k.add(k.ask().ID, "a")
		claimed, _ := k.claim(start, 10)
		k.Is("attempts", claimed[0].Attempts, 1)
		_, keys := k.claim(start.Add(time.Minute-time.Millisecond), 10)
		k.Is("during the lease", len(keys), 0)
		k.Is("next", only(k.NextEffect(k.Context()))(k), start.Add(time.Minute))
		claimed, keys = k.claim(start.Add(time.Minute), 10)
		k.Is("after it", keys, []string{"a"})
		k.Is("attempts", claimed[0].Attempts, 2)
	}},
	{"a postponed effect is due again later, and holds up its question", func(k *kit) {
		q := k.ask()
		k.add(q.ID, "a", "b")
		claimed, _ := k.claim(start, 10)
		k.OK(k.PostponeEffect(k.Context(), claimed[0].ID, after(500), "busy"))
		k.Is("next", only(k.NextEffect(k.Context()))(k), after(500))
		_, keys := k.claim(after(499), 10)
		k.Is("early", len(keys), 0)
		claimed, keys = k.claim(after(500), 10)
		k.Is("due", keys, []string{"a"})
		k.Is("attempts", claimed[0].Attempts, 2)
		k.Is("failures", claimed[0].Failures, 0)
	}},
	{"a retried effect is due again later, and has failed once more", func(k *kit) {
		k.add(k.ask().ID, "a")
		for failures := range 3 {
			claimed, _ := k.claim(after(failures), 10)
			k.Is("failures", claimed[0].Failures, failures)
			k.OK(k.RetryEffect(k.Context(), claimed[0].ID, after(failures+1), "broken"))
			_, keys := k.claim(after(failures), 10)
			k.Is("early", len(keys), 0)
		}
	}},
	{"a failed effect is out of the way", func(k *kit) {
		q := k.ask()
		k.add(q.ID, "a", "b")
		claimed, _ := k.claim(start, 10)
		k.OK(k.FailEffect(k.Context(), claimed[0].ID, "gone"))
		_, keys := k.claim(start, 10)
		k.Is("claimed", keys, []string{"b"})
		_, keys = k.claim(start.Add(time.Hour), 10)
		k.Is("later", keys, []string{"b"})
		k.code("postpone it", k.PostponeEffect(k.Context(), claimed[0].ID, start, ""), bridge.CodeNotFound)
	}},
	{"hastened effects are due now, except a claimed one and other lanes", func(k *kit) {
		a, b := k.ask(), k.ask()
		later := start.Add(time.Hour)
		k.OK(k.AddEffects(k.Context(),
			bridge.Effect{Kind: "k", Question: a.ID, Key: "a", Due: later},
			bridge.Effect{Kind: "k", Question: a.ID, Lane: "remind", Key: "a-remind", Due: later},
			bridge.Effect{Kind: "k", Question: b.ID, Key: "b", Due: later},
		))
		k.OK(k.HastenEffects(k.Context(), a.ID, start))
		k.Is("next", only(k.NextEffect(k.Context()))(k), start)
		claimed, keys := k.claim(start, 10)
		k.Is("claimed", keys, []string{"a"})
		k.OK(k.HastenEffects(k.Context(), a.ID, start))
		_, keys = k.claim(after(1), 10)
		k.Is("while claimed", len(keys), 0)
		k.OK(k.PostponeEffect(k.Context(), claimed[0].ID, later, ""))
		k.OK(k.HastenEffects(k.Context(), a.ID, after(2)))
		_, keys = k.claim(after(2), 10)
		k.Is("postponed and hastened", keys, []string{"a"})
	}},
	{"hastening delays nothing", func(k *kit) {
		q := k.ask()
		k.add(q.ID, "a")
		k.OK(k.HastenEffects(k.Context(), q.ID, after(100)))
		k.Is("next", only(k.NextEffect(k.Context()))(k), start)
	}},
	{"the next effect is the next that can be claimed", func(k *kit) {
		absent(k.NextEffect(k.Context()))(k)
		q := k.ask()
		k.OK(k.AddEffects(k.Context(),
			bridge.Effect{Kind: "k", Question: q.ID, Key: "a", Due: after(10)},
			bridge.Effect{Kind: "k", Question: q.ID, Key: "b", Due: after(5)}, // waits for a
		))
		k.Is("next", only(k.NextEffect(k.Context()))(k), after(10))
	}},
	{"many effects at once", func(k *kit) {
		q := k.ask()
		many := make([]bridge.Effect, 1201)
		for i := range many {
			many[i] = bridge.Effect{Kind: "k", Lane: fmt.Sprint(i), Question: q.ID, Key: fmt.Sprint(i), Due: start}
		}
		k.OK(k.AddEffects(k.Context(), many...))
		claimed, _ := k.claim(start, 2000)
		k.Is("claimed", len(claimed), len(many))
		for i := range claimed {
			k.Is("order", claimed[i].Key, many[i].Key)
		}
	}},
}

var workers = []promise{
	{"workers at once never have the same effect, and keep the order of each question", func(k *kit) {
		const n, each = 20, 6
		var ids []bridge.QuestionID
		for range n {
			ids = append(ids, k.ask().ID)
		}
		for i := range each {
			for _, id := range ids {
				k.add(id, fmt.Sprint(i))
			}
		}
		var mu sync.Mutex
		running, done := map[bridge.QuestionID]int{}, map[bridge.QuestionID][]string{}
		total := 0
		deadline := time.Now().Add(time.Minute)
		demand.Parallel(6, func(int) {
			for time.Now().Before(deadline) {
				claimed, err := k.ClaimEffects(k.Context(), start, time.Hour, 3)
				if err != nil {
					k.Error(err)
					return
				}
				mu.Lock()
				for _, e := range claimed {
					if running[e.Question]++; running[e.Question] > 1 || e.Attempts != 1 {
						k.Errorf("%s: %d at once, attempt %d", e.Question, running[e.Question], e.Attempts)
					}
					done[e.Question] = append(done[e.Question], e.Key)
				}
				mu.Unlock()
				for _, e := range claimed {
					mu.Lock()
					running[e.Question]--
					total++
					mu.Unlock()
					if err := k.FinishEffect(k.Context(), e.ID); err != nil {
						k.Error(err)
						return
					}
				}
				mu.Lock()
				enough := total == n*each
				mu.Unlock()
				if enough {
					return
				}
			}
			k.Error("not done within a minute")
		})
		for _, id := range ids {
			k.Is(string(id), done[id], []string{"0", "1", "2", "3", "4", "5"})
		}
	}},
	{"effects added at once by several are claimed in one order", func(k *kit) {
		q := k.ask()
		demand.Parallel(8, func(i int) {
			for j := range 5 {
				e := bridge.Effect{Kind: "k", Question: q.ID, Key: fmt.Sprintf("%d/%d", i, j), Due: start}
				if err := k.AddEffects(k.Context(), e); err != nil {
					k.Error(err)
				}
			}
		})
		last := map[byte]byte{}
		var id int64
		for range 40 {
			claimed, keys := k.claim(start, 10)
			k.Is("number", len(claimed), 1)
			if claimed[0].ID <= id {
				k.Fatalf("%d after %d", claimed[0].ID, id)
			}
			id = claimed[0].ID
			who, which := keys[0][0], keys[0][2]
			if which < last[who] {
				k.Fatalf("%s came late", keys[0])
			}
			last[who] = which
			k.OK(k.FinishEffect(k.Context(), id))
		}
	}},
}
