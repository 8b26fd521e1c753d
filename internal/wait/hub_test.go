package wait_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/wait"
)

// Field case D5: an answer within ±1 ms of a wait's start is never missed.
func TestD5NoLostWakeUp(t *testing.T) {
	hub := wait.NewHub()
	for round := range 2000 {
		var settled atomic.Bool
		early := time.Duration(rand.IntN(1000)) * time.Microsecond
		waiterFirst := round%2 == 0
		begin := make(chan struct{})
		go func() {
			<-begin
			if waiterFirst {
				pause(early)
			}
			settled.Store(true)
			hub.Notify("q")
		}()
		close(begin)
		if !waiterFirst {
			pause(early)
		}
		start := time.Now()
		woken, cancel := hub.Subscribe("q")
		limit := time.After(5 * time.Second)
		for !settled.Load() {
			select {
			case <-woken:
			case <-limit:
				t.Fatalf("round %d: slept through the answer", round)
			}
		}
		cancel()
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("round %d took %v", round, took)
		}
	}
	if n := hub.Waiting(); n != 0 {
		t.Errorf("%d waiters were left behind", n)
	}
}

// pause spins: the timer of a busy machine is coarser than the race that is looked for.
func pause(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

func TestNotifyReachesEveryWaiterOfItsQuestionOnly(t *testing.T) {
	hub := wait.NewHub()
	var channels []<-chan struct{}
	for range 100 {
		ch, cancel := hub.Subscribe("q")
		defer cancel()
		channels = append(channels, ch)
	}
	other, cancel := hub.Subscribe("other")
	defer cancel()
	hub.Notify("q")
	hub.Notify("q") // does not block although nobody read the first
	hub.Notify("nobody waits for this")
	for i, ch := range channels {
		select {
		case _, open := <-ch:
			if !open {
				t.Fatalf("channel %d is closed", i)
			}
		default:
			t.Fatalf("channel %d has nothing", i)
		}
	}
	select {
	case <-other:
		t.Error("a waiter of another question was woken")
	default:
	}
}

func TestCancelForgets(t *testing.T) {
	hub := wait.NewHub()
	_, cancel := hub.Subscribe("q")
	_, stay := hub.Subscribe("q")
	cancel()
	cancel()
	if n := hub.Waiting(); n != 1 {
		t.Errorf("%d waiters", n)
	}
	stay()
	if n := hub.Waiting(); n != 0 {
		t.Errorf("%d waiters", n)
	}
	hub.Notify("q")
}

func TestCloseReleasesEverybody(t *testing.T) {
	hub := wait.NewHub()
	var released sync.WaitGroup
	for i := range 100 {
		ch, cancel := hub.Subscribe(bridge.QuestionID(rune('a' + i%7)))
		released.Go(func() {
			defer cancel()
			<-ch
		})
	}
	hub.Close()
	hub.Close()
	released.Wait()
	ch, cancel := hub.Subscribe("late")
	defer cancel()
	if _, open := <-ch; open {
		t.Error("a latecomer is not told that the hub is closed")
	}
	hub.Notify("late")
	if n := hub.Waiting(); n != 0 {
		t.Errorf("%d waiters", n)
	}
}

// TestIdleWaitersAreCheap holds 10,000 waiters without a goroutine of their own.
func TestIdleWaitersAreCheap(t *testing.T) {
	hub := wait.NewHub()
	before := runtime.NumGoroutine()
	for range 10000 {
		hub.Subscribe("q")
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines more", after-before)
	}
	if n := hub.Waiting(); n != 10000 {
		t.Errorf("%d waiters", n)
	}
	hub.Close()
}

func TestManyAtOnce(t *testing.T) {
	hub := wait.NewHub()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			id := bridge.QuestionID(rune('a' + i%5))
			for range 200 {
				ch, cancel := hub.Subscribe(id)
				hub.Notify(id)
				<-ch
				cancel()
			}
		})
	}
	all.Wait()
	if n := hub.Waiting(); n != 0 {
		t.Errorf("%d waiters", n)
	}
}
