// Package storetest holds what every [decision.Store] must do, as one suite of tests: each promise of the interface is a
// subtest.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
)

// Run runs the suite. open gives an empty store for each subtest, and cleans up after it by t.Cleanup; the suite may
// leave anything in it.
func Run(t *testing.T, open func(t *testing.T) decision.Store) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.check(&kit{Test: demand.Test{T: t}, Store: open(t)}) })
	}
}

var promises = []struct {
	name  string
	check func(k *kit)
}{
	{"a decision is read by its key and by its id", reads},
	{"a key and an id are taken once", takenOnce},
	{"a decision moves from the revision before alone", moves},
	{"of several that move at once, one does", races},
	{"what was read in a transaction stays so until its end", held},
	{"uses count for the decision that stands", uses},
	{"lists are of an agent, of a person, or of all, newest first", lists},
	{"a list goes on from its cursor", pages},
	{"what is empty for long is forgotten", forgets},
	{"what fails leaves nothing", atomic},
}

// kit is what a subtest works with.
type kit struct {
	demand.Test
	decision.Store
	made int
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const (
	agent  bridge.AgentID = "agent"
	person bridge.UserID  = "@ada:example.org"
)

// decision makes the next one: an approval, a millisecond after the one before.
func (k *kit) decision(changes ...func(*decision.Decision)) decision.Decision {
	k.made++
	d := decision.Decision{
		ID: decision.ID(fmt.Sprintf("d%05d", k.made)), Revision: 1,
		Key: decision.Key{Agent: agent, Requester: "Requester", Purpose: "purpose\x00", Principal: decision.Opaque{0, byte(k.made), 255}},
		Made: &decision.Made{
			Approved: true, By: person, At: start.Add(time.Duration(k.made) * time.Millisecond), Gate: collector.GateID(fmt.Sprint("gate ", k.made)),
		},
	}
	for _, change := range changes {
		change(&d)
	}
	return d
}

// add stores the next one.
func (k *kit) add(changes ...func(*decision.Decision)) decision.Decision {
	k.Helper()
	d := k.decision(changes...)
	k.Is("added", demand.Got(k.AddDecision(k.Context(), d))(k), true)
	return d
}

// emptied is a decision as it stands once it was taken back.
func emptied(d decision.Decision, at time.Time) decision.Decision {
	d.Revision++
	d.Made, d.EmptiedAt = nil, &at
	return d
}

func (k *kit) move(d decision.Decision) bool {
	k.Helper()
	return demand.Got(k.MoveDecision(k.Context(), d))(k)
}

func (k *kit) stored(id decision.ID) decision.Decision {
	k.Helper()
	return demand.Got(k.Decision(k.Context(), id))(k)
}

func reads(k *kit) {
	d := k.add()
	elsewhere := k.add(func(d *decision.Decision) { d.Made.By, d.Made.Approved = "", false })
	for _, want := range []decision.Decision{d, elsewhere} {
		k.Is("by id", k.stored(want.ID), want)
		got, ok, err := k.DecisionUnder(k.Context(), want.Key)
		k.OK(err)
		k.Is("under its key", got, want)
		k.Is("found", ok, true)
	}
	for _, change := range []func(*decision.Key){
		func(k *decision.Key) { k.Agent = "other" }, func(k *decision.Key) { k.Requester = "other" },
		func(k *decision.Key) { k.Purpose = "purpose" }, func(k *decision.Key) { k.Principal[31] = 1 },
	} {
		other := d.Key
		change(&other)
		_, ok, err := k.DecisionUnder(k.Context(), other)
		k.OK(err)
		k.Is("found under another key", ok, false)
	}
	_, err := k.Decision(k.Context(), "d99999")
	k.Is("the code of an unknown id", bridge.CodeOf(err), decision.CodeUnknown)
}

func takenOnce(k *kit) {
	d := k.add()
	for _, taken := range []decision.Decision{
		k.decision(func(other *decision.Decision) { other.ID = d.ID }), k.decision(func(other *decision.Decision) { other.Key = d.Key }),
	} {
		k.Is("added", demand.Got(k.AddDecision(k.Context(), taken))(k), false)
	}
	k.Is("what stands", k.stored(d.ID), d)
}

func moves(k *kit) {
	d := k.add()
	empty := emptied(d, start.Add(time.Hour))
	k.Is("moved to its own revision", k.move(d), false)
	k.Is("moved beyond the next", k.move(emptied(empty, start)), false)
	k.Is("moved", k.move(empty), true)
	k.Is("what stands", k.stored(d.ID), empty)
	k.Is("moved twice", k.move(empty), false)
	again := empty
	again.Revision++
	again.EmptiedAt, again.Made = nil, &decision.Made{By: "@bob:example.org", At: start.Add(2 * time.Hour), Gate: "gate"}
	k.Is("moved on", k.move(again), true)
	k.Is("what stands then", k.stored(d.ID), again)
}

func races(k *kit) {
	d := k.add()
	var mu sync.Mutex
	won := 0
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			moved, err := k.MoveDecision(k.Context(), emptied(d, start.Add(time.Duration(n)*time.Hour)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				k.Error(err)
			}
			if moved {
				won++
			}
		})
	}
	all.Wait()
	k.Is("how many moved", won, 1)
	added := 0
	same := k.decision()
	for n := range 8 {
		all.Go(func() {
			d := same
			d.ID = decision.ID(fmt.Sprint("race", n))
			ok, err := k.AddDecision(k.Context(), d)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				k.Error(err)
			}
			if ok {
				added++
			}
		})
	}
	all.Wait()
	k.Is("how many were added", added, 1)
}

func held(k *kit) {
	d := k.add()
	read, other := make(chan struct{}), make(chan error, 1)
	go func() {
		<-read
		_, err := k.MoveDecision(k.Context(), emptied(d, start))
		other <- err
	}()
	k.OK(k.Atomically(k.Context(), func(ctx context.Context) error {
		if _, _, err := k.DecisionUnder(ctx, d.Key); err != nil {
			return err
		}
		close(read)
		select {
		case err := <-other:
			k.Errorf("somebody else moved it meanwhile: %v", err)
			other <- err
		case <-time.After(50 * time.Millisecond): // as long as it waits for us, there is no signal
		}
		return k.AddUse(ctx, collector.Use{Decision: string(d.ID), Gate: "g", At: start})
	}))
	k.OK(<-other)
	k.Is("emptied after all", k.stored(d.ID).Made == nil, true)
}

func uses(k *kit) {
	d, other := k.add(), k.add()
	for n := range 3 {
		at := start.Add(time.Duration(n) * time.Hour)
		k.OK(k.AddUse(k.Context(), collector.Use{Decision: string(d.ID), Gate: collector.GateID(fmt.Sprint("gate ", n)), At: at}))
	}
	last := start.Add(2 * time.Hour)
	k.Is("uses", k.stored(d.ID).Made.Used, decision.Uses{Times: 3, Last: &last})
	k.Is("of another", k.stored(other.ID).Made.Used, decision.Uses{})
	k.Is("emptied", k.move(emptied(d, last)), true)
	if err := k.AddUse(k.Context(), collector.Use{Decision: string(d.ID), Gate: "late", At: last}); err == nil {
		k.Error("what does not stand was used")
	}
	again := d
	again.Revision = 3
	k.Is("made again", k.move(again), true)
	k.Is("uses of the new one", k.stored(d.ID).Made.Used, decision.Uses{})
	if err := k.AddUse(k.Context(), collector.Use{Decision: "d99999", Gate: "g", At: last}); err == nil {
		k.Error("what there is not was used")
	}
}

// ids are those of a page.
func (k *kit) ids(l decision.Listing) (ids []decision.ID, cursor string) {
	k.Helper()
	page, cursor, err := k.ListDecisions(k.Context(), l)
	k.OK(err)
	for _, d := range page {
		ids = append(ids, d.ID)
	}
	return ids, cursor
}

func lists(k *kit) {
	first := k.add()
	theirs := k.add(func(d *decision.Decision) { d.Made.By = "@bob:example.org" })
	elsewhere := k.add(func(d *decision.Decision) { d.Agent, d.Made.By = "other", "" })
	gone := k.add()
	last := k.add()
	k.Is("emptied", k.move(emptied(gone, start)), true)
	k.OK(k.AddUse(k.Context(), collector.Use{Decision: string(first.ID), Gate: "g", At: start}))
	for _, c := range []struct {
		l    decision.Listing
		want []decision.ID
	}{
		{decision.Listing{Agent: agent}, []decision.ID{last.ID, theirs.ID, first.ID}},
		{decision.Listing{Agent: "other"}, []decision.ID{elsewhere.ID}},
		{decision.Listing{By: person}, []decision.ID{last.ID, first.ID}},
		{decision.Listing{By: "@nobody:example.org"}, nil},
		{decision.Listing{}, []decision.ID{last.ID, elsewhere.ID, theirs.ID, first.ID}},
	} {
		c.l.Limit = 10
		ids, cursor := k.ids(c.l)
		k.Is(fmt.Sprintf("%+v", c.l), ids, c.want)
		k.Is("the cursor", cursor, "")
	}
	page, _, err := k.ListDecisions(k.Context(), decision.Listing{By: person, Limit: 10})
	k.OK(err)
	first.Made.Used = decision.Uses{Times: 1, Last: &start}
	k.Is("whole", page[1], first)
}

func pages(k *kit) {
	for range 5 {
		k.add(func(d *decision.Decision) { d.Made.At = start.Add(time.Hour) }) // of one moment: their ids tell
	}
	var all []decision.ID
	cursor := ""
	for range 3 {
		ids, next := k.ids(decision.Listing{Agent: agent, Limit: 2, Cursor: cursor})
		k.add() // older than all of them
		all, cursor = append(all, ids...), next
		k.Is("the last page", cursor == "", false)
	}
	k.Is("of three pages", all[:5], []decision.ID{"d00005", "d00004", "d00003", "d00002", "d00001"})
	_, _, err := k.ListDecisions(k.Context(), decision.Listing{Limit: 1, Cursor: "nonsense"})
	k.Is("the code of another cursor", bridge.CodeOf(err), bridge.CodeInvalidCursor)
}

func forgets(k *kit) {
	stays, old, newer := k.add(), k.add(), k.add()
	k.OK(k.AddUse(k.Context(), collector.Use{Decision: string(old.ID), Gate: "g", At: start}))
	k.move(emptied(old, start.Add(time.Hour)))
	k.move(emptied(newer, start.Add(2*time.Hour)))
	k.Is("forgotten", demand.Got(k.ForgetEmptied(k.Context(), start.Add(2*time.Hour), 10))(k), 1)
	_, err := k.Decision(k.Context(), old.ID)
	k.Is("the code of the forgotten one", bridge.CodeOf(err), decision.CodeUnknown)
	k.Is("the newer one", k.stored(newer.ID).Revision, int64(2))
	k.Is("what stands", k.stored(stays.ID), stays)
	k.Is("forgotten, of none", demand.Got(k.ForgetEmptied(k.Context(), start.Add(3*time.Hour), 0))(k), 0)
}

func atomic(k *kit) {
	d := k.add()
	failure := errors.New("no")
	err := k.Atomically(k.Context(), func(ctx context.Context) error {
		if _, err := k.MoveDecision(ctx, emptied(d, start)); err != nil {
			return err
		}
		return failure
	})
	k.Is("the error", errors.Is(err, failure), true)
	k.Is("what stands", k.stored(d.ID), d)
}
