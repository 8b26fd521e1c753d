package bridge_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

// Section 10: no more questions are pending at once than the quota lets, of an asker or in a room, and each that ends
// makes place for another.
func TestPendingQuota(t *testing.T) {
	elsewhere := func(q *bridge.Question) { q.Conversation = "!other:ex.org" }
	another := func(q *bridge.Question) { q.Asker = "somebody" }
	for name, c := range map[string]struct {
		quota          bridge.Quota
		counted, apart func(*bridge.Question)
	}{
		"of an asker, in all rooms": {bridge.Quota{Asker: 2}, elsewhere, another},
		"in a room, of all askers":  {bridge.Quota{Conversation: 2}, another, elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Quota = func(bridge.AgentID) bridge.Quota { return c.quota }
			first := b.ask(b.question())
			second := b.question()
			c.counted(&second)
			b.ask(second)
			q, _, err := b.Ask(b.ctx, b.question())
			b.code(err, bridge.CodeQuotaExceeded)
			if q.ID != "" || len(b.notes.ids) != 0 {
				t.Error("something of it was done")
			}
			free := b.question()
			c.apart(&free)
			b.ask(free)
			if _, err := b.Cancel(b.ctx, "ci", first.ID); err != nil {
				t.Fatal(err)
			}
			b.ask(b.question())
		})
	}
}

// The quota of each asker is its own.
func TestQuotaOfOneAsker(t *testing.T) {
	b := newBench(t)
	b.Quota = func(asker bridge.AgentID) bridge.Quota {
		if asker == "ci" {
			return bridge.Quota{Asker: 1}
		}
		return bridge.Quota{}
	}
	b.ask(b.question())
	_, _, err := b.Ask(b.ctx, b.question())
	b.code(err, bridge.CodeQuotaExceeded)
	for range 3 {
		q := b.question()
		q.Asker = "somebody"
		b.ask(q)
	}
}

// An ask that was taken is taken again when its place was the last one, also by those who ask it at the same time.
func TestAnEqualAskIsWithinTheQuota(t *testing.T) {
	b := newBench(t)
	b.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 1} }
	var created atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		q := b.question()
		q.ElicitationID = "eli_1"
		all.Go(func() {
			_, fresh, err := b.Ask(b.ctx, q)
			if err != nil {
				t.Error(err)
			}
			if fresh {
				created.Add(1)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 {
		t.Errorf("%d were stored", created.Load())
	}
}

// What takes the place of an older question needs no other place; what is refused withdraws nothing.
func TestSupersedingIsWithinTheQuota(t *testing.T) {
	b := newBench(t)
	quota := bridge.Quota{Asker: 1}
	b.Quota = func(bridge.AgentID) bridge.Quota { return quota }
	old, err := b.about("s1", 1, "D1", nil)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := b.about("s1", 2, "D2", nil)
	if err != nil || b.get(old.ID).State != bridge.Cancelled {
		t.Fatalf("%v, the older one is %s", err, b.get(old.ID).State)
	}
	quota = bridge.Quota{}
	b.ask(b.question())
	quota = bridge.Quota{Asker: 1}
	_, err = b.about("s1", 3, "D3", nil)
	b.code(err, bridge.CodeQuotaExceeded)
	if got := b.get(newer.ID); got.State != bridge.Pending {
		t.Errorf("withdrawn for a question that was refused: %s", got.State)
	}
}

// A carried question stands in the room already: it is never refused for the quota, and counts.
func TestCarriedQuestionsCount(t *testing.T) {
	b := newBench(t)
	b.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Conversation: 1} }
	for _, m := range []bridge.MessageID{"$c1", "$c2"} {
		q := b.question()
		q.Asker, q.Carried = "hub", &bridge.Carried{By: "@hub:ex.org", Message: m}
		if err := b.Adopt(b.ctx, q, bridge.InteractionID(m)); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := b.Ask(b.ctx, b.question())
	b.code(err, bridge.CodeQuotaExceeded)
}
