package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// How long the worker keeps at an event that cannot be handled. Homeservers are down for hours; a fault of ours is not
// worth the rest of its room.
const (
	firstBackOff   = time.Second
	longestBackOff = time.Minute
	giveUpAfter    = 24 * time.Hour // and after so many tries, for we may have been away ourselves:
	triesAllowed   = 100
	panicsAllowed  = 5
	idlePoll       = 30 * time.Second
)

// worker handles the stored events: in order within a room, several rooms at once. It is woken by new events and by the
// moment when a postponed one is due.
type worker struct {
	s      *Service
	engine Engine

	mu   sync.Mutex
	busy map[bridge.ConversationID]bool
	due  map[bridge.ConversationID]time.Time // when the postponed event of a room is due, as far as we know
	done sync.WaitGroup
}

// run works until ctx ends, and returns when everything it began has ended.
func (w *worker) run(ctx context.Context) {
	w.busy, w.due = map[bridge.ConversationID]bool{}, map[bridge.ConversationID]time.Time{}
	defer w.done.Wait()
	for ctx.Err() == nil {
		w.start(ctx)
		timer := time.NewTimer(w.untilDue())
		select {
		case <-ctx.Done():
		case <-w.s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// start begins the next event of every room that none is being handled of.
func (w *worker) start(ctx context.Context) {
	now := w.s.clock.Now()
	busy := w.look(now)
	free := w.s.cfg.RoomsAtOnce - len(busy)
	if free <= 0 {
		return
	}
	events, err := w.s.store.NextEvents(ctx, now, free+len(busy))
	if err != nil {
		if ctx.Err() == nil {
			zerolog.Ctx(ctx).Error().Err(err).Msg("Could not read the inbox")
			w.again("", now.Add(firstBackOff))
		}
		return
	}
	for _, ev := range events {
		// A room that was busy before the inbox was read may have finished this very event since.
		if busy[ev.Conversation] || free == 0 {
			continue
		}
		free--
		w.hold(ev.Conversation, true)
		w.done.Go(func() {
			w.one(ctx, ev)
			w.hold(ev.Conversation, false)
			w.s.arrived()
		})
	}
}

// look gives the rooms that an event is being handled of, and forgets what is due by now.
func (w *worker) look(now time.Time) map[bridge.ConversationID]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.due, func(_ bridge.ConversationID, due time.Time) bool { return !due.After(now) })
	return maps.Clone(w.busy)
}

func (w *worker) hold(room bridge.ConversationID, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if busy {
		w.busy[room] = true
	} else {
		delete(w.busy, room)
	}
}

func (w *worker) again(room bridge.ConversationID, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due[room] = at
}

func (w *worker) untilDue() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := idlePoll
	for _, due := range w.due {
		wait = min(wait, due.Sub(w.s.clock.Now()))
	}
	return max(wait, time.Millisecond)
}

// one handles one event. What fails is tried again later, and at last set aside: it never holds its room up for ever.
func (w *worker) one(ctx context.Context, ev bridge.InboxEvent) {
	log := zerolog.Ctx(ctx).With().Str("event_id", string(ev.ID)).Str("room_id", string(ev.Conversation)).Logger()
	ctx = log.WithContext(ctx)
	err := w.safely(ctx, ev)
	if err == nil || ctx.Err() != nil {
		return
	}
	var aside *unusable
	var crash *crashed
	now := w.s.clock.Now()
	switch {
	case errors.As(err, &aside), errors.As(err, &crash) && ev.Attempts >= panicsAllowed,
		now.Sub(ev.ReceivedAt) > giveUpAfter && ev.Attempts >= triesAllowed:
		log.Error().Err(err).Msg("An event cannot be handled; it is kept aside")
		err = w.s.store.SetAside(ctx, ev.ID, err.Error())
	default:
		until := now.Add(backOff(ev.Attempts, err))
		log.Warn().Err(err).Time("until", until).Msg("An event has to wait")
		w.again(ev.Conversation, until)
		err = w.s.store.PostponeEvent(ctx, ev.ID, until, err.Error())
	}
	if err != nil && ctx.Err() == nil {
		log.Error().Err(err).Msg("Could not postpone an event")
		w.again(ev.Conversation, now.Add(firstBackOff))
	}
}

// safely turns a crash of the handling into an error.
func (w *worker) safely(ctx context.Context, ev bridge.InboxEvent) (err error) {
	defer func() {
		if r := recover(); r != nil {
			zerolog.Ctx(ctx).Error().Bytes("stack", debug.Stack()).Msg("Handling an event crashed")
			err = &crashed{fmt.Sprintf("%T", r)}
		}
	}()
	return w.handle(ctx, ev)
}

func backOff(attempts int, err error) time.Duration {
	var retry *bridge.ErrRetry
	if errors.As(err, &retry) {
		return retry.After
	}
	wait := firstBackOff << min(max(attempts, 0), 6)
	return min(wait, longestBackOff)
}

// unusable is an event that no later try can handle.
type unusable struct{ why string }

func (e *unusable) Error() string { return e.why }

// crashed is a panic; what it said may hold what a person wrote, so only its type is kept.
type crashed struct{ kind string }

func (e *crashed) Error() string { return "the handling crashed on a " + e.kind }
