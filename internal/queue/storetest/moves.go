package storetest

import (
	"sync/atomic"

	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

var moves = []promise{
	{"a move stores the status with all that comes with it, and nothing else", func(k *kit) {
		c := k.add(cues("one"))
		c = k.move(c, func(c *queue.Candidate) {
			deliveredOn(3)(c)
			c.Question, c.Leader = "q_1", "c_leader"
		})
		k.Is("delivered", k.stored(c), c)
		c = k.move(c, cooledOn(4))
		k.Is("cooled", k.stored(c), c)
		c = k.move(c, func(c *queue.Candidate) {
			deliveredOn(14)(c)
			c.Question, c.Leader = "", ""
		})
		k.Is("delivered again", k.stored(c), c)
		c = k.move(c, answeredOn(15))
		k.Is("answered", k.stored(c), c)
		other := k.add()
		other = k.move(other, expiredOn(2))
		k.Is("expired", k.stored(other), other)
	}},
	{"a candidate moves only as it was read", func(k *kit) {
		c := k.add(deliveredOn(3))
		for _, read := range []func(*queue.Candidate){
			func(c *queue.Candidate) { c.Status = queue.Pending },
			func(c *queue.Candidate) { c.AskCount = 2 },
			func(c *queue.Candidate) { turn := queue.Turn(13); c.DeliveredTurn = &turn },
			func(c *queue.Candidate) { c.DeliveredTurn = nil },
			func(c *queue.Candidate) { c.ID = "c_none" },
		} {
			from := c
			read(&from)
			to := from
			cooledOn(9)(&to)
			k.Is("moved", demand.Got(k.MoveCandidate(k.Context(), from, to))(k), false)
			k.Is("stored", k.stored(c), c)
		}
	}},
	{"of those who move a candidate at once, one does", func(k *kit) {
		c := k.add(deliveredOn(3))
		var moved atomic.Int32
		demand.Parallel(20, func(i int) {
			to := c
			if i%2 == 0 {
				cooledOn(9)(&to)
			} else {
				answeredOn(9)(&to)
			}
			ok, err := k.MoveCandidate(k.Context(), c, to)
			if err != nil {
				k.Error(err)
			}
			if ok {
				moved.Add(1)
			}
		})
		k.Is("moved", moved.Load(), int32(1))
	}},
	{"a move does not take back that a candidate was used meanwhile", func(k *kit) {
		c := k.add()
		k.OK(k.TouchCandidate(k.Context(), c.ID, 4))
		k.Is("last seen", k.stored(k.move(c, deliveredOn(5))).LastSeenTurn, queue.Turn(4))
	}},
	{"the last use only moves forwards, and only of what is open", func(k *kit) {
		about := func(c *queue.Candidate) {
			c.Targets = []queue.Target{{Key: "a"}, {Key: "b"}}
			c.LastSeenTurn = 5
		}
		open, closed := candidatesIn(k, 9, about)
		other := k.add(about, of("another"))
		use := func(turn queue.Turn) int {
			return demand.Got(k.NoteUse(k.Context(), agent, []string{"a", "b", "c"}, turn))(k)
		}
		k.Is("used", []int{use(5), use(6), use(6)}, []int{0, 3, 0})
		for _, c := range open {
			k.Is("last seen", k.stored(c).LastSeenTurn, queue.Turn(6))
			k.OK(k.TouchCandidate(k.Context(), c.ID, 4))
			k.Is("touched before", k.stored(c).LastSeenTurn, queue.Turn(6))
			k.OK(k.TouchCandidate(k.Context(), c.ID, 8))
			k.Is("touched", k.stored(c).LastSeenTurn, queue.Turn(8))
		}
		for _, c := range append(closed, other) {
			k.Is("last seen", k.stored(c).LastSeenTurn, queue.Turn(5))
		}
		k.OK(k.TouchCandidate(k.Context(), closed[0].ID, 8))
		k.Is("touched when answered", k.stored(closed[0]).LastSeenTurn, queue.Turn(5))
	}},
	{"what lapsed expires, also what cooled, and nothing that was delivered", func(k *kit) {
		until := func(turn queue.Turn) func(*queue.Candidate) {
			return func(c *queue.Candidate) { c.ExpiresTurn = turn }
		}
		pending, cooled := k.add(until(20)), k.add(until(20), deliveredOn(1), cooledOn(2))
		rest := []queue.Candidate{k.add(until(21)), k.add(until(20), deliveredOn(1)), k.add(until(20), of("another"))}
		expire := func(turn queue.Turn, limit int) int {
			return demand.Got(k.ExpireLapsed(k.Context(), agent, turn, limit))(k)
		}
		k.Is("expired in time", expire(20, 9), 0)
		k.Is("expired", expire(21, 1)+expire(21, 9), 2)
		for _, c := range []queue.Candidate{pending, cooled} {
			expiredOn(21)(&c)
			k.Is("expired", k.stored(c), c)
			k.are("about it", demand.Got(k.CandidatesAbout(k.Context(), agent, []string{c.Targets[0].Key}))(k))
		}
		for _, c := range rest {
			k.Is("not expired", k.stored(c), c)
		}
	}},
	{"what is not pending is pruned when it is older than its retention, strictly", func(k *kit) {
		var gone, kept []queue.Candidate
		for _, one := range []struct {
			made queue.Candidate
			kept bool
		}{
			{k.add(seen(0)), true}, // pending
			{k.add(seen(10), answeredOn(99)), false}, {k.add(seen(10), answeredOn(100)), true},
			{k.add(seen(10), deliveredOn(1), cooledOn(99)), false}, {k.add(seen(10), deliveredOn(1), cooledOn(100)), true},
			{k.add(seen(10), expiredOn(99)), false}, {k.add(seen(10), expiredOn(100)), true},
			{k.add(seen(99), deliveredOn(1)), false}, {k.add(seen(100), deliveredOn(1)), true},
			{k.add(of("another"), answeredOn(1)), true},
		} {
			if one.kept {
				kept = append(kept, one.made)
			} else {
				gone = append(gone, one.made)
			}
		}
		prune := func(limit int) int {
			return demand.Got(k.PruneCandidates(k.Context(), agent, 100+queue.RetentionTurns, limit))(k)
		}
		k.Is("pruned", []int{prune(3), prune(9), prune(9)}, []int{3, 1, 0})
		for _, c := range kept {
			k.Is("kept", k.stored(c), c)
		}
		for _, c := range gone {
			if _, err := k.Candidate(k.Context(), agent, c.ID); err == nil {
				k.Errorf("%s, resolved on %v, is still there", c.Status, c.ResolvedTurn)
			}
		}
	}},
}
