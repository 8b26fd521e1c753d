package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// history is what a chapter has left behind: in the database, in the rooms, with the programs.
type history struct {
	*chapter
	store     *sqlstore.Store
	questions map[string]bridge.Question // by id
	numbers   map[int][]bridge.Question  // by the number in their prompt
	listed    map[string]int             // how many the API lists, by correlation id
	sends     map[string]bridge.Send     // that arrived, by event
	unsent    int                        // sends that never arrived, as far as we know
	inbox     map[string]string          // the state of every event, by id
	waiting   int                        // events not handled
	owed      int                        // effects not done
	failed    int                        // effects given up
	events    map[string]testserver.Event
	order     []testserver.Event // all rooms' events, one room after the other, oldest first
	redacted  map[string]bool    // by event
	posts     map[int]int        // how many messages a question stands in, by its number
	unheard   []string           // what was found wrong before the leftovers were cancelled
	quiet     time.Time          // since when there is nothing to do but to wait for the homeserver
}

// How long everything may take to come to its end, and how long a homeserver that crashed may take to push an event:
// Dendrite comes back to what it had in hand after half a minute, or never.
const (
	drainLimit = 4 * time.Minute
	pushLimit  = 40 * time.Second
)

// drain lets everything come to its end: the events are handled, the effects done, the leftovers cancelled, the waiters
// told. ok is false when that does not happen, which is reported.
func (c *chapter) drain() (h *history, ok bool) {
	c.s.t.Helper()
	store, err := sqlstore.Open(c.s.ctx, sqlstore.Config{Type: sqlstore.SQLite, Path: c.s.cfg.Database.Path, Log: zerolog.Nop()})
	c.s.ok(err)
	c.s.t.Cleanup(func() { _ = store.Close() })
	h = &history{chapter: c, store: store}
	end := time.Now().Add(drainLimit)
	if !h.until(end, h.unfinished) {
		return h, false
	}
	h.unheard = h.answersWithoutEffect()
	h.cancelLeftovers()
	if !h.until(end, h.untold) || !h.until(end, h.unfinished) {
		return h, false
	}
	c.unwatch()
	c.watchers.Wait()
	c.crowd.Wait()
	return h, h.until(end, h.unfinished)
}

// until polls until nothing is missing any more.
func (h *history) until(end time.Time, missing func() string) bool {
	h.s.t.Helper()
	for {
		what := missing()
		if what == "" {
			return true
		}
		if time.Now().After(end) || h.ctx.Err() != nil {
			h.s.t.Errorf("it does not come to its end: %s", what)
			return false
		}
		h.rest(100 * time.Millisecond)
	}
}

// unfinished says what is still to come: events to be handled, effects to be done, messages to be seen.
func (h *history) unfinished() string {
	h.s.t.Helper()
	h.readStore()
	if h.waiting > 0 || h.owed > 0 {
		h.quiet = time.Time{}
		return fmt.Sprintf("%d events are not handled, %d effects are not done", h.waiting, h.owed)
	}
	if err := h.readRooms(); err != nil {
		return err.Error()
	}
	if h.quiet.IsZero() {
		h.quiet = time.Now()
	}
	for id, e := range h.events {
		lost := h.s.loses && time.Since(h.quiet) > pushLimit
		if (e.Type == "m.room.message" || e.Type == "m.reaction") && h.inbox[id] == "" && !lost {
			return fmt.Sprintf("the bridge has not received %s of %s: %s", id, e.Sender, e.Content)
		}
	}
	for id, send := range h.sends {
		if _, ok := h.events[id]; !ok && !h.hidden(id, string(send.Conversation)) {
			return fmt.Sprintf("the room does not show %s, which is %s", id, send.Key)
		}
	}
	return ""
}

// hidden finds an event that the homeserver has and does not show in its room: a crash of it may lose that.
func (h *history) hidden(id, room string) bool {
	e, err := h.s.people[0].Event(h.ctx, room, id)
	if err != nil {
		return false
	}
	e.RoomID = room
	h.events[id] = e
	h.order = append(h.order, e)
	return true
}

// untold says which question is pending, or which waiter not told.
func (h *history) untold() string {
	h.readStore()
	for id, q := range h.questions {
		if q.State == bridge.Pending {
			return "question " + id + " is pending"
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.asks {
		if a.id != "" && len(a.told) < a.plan.waiters {
			return fmt.Sprintf("%d of %d waiters for question %d are told", len(a.told), a.plan.waiters, a.plan.number)
		}
	}
	return ""
}

// answersWithoutEffect finds questions that are pending though somebody has plainly answered them.
func (h *history) answersWithoutEffect() (found []string) {
	for _, e := range h.order {
		mark := markOf(e)
		if mark.means == "" || mark.by == string(byEdit) || h.inbox[e.ID] != "handled" {
			continue
		}
		for _, q := range h.numbers[mark.ask] {
			if q.State == bridge.Pending {
				found = append(found, fmt.Sprintf("question %d is pending, and %s has answered it: %s", mark.ask, e.Sender, e.Content))
			}
		}
	}
	return found
}

// cancelLeftovers withdraws what nobody has answered, except what will expire.
func (h *history) cancelLeftovers() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.asks {
		for _, q := range h.numbers[a.plan.number] {
			if q.State == bridge.Pending && !a.plan.silent {
				h.waiters.Go(func() { h.withdraw(a, string(q.ID)) })
			}
		}
	}
}

// readStore reads the questions of the chapter's rooms with what hangs on them.
func (h *history) readStore() {
	h.s.t.Helper()
	ctx := h.s.ctx
	h.questions, h.numbers, h.sends, h.unsent = map[string]bridge.Question{}, map[int][]bridge.Question{}, map[string]bridge.Send{}, 0
	mine := map[string]bool{}
	for _, room := range h.rooms {
		mine[room] = true
	}
	l := bridge.Listing{Asker: "ci", Limit: 200}
	for more := true; more; more = l.Cursor != "" {
		page, next, err := h.store.ListQuestions(ctx, l)
		h.s.ok(err)
		l.Cursor = next
		for _, q := range page {
			if !mine[string(q.Conversation)] {
				continue
			}
			n := questionNumber(q.Items[0].Prompt)
			h.questions[string(q.ID)], h.numbers[n] = q, append(h.numbers[n], q)
			sends, err := h.store.SendsOf(ctx, q.ID)
			h.s.ok(err)
			for _, send := range sends {
				if send.Message == "" {
					h.unsent++
				} else {
					h.sends[string(send.Message)] = send
				}
			}
		}
	}
	h.inbox = map[string]string{}
	h.query(`SELECT id, state FROM inbox`, func(row func(...any)) {
		var id, state string
		row(&id, &state)
		h.inbox[id] = state
	})
	number := func(into *int) func(row func(...any)) { return func(row func(...any)) { row(into) } }
	h.query(`SELECT (SELECT COUNT(*) FROM inbox WHERE state = 'waiting') + (SELECT COUNT(*) FROM locked_events)`, number(&h.waiting))
	h.query(`SELECT COUNT(*) FROM effects WHERE NOT failed`, number(&h.owed))
	h.query(`SELECT COUNT(*) FROM effects WHERE failed`, number(&h.failed))
}

func (h *history) query(sql string, each func(row func(...any))) {
	h.s.t.Helper()
	rows, err := h.store.Database().Query(h.s.ctx, sql)
	h.s.ok(err)
	defer rows.Close()
	for rows.Next() {
		each(func(into ...any) { h.s.ok(rows.Scan(into...)) })
	}
	h.s.ok(rows.Err())
}

// readRooms reads everything that people see in the rooms.
func (h *history) readRooms() error {
	h.events, h.order = map[string]testserver.Event{}, nil
	for _, room := range h.rooms {
		events, err := h.s.voices[h.s.people[0].ID].read(h.ctx, room)
		if err != nil {
			return err
		}
		for _, e := range events {
			e.RoomID = room
			if e.StateKey == nil {
				h.events[e.ID] = e
				h.order = append(h.order, e)
			}
		}
	}
	return nil
}

// readList asks the API for everything that this program has asked.
func (h *history) readList() {
	h.s.t.Helper()
	h.listed = map[string]int{}
	for q, err := range h.client.List(h.ctx, client.ListOptions{PageSize: client.MaxPage}) {
		h.s.ok(err)
		if q.CorrelationID != nil {
			h.listed[*q.CorrelationID]++
		}
		if q.State == schema.Pending && h.questions[q.ID].State != "" {
			h.s.t.Errorf("the API lists question %s as pending", q.ID)
		}
	}
}

// mark is what people's events say about themselves.
type mark struct {
	ask       int
	means, by string
}

func markOf(e testserver.Event) mark {
	n, _ := e.Field(soakKey, "ask").(float64)
	means, _ := e.Field(soakKey, "means").(string)
	by, _ := e.Field(soakKey, "by").(string)
	return mark{int(n), means, by}
}

// purposeOf says what a send of the bridge was for, by its key, and for which question.
func purposeOf(key string) (question, purpose string) {
	question, purpose, _ = strings.Cut(key, "/")
	if i := strings.Index(purpose, keycapPart); i >= 0 {
		return question, "keycap"
	}
	for _, known := range []string{"settled/0/outcome", "settled/0/edit", "render/0", "tell"} {
		if purpose == known || strings.HasPrefix(purpose, known+"/") {
			return question, known
		}
	}
	return question, purpose
}

const keycapPart = "/keycap/"
