package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// chapter is some rounds in some rooms, and what everybody did there.
type chapter struct {
	s      *soak
	rooms  []string
	client *client.Client
	ctx    context.Context
	cancel context.CancelFunc
	stop   chan struct{} // closed when nothing more is asked

	watching context.Context // what people do on seeing something
	unwatch  context.CancelFunc

	askers, waiters, crowd, watchers sync.WaitGroup

	mu       sync.Mutex
	asks     []*asked
	troubles []string // what a program was told and should not have been
}

// asked is a question as its asker knows it.
type asked struct {
	plan plan
	seen sync.Once // by people, in the room
	over sync.Once

	// The chapter's lock guards the rest.
	id          string // "" when nothing came of it
	confirmed   bool   // by a response to the ask
	told        []told
	cancelled   *told // what the cancellation was answered with
	message     string
	elicitation string
}

// told is how a program heard that a question ended.
type told struct{ state, value, responder string }

// begin lets programs ask and people answer in the rooms.
func (s *soak) begin(rooms []string) *chapter {
	s.t.Helper()
	c := &chapter{s: s, rooms: rooms, stop: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.watching, c.unwatch = context.WithCancel(c.ctx)
	s.t.Cleanup(c.end)
	var err error
	c.client, err = client.New(client.Config{Server: s.apiURL, Token: s.token})
	s.ok(err)
	for _, room := range rooms {
		w, err := s.voices[s.people[0].ID].watch(c.ctx, room)
		s.ok(err)
		c.watchers.Go(func() { c.watch(room, w) })
		for range 3 {
			c.askers.Go(func() { c.keepAsking(room) })
		}
	}
	return c
}

// end stops everybody.
func (c *chapter) end() {
	c.cancel()
	c.askers.Wait()
	c.watchers.Wait()
	c.crowd.Wait()
	c.waiters.Wait()
}

func (c *chapter) stopAsking() {
	close(c.stop)
	c.askers.Wait()
}

func (c *chapter) byNumber(number int) *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asks {
		if a.plan.number == number {
			return a
		}
	}
	return nil
}

func (c *chapter) byMessage(id string) *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.asks {
		if a.message == id {
			return a
		}
	}
	return nil
}

func (c *chapter) trouble(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.troubles = append(c.troubles, what)
}

// keepAsking asks one question after the other, most of them when the one before has its answer, or has none for long.
func (c *chapter) keepAsking(room string) {
	for {
		select {
		case <-c.stop:
			return
		case <-c.ctx.Done():
			return
		default:
		}
		c.mu.Lock()
		c.s.asked++
		a := &asked{plan: c.s.planned(c.s.asked, room)}
		c.asks = append(c.asks, a)
		c.mu.Unlock()
		id := c.ask(a)
		if id == "" {
			continue
		}
		first := make(chan struct{})
		for i := range a.plan.waiters {
			c.waiters.Go(func() {
				c.await(a, id)
				if i == 0 {
					close(first)
				}
			})
		}
		if a.plan.cancelAfter > 0 {
			c.waiters.Go(func() { c.rest(a.plan.cancelAfter); c.withdraw(a, id) })
		}
		if a.plan.silent {
			continue
		}
		long := time.NewTimer(5 * time.Second)
		select {
		case <-first:
		case <-long.C:
		case <-c.stop:
		case <-c.ctx.Done():
		}
		long.Stop()
	}
}

// ask asks, and finds out what became of it: by asking again where the question has an id of its own, else by a list.
func (c *chapter) ask(a *asked) (id string) {
	for c.ctx.Err() == nil {
		q, err := c.client.Ask(c.ctx, a.plan.room, a.plan.ask(c.s.seed))
		var refusal *client.Error
		var unsent *schema.Refusal
		switch {
		case err == nil:
			c.mu.Lock()
			a.id, a.confirmed = q.ID, true
			c.mu.Unlock()
			return q.ID
		case errors.As(err, &refusal) && refusal.Status < 500, errors.As(err, &unsent):
			c.trouble("an ask was refused: " + err.Error())
			return ""
		case !a.plan.ownID:
			return c.reconcile(a)
		}
		c.rest(100 * time.Millisecond)
	}
	return ""
}

// reconcile finds a question whose ask had no response; "" when it was never asked.
func (c *chapter) reconcile(a *asked) (id string) {
	for c.ctx.Err() == nil {
		page, err := c.client.ListPage(c.ctx, client.ListOptions{CorrelationID: a.plan.correlation(c.s.seed)})
		if err == nil && len(page.Questions) == 0 {
			return ""
		}
		if err == nil {
			c.mu.Lock()
			a.id = page.Questions[0].ID
			c.mu.Unlock()
			return page.Questions[0].ID
		}
		c.rest(100 * time.Millisecond)
	}
	return ""
}

func (c *chapter) await(a *asked, id string) {
	outcome, err := c.client.Await(c.ctx, id)
	if err != nil {
		if c.ctx.Err() == nil {
			c.trouble("a wait was refused: " + err.Error())
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.told = append(a.told, toldBy(outcome))
}

func toldBy(o *client.Outcome) told {
	t := told{state: string(o.State)}
	t.value, _ = o.Value()
	if who, ok := o.Responder(); ok {
		t.responder = who.ID
	}
	return t
}

// withdraw cancels until there is a response.
func (c *chapter) withdraw(a *asked, id string) {
	for c.ctx.Err() == nil {
		q, err := c.client.Cancel(c.ctx, id)
		var refusal *client.Error
		if errors.As(err, &refusal) && refusal.Status < 500 {
			c.trouble("a cancellation was refused: " + err.Error())
			return
		}
		if err == nil {
			outcome, ended := q.Outcome()
			if !ended {
				c.trouble("a cancelled question is pending")
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			t := toldBy(outcome)
			a.cancelled = &t
			return
		}
		c.rest(100 * time.Millisecond)
	}
}
