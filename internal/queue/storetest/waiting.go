package storetest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

func seen(turn queue.Turn) func(*queue.Candidate) {
	return func(c *queue.Candidate) { c.LastSeenTurn = turn }
}

func cues(tokens ...string) func(*queue.Candidate) {
	return func(c *queue.Candidate) { c.CueTokens = tokens }
}

var waiting = []promise{
	{"what waits comes in order of delivery", func(k *kit) {
		asked := func(n int) func(*queue.Candidate) {
			return func(c *queue.Candidate) {
				deliveredOn(0)(c)
				cooledOn(-10)(c)
				c.AskCount = n
			}
		}
		created := func(turn queue.Turn) func(*queue.Candidate) {
			return func(c *queue.Candidate) { c.CreatedTurn = turn }
		}
		old, twice, once := k.add(seen(1)), k.add(seen(3), asked(2)), k.add(seen(3), asked(1))
		younger, same1, same2 := k.add(seen(3), created(2)), k.add(seen(3), created(1)), k.add(seen(3), created(1))
		newest := k.add(seen(4), asked(7))
		order := []queue.Candidate{newest, same1, same2, younger, once, twice, old}
		k.are("waiting", k.page(queue.Window{Agent: agent, Turn: 4, Limit: 9}), order...)
		k.are("the first two", k.page(queue.Window{Agent: agent, Turn: 4, Limit: 2}), order[:2]...)
		for i := range order {
			k.are("those behind", k.page(queue.Window{Agent: agent, Turn: 4, Limit: 9, After: &order[i]}), order[i+1:]...)
		}
	}},
	{"cues without a token match nothing, and none at all match everything", func(k *kit) {
		c := k.add(cues("morning"))
		k.are("no cues", k.page(queue.Window{Agent: agent, Limit: 9}), c)
		k.are("empty cues", k.page(queue.Window{Agent: agent, Limit: 9, Cues: []string{}}))
		k.are("a cue", k.page(queue.Window{Agent: agent, Limit: 9, Cues: []string{"x", "morning"}}), c)
		k.are("another", k.page(queue.Window{Agent: agent, Limit: 9, Cues: []string{"mornings"}}))
		k.are("another agent's", k.page(queue.Window{Agent: "another", Limit: 9, Cues: []string{"morning"}}))
	}},
	{"a candidate with many of many cues is given once", func(k *kit) {
		var tokens []string
		for i := range 250 {
			tokens = append(tokens, string([]rune{'a' + rune(i%26), 'a' + rune(i/26), 'x'}))
		}
		slices.Sort(tokens)
		a, b := k.add(cues(tokens...), seen(1)), k.add(cues(tokens[249]))
		k.are("waiting", k.page(queue.Window{Agent: agent, Turn: 1, Limit: 9, Cues: tokens}), a, b)
		k.are("waiting, one", k.page(queue.Window{Agent: agent, Turn: 1, Limit: 1, Cues: tokens}), a)
	}},
	{"whatever happens to candidates, those wait that are deliverable and relevant", func(k *kit) {
		random := rand.New(rand.NewPCG(1, 2))
		words := []string{"alpha", "beta", "gamma", "delta"}
		all := map[queue.CandidateID]queue.Candidate{}
		keep := func(c queue.Candidate) { all[c.ID] = k.stored(c) }
		for range 60 {
			created := queue.Turn(random.IntN(30))
			keep(k.add(seen(created), cues(slices.Sorted(slices.Values(words[:random.IntN(4)]))...), func(c *queue.Candidate) {
				c.CreatedTurn, c.ExpiresTurn = created, created+queue.ExpiryTurns
			}))
		}
		for _, id := range slices.Sorted(maps.Keys(all)) {
			c, turn := all[id], queue.Turn(random.IntN(40))
			switch random.IntN(8) {
			case 0:
				k.OK(k.TouchCandidate(k.Context(), id, turn))
			case 1:
				demand.Got(k.NoteUse(k.Context(), agent, []string{c.Targets[0].Key}, turn))(k)
			case 2:
				k.move(c, deliveredOn(turn))
			case 3:
				k.move(k.move(c, deliveredOn(turn)), cooledOn(turn+1))
			case 4:
				k.move(k.move(c, deliveredOn(turn)), answeredOn(turn+1))
			case 5:
				k.move(c, expiredOn(turn))
			}
			keep(c)
		}
		found := 0
		for turn := range queue.Turn(50) {
			for _, cues := range [][]string{nil, {"alpha"}, {"beta", "gamma"}, {"delta"}} {
				var want []queue.Candidate
				for _, c := range all {
					if c.Deliverable(turn) && c.Relevant(cues) {
						want = append(want, c)
					}
				}
				slices.SortFunc(want, queue.CompareDelivery)
				var pages []queue.Candidate
				for w := (queue.Window{Agent: agent, Turn: turn, Cues: cues, Limit: 3}); ; {
					page := k.page(w)
					if len(page) == 0 {
						break
					}
					pages = append(pages, page...)
					w.After = &page[len(page)-1]
				}
				if len(pages) != len(want) || len(want) > 0 {
					k.Is("waiting", pages, want)
				}
				found += len(want)
			}
		}
		if found < 100 {
			k.Errorf("only %d were found", found)
		}
	}},
}

// page reads what waits.
func (k *kit) page(w queue.Window) []queue.Candidate {
	k.Helper()
	return demand.Got(k.WaitingCandidates(k.Context(), w))(k)
}
