package testserver

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	watchFilter = `{"room":{"timeline":{"limit":100}},"presence":{"types":["none"]}}`
	watchPoll   = 30 * time.Second
)

// Watch gives a room's events one by one, in order, each once, from a fixed moment on. It belongs to one goroutine.
type Watch struct {
	user    *User
	roomID  string
	since   string
	seen    map[string]bool
	pending []Event
	recent  []Event // the last few that Next passed over, to explain a failure
	passed  int
}

// Watch starts watching a room: every event sent after this call returns is seen, and nothing old; what was sent a moment
// before may come too. Of a room that this user joins later, all it lets a newcomer see comes.
func (u *User) Watch(ctx context.Context, roomID string) (*Watch, error) {
	w, _, err := u.watch(ctx, roomID)
	return w, err
}

func (u *User) watch(ctx context.Context, roomID string) (*Watch, RoomSync, error) {
	news, err := u.Sync(ctx, SyncOptions{Filter: watchFilter})
	if err != nil {
		return nil, RoomSync{}, err
	}
	w := &Watch{user: u, roomID: roomID, since: news.NextBatch, seen: map[string]bool{}}
	room := news.room(roomID)
	for _, event := range room.Timeline.Events {
		w.seen[event.ID] = true
	}
	return w, room, nil
}

// Next returns the next event that match says yes to, passing over the others, and waits for it until ctx ends.
func (w *Watch) Next(ctx context.Context, match func(Event) bool) (Event, error) {
	for {
		for len(w.pending) > 0 {
			event := w.pending[0]
			w.pending = w.pending[1:]
			if match(event) {
				return event, nil
			}
			w.passed++
			w.recent = append(w.recent, event)
			w.recent = w.recent[max(0, len(w.recent)-5):]
		}
		if err := w.fetch(ctx); err != nil {
			return Event{}, fmt.Errorf("wait for an event in %s: %w; %s", w.roomID, err, w.passedOver())
		}
	}
}

func (w *Watch) fetch(ctx context.Context) error {
	news, err := w.user.Sync(ctx, SyncOptions{Since: w.since, Timeout: watchPoll, Filter: watchFilter})
	if err != nil {
		return err
	}
	room := news.room(w.roomID)
	if room.Timeline.Limited {
		missed, err := w.user.before(ctx, w.roomID, room.Timeline.PrevBatch, func(e Event) bool { return w.seen[e.ID] })
		if err != nil {
			return err
		}
		w.queue(missed)
	}
	w.queue(room.Timeline.Events)
	w.since = news.NextBatch
	return nil
}

func (w *Watch) queue(events []Event) {
	for _, event := range events {
		if !w.seen[event.ID] {
			w.seen[event.ID] = true
			w.pending = append(w.pending, event)
		}
	}
}

func (w *Watch) passedOver() string {
	if w.passed == 0 {
		return "no other event came"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d other events came, the last:", w.passed)
	for _, event := range w.recent {
		fmt.Fprintf(&b, "\n  %s from %s: %s", event.Type, event.Sender, event.Content)
	}
	return b.String()
}

// room returns the news of a room this user is in or has just left.
func (r *SyncResponse) room(roomID string) RoomSync {
	if room, ok := r.Rooms.Join[roomID]; ok {
		return room
	}
	return r.Rooms.Leave[roomID]
}

// WaitFor returns the room's first event that match says yes to, among all that happened and all that will, and waits
// for it until ctx ends. To disregard the past, use Watch.
func (u *User) WaitFor(ctx context.Context, roomID string, match func(Event) bool) (Event, error) {
	w, room, err := u.watch(ctx, roomID)
	if err != nil {
		return Event{}, err
	}
	w.seen = map[string]bool{}
	if room.Timeline.PrevBatch != "" {
		past, err := u.before(ctx, roomID, room.Timeline.PrevBatch, func(Event) bool { return false })
		if err != nil {
			return Event{}, err
		}
		w.queue(past)
	}
	w.queue(room.Timeline.Events)
	return w.Next(ctx, match)
}

// WaitForMember waits until somebody's membership of a room is as given: "join", "invite", "leave" or "ban".
func (u *User) WaitForMember(ctx context.Context, roomID, userID, membership string) error {
	w, err := u.Watch(ctx, roomID)
	if err != nil {
		return err
	}
	members, err := u.Members(ctx, roomID)
	if err != nil {
		return err
	}
	if members[userID] == membership {
		return nil
	}
	_, err = w.Next(ctx, func(e Event) bool {
		return e.Type == "m.room.member" && e.StateKey != nil && *e.StateKey == userID && e.Membership() == membership
	})
	return err
}

// WaitForInvite waits until this user is invited to a room.
func (u *User) WaitForInvite(ctx context.Context, roomID string) error {
	var opts SyncOptions
	for {
		news, err := u.Sync(ctx, opts)
		if err != nil {
			return fmt.Errorf("wait for an invite to %s: %w", roomID, err)
		}
		if _, ok := news.Rooms.Invite[roomID]; ok {
			return nil
		}
		opts = SyncOptions{Since: news.NextBatch, Timeout: watchPoll}
	}
}
