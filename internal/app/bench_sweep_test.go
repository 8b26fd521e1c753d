package app

import (
	"context"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/measure"
)

// dueAtOnce is how many questions expire at the same moment.
const dueAtOnce = 1000

// sweeping expires a thousand questions and gives the seconds that took.
type sweeping struct {
	*rig
	engine *bridge.Engine
	now    time.Time
}

// benchClock stands still.
type benchClock struct{ now time.Time }

func (c benchClock) Now() time.Time { return c.now }

func newSweeping(r *rig) *sweeping {
	// In every second from the first deadline on, a thousandth of the questions is due.
	now := firstDeadline(bridge.SystemClock{}.Now()).Add(time.Duration(dueAtOnce*1000/r.pending-1) * time.Second)
	return &sweeping{r, bridge.NewEngine(bridge.Parts{Store: r.store, Channel: noChannel{}, Notifier: r.hub, Clock: benchClock{now}}), now}
}

func (s *sweeping) slice() float64 {
	expired := 0
	took := measure.Seconds(func() {
		for n := s.sweeper.Batch; n == s.sweeper.Batch; expired += n {
			var err error
			n, err = s.engine.Expire(benchLog().WithContext(context.Background()), s.sweeper.Batch)
			s.ok(err)
		}
	})
	if expired != dueAtOnce {
		s.tb.Fatalf("%d questions expired", expired)
	}
	s.again()
	return took
}

// bare is the one statement that no sweep can do without.
func (s *sweeping) bare() float64 {
	took := measure.Seconds(func() {
		s.exec(`UPDATE questions SET state = 'expired', settled_at = $1 WHERE state = 'pending' AND expires_at <= $1`, s.now.UnixMilli())
	})
	s.again()
	return took
}

// again makes everything pending that was.
func (s *sweeping) again() {
	s.exec(`UPDATE questions SET state = 'pending', settled_at = NULL WHERE state = 'expired'`)
	s.done()
	s.ok(s.store.Checkpoint(s.tb.Context()))
}

const many = 1_000_000

// BenchmarkMany measures with a million questions pending: the sweep of a thousand that are due against one UPDATE of
// the same rows by the same index, and everything else against the same with a thousand pending.
func BenchmarkMany(b *testing.B) {
	homeserver := newFastHomeserver(b)
	large := sync.OnceValue(func() *rig { return newRig(b, many, homeserver.url) })
	b.Run("sweep", func(b *testing.B) {
		s := newSweeping(large())
		s.slice()
		measure.Compare(b.Loop, s.slice, s.bare).Report(b, "sweep of 1,000 due among 1,000,000 pending; limit: one UPDATE of these rows",
			measure.Goal{AtMost: 2}, measure.Millis)
	})
	const growth = ", 1,000,000 pending; limit: 1,000 pending"
	b.Run("sweep grows", func(b *testing.B) {
		measure.Compare(b.Loop, newSweeping(large()).slice, newSweeping(newRig(b, few, nowhere)).slice).
			Report(b, "sweep of 1,000 due"+growth, measure.Goal{}, measure.Millis)
	})
	b.Run("transactions", func(b *testing.B) {
		push := func(r *rig) *pusher { return &pusher{rig: r, url: listen(b, r.channel.Handler()), oneIn: 1} }
		measure.Compare(b.Loop, push(large()).slice, push(newRig(b, few, nowhere)).slice).
			Report(b, "transactions, every event of interest"+growth, measure.Goal{}, measure.PerSecond("events"))
	})
	b.Run("asks", func(b *testing.B) {
		measure.Compare(b.Loop, large().newAskers().slice, newRig(b, few, nowhere).newAskers().slice).
			Report(b, "asks by 64 askers"+growth, measure.Goal{}, measure.PerSecond("asks"))
	})
	b.Run("replies", func(b *testing.B) {
		large().done() // or what was asked above would be posted first
		compareReplies(b, newAnswered(b, run(b, large(), homeserver)).slice, newAnswered(b, newRunning(b, few)).slice).
			report(b, "reply PUT to waiter's return", growth, 0)
	})
}
