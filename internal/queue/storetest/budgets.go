package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
)

// spending is a try on a turn, at start; a grant lasts an hour.
func spending(turn queue.Turn) queue.Spending {
	return queue.Spending{Agent: agent, Turn: turn, Now: start, Until: start.Add(time.Hour)}
}

// spend tries, and demands that BudgetLeft said before what came of it.
func (k *kit) spend(s queue.Spending) bool {
	k.Helper()
	left := demand.Got(k.BudgetLeft(k.Context(), s))(k)
	granted := demand.Got(k.SpendBudget(k.Context(), s))(k)
	k.Is("left", left, granted)
	return granted
}

var budgets = []promise{
	{"the budget is one ask in so many turns, and a turn that goes back spends nothing", func(k *kit) {
		for _, one := range []struct {
			turn    queue.Turn
			granted bool
		}{
			{1 << 40, true}, {1<<40 + 4, false}, {1<<40 - 1, false}, {0, false}, {1<<40 + 4, false}, // which would be granted, had one of those rewound it
			{1<<40 + 5, true}, {1<<40 + 5, false}, {queue.MaxTurn, true},
		} {
			k.Is("granted", k.spend(spending(one.turn)), one.granted)
		}
		other := spending(0)
		other.Agent = "another"
		k.Is("granted to another agent", k.spend(other), true)
	}},
	{"a bucket past its wall-clock end grants any turn", func(k *kit) {
		k.Is("granted", k.spend(spending(1000)), true)
		again := spending(3)
		again.Now = start.Add(time.Hour - time.Millisecond)
		again.Until = again.Now.Add(time.Hour)
		k.Is("granted before the end", k.spend(again), false)
		again.Now = start.Add(time.Hour)
		again.Until = again.Now.Add(time.Hour)
		k.Is("granted at the end", k.spend(again), true)
		again.Turn = 7
		k.Is("granted in between", k.spend(again), false)
		again.Turn = 8
		k.Is("granted on a later turn", k.spend(again), true)
	}},
	{"of those who spend at once, one does", func(k *kit) {
		k.OK(k.NoteTurn(k.Context(), agent, 3))
		var granted atomic.Int32
		demand.Parallel(20, func(int) {
			ok, err := k.SpendBudget(k.Context(), spending(3))
			if err != nil {
				k.Error(err)
			}
			if ok {
				granted.Add(1)
			}
		})
		k.Is("granted", granted.Load(), int32(1))
	}},
	{"what is taken back was not spent", func(k *kit) {
		whom := queue.PersonSpending{Whom: "@alice:example.org", Now: start, PersonBudget: queue.PersonBudget{Asks: 1, Per: time.Hour}}
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.Is("granted", demand.Got(k.SpendBudget(ctx, spending(3)))(k), true)
			k.Is("granted", demand.Got(k.SpendPersonBudget(ctx, whom))(k), true)
			return errStop
		})
		k.Is("error", err, errStop)
		k.Is("granted", k.spend(spending(3)), true)
		k.Is("granted", demand.Got(k.SpendPersonBudget(k.Context(), whom))(k), true)
	}},
	{"the highest turn counts", func(k *kit) {
		k.Is("of nobody", demand.Got(k.HighestTurn(k.Context(), agent))(k), queue.Turn(0))
		for _, turn := range []queue.Turn{3, queue.MaxTurn, 5} {
			k.OK(k.NoteTurn(k.Context(), agent, turn))
		}
		k.OK(k.NoteTurn(k.Context(), "another", 4))
		k.Is("highest", demand.Got(k.HighestTurn(k.Context(), agent))(k), queue.MaxTurn)
		k.Is("spent", k.spend(spending(1)), true)
		k.Is("highest, after an ask", demand.Got(k.HighestTurn(k.Context(), agent))(k), queue.MaxTurn)
	}},
	{"a person is asked so often within a time that goes along", func(k *kit) {
		ask := func(whom string, at time.Duration) bool {
			return demand.Got(k.SpendPersonBudget(k.Context(), queue.PersonSpending{
				Whom: whom, Now: start.Add(at), PersonBudget: queue.PersonBudget{Asks: 2, Per: time.Hour},
			}))(k)
		}
		for _, one := range []struct {
			at      time.Duration
			granted bool
		}{
			{0, true}, {time.Minute, true}, {2 * time.Minute, false}, {time.Hour - time.Millisecond, false},
			{time.Hour, true}, {time.Hour + time.Second, false}, {time.Hour + time.Minute, true},
		} {
			k.Is("granted after "+one.at.String(), ask("@alice:example.org", one.at), one.granted)
		}
		k.Is("granted for another", ask("@bob:example.org", 0), true)
	}},
	{"those who ask a person at once ask as often as allowed", func(k *kit) {
		var granted atomic.Int32
		demand.Parallel(20, func(int) {
			var ok bool
			err := k.Atomically(k.Context(), func(ctx context.Context) (err error) {
				ok, err = k.SpendPersonBudget(ctx, queue.PersonSpending{
					Whom: "@alice:example.org", Now: start, PersonBudget: queue.PersonBudget{Asks: 3, Per: time.Hour},
				})
				for range 5 { // nobody else sees it yet
					_, _ = k.HighestTurn(ctx, agent)
				}
				return err
			})
			if err != nil {
				k.Error(err)
			}
			if ok {
				granted.Add(1)
			}
		})
		k.Is("granted", granted.Load(), int32(3))
	}},
	{"whoever locks an agent has it alone", func(k *kit) {
		var inside, most atomic.Int32
		demand.Parallel(8, func(int) {
			err := k.Atomically(k.Context(), func(ctx context.Context) error {
				if err := k.LockAgent(ctx, agent); err != nil {
					return err
				}
				most.Store(max(most.Load(), inside.Add(1)))
				defer inside.Add(-1)
				_, err := k.HighestTurn(ctx, agent)
				return err
			})
			if err != nil {
				k.Error(err)
			}
		})
		k.Is("at once", most.Load(), int32(1))
	}},
}

var ledger = []promise{
	{"evidence is an agent's, for a key", func(k *kit) {
		read := func(agent bridge.AgentID, key string) queue.Evidence {
			return demand.Got(k.Evidence(k.Context(), agent, key))(k)
		}
		k.Is("before", read(agent, "key"), queue.Evidence{Key: "key"})
		e := queue.Evidence{Key: "key", Confidence: 0.1 + 0.2, Count: 3}
		k.OK(k.SaveEvidence(k.Context(), agent, e))
		k.Is("stored, to the last bit", read(agent, "key"), e)
		k.Is("another's", read("another", "key"), queue.Evidence{Key: "key"})
		k.Is("of another key", read(agent, "Key"), queue.Evidence{Key: "Key"})
		e.Confidence, e.Count = 0, 20
		k.OK(k.SaveEvidence(k.Context(), agent, e))
		k.Is("stored again", read(agent, "key"), e)
	}},
	{"an answer is counted once, and only an answer", func(k *kit) {
		c := k.add(deliveredOn(1))
		mark := func() bool { return demand.Got(k.MarkApplied(k.Context(), c.ID))(k) }
		k.Is("of no answer", mark(), false)
		k.move(c, answeredOn(2))
		var first atomic.Int32
		demand.Parallel(8, func(int) {
			ok, err := k.MarkApplied(k.Context(), c.ID)
			if err != nil {
				k.Error(err)
			}
			if ok {
				first.Add(1)
			}
		})
		k.Is("first", first.Load(), int32(1))
		k.Is("applied", k.stored(c).Applied, true)
		k.Is("again", mark(), false)
	}},
	{"the queue is switched off and on", func(k *kit) {
		k.Is("off", demand.Got(k.QueueOff(k.Context()))(k), false)
		for _, off := range []bool{true, true, false} {
			k.OK(k.SetQueueOff(k.Context(), off))
			k.Is("off", demand.Got(k.QueueOff(k.Context()))(k), off)
		}
	}},
}
