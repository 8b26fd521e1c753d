// Package outbox does what is owed after commit: it claims effects, runs each by its kind's handler, backs off and in the
// end gives up, visibly.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// Handler does one effect. A nil error means done. *bridge.ErrHeld and *bridge.ErrRetry say when to come back and do not
// count as failures; *bridge.ErrImpossible gives the effect up; any other error is backed off from.
type Handler interface {
	Run(ctx context.Context, f bridge.Effect) error
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(ctx context.Context, f bridge.Effect) error

// Run implements [Handler].
func (h HandlerFunc) Run(ctx context.Context, f bridge.Effect) error { return h(ctx, f) }

// Kind is how one kind of effect is done.
type Kind struct {
	Handler Handler
	// Attempts is how often it may fail before it is given up; 0 is without an end.
	Attempts int
	// Backoff is the wait after the first failure, which doubles with each further one up to MaxBackoff.
	Backoff    time.Duration
	MaxBackoff time.Duration
}

// Store is where a worker finds its effects: all of a [bridge.Outbox], or a part with the same promises.
type Store interface {
	ClaimEffects(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]bridge.Effect, error)
	FinishEffect(ctx context.Context, id int64) error
	PostponeEffect(ctx context.Context, id int64, due time.Time, why string) error
	RetryEffect(ctx context.Context, id int64, due time.Time, why string) error
	FailEffect(ctx context.Context, id int64, why string) error
	NextEffect(ctx context.Context) (at time.Time, ok bool, err error)
}

// Worker runs effects until its context ends. Several may share one store.
type Worker struct {
	Store Store
	Clock bridge.Clock
	Kinds map[bridge.EffectKind]Kind
	// Parallel is how many effects run at once; effects of one question never do.
	Parallel int
	// Lease is how long a claimed effect belongs to us: longer than any handler takes.
	Lease time.Duration
	// Observe hears of each effect that was run: how it went, and how long that took. It may be nil.
	Observe func(f bridge.Effect, r Result, took time.Duration)
	// Grace is how long effects in hand may go on once Run is asked to end. One that is cut off stays owed.
	Grace time.Duration

	once sync.Once
	wake chan struct{}
}

// Result is how one try of an effect went.
type Result string

// The results.
const (
	Done    Result = "done"
	Held    Result = "held"     // it has to wait, and nothing is wrong
	Failed  Result = "failed"   // it will be tried again
	GivenUp Result = "given_up" // for good
)

const (
	idle = 30 * time.Second // the longest sleep: a safety net, not the way work is found
	soon = time.Second      // after a store error

	longestStore = 10 * time.Second // for a result
)

func (w *Worker) init() { w.once.Do(func() { w.wake = make(chan struct{}, 1) }) }

// Wake makes the worker look for effects now. It never blocks.
func (w *Worker) Wake() {
	w.init()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, and returns after the effects in hand are done or cut off.
func (w *Worker) Run(ctx context.Context) error {
	w.init()
	inHand, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(w.Grace, cut) })()
	slots := make(chan struct{}, max(w.Parallel, 1))
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		free := cap(slots) - len(slots)
		var claimed []bridge.Effect
		if free > 0 {
			var err error
			if claimed, err = w.Store.ClaimEffects(ctx, w.Clock.Now(), w.Lease, free); err != nil && ctx.Err() == nil {
				zerolog.Ctx(ctx).Err(err).Msg("Effects could not be claimed")
			}
		}
		for _, f := range claimed {
			slots <- struct{}{}
			running.Go(func() {
				w.do(inHand, f)
				<-slots
				w.Wake()
			})
		}
		if len(claimed) > 0 && len(claimed) == free {
			continue // there may be more, as soon as a slot is free
		}
		w.sleep(ctx)
	}
	return nil
}

func (w *Worker) sleep(ctx context.Context) {
	wait := idle
	switch next, ok, err := w.Store.NextEffect(ctx); {
	case err != nil:
		wait = soon
	case ok:
		wait = min(wait, max(next.Sub(w.Clock.Now()), time.Millisecond))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-w.wake:
	}
}

func (w *Worker) do(ctx context.Context, f bridge.Effect) {
	log := zerolog.Ctx(ctx).With().Str("question_id", string(f.Question)).Str("effect", string(f.Kind)).Int("attempt", f.Attempts).Logger()
	ctx = log.WithContext(ctx)
	kind, ok := w.Kinds[f.Kind]
	if !ok {
		w.keep(ctx, f, w.Store.FailEffect(ctx, f.ID, "no handler for this kind"))
		return
	}
	began := time.Now()
	err := run(ctx, kind.Handler, f)
	took := time.Since(began)
	if ctx.Err() != nil && err != nil {
		return // cut off: the lease ends, and the effect is claimed again
	}
	// What was done while we were asked to stop is written down all the same, or it would be done twice.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestStore)
	defer cancel()
	result, err := w.record(storing, kind, f, err)
	if w.Observe != nil {
		w.Observe(f, result, took)
	}
	w.keep(ctx, f, err)
}

// record stores how an effect went. The error is of the store.
func (w *Worker) record(ctx context.Context, kind Kind, f bridge.Effect, err error) (Result, error) {
	var held *bridge.ErrHeld
	var retry *bridge.ErrRetry
	var impossible *bridge.ErrImpossible
	switch {
	case err == nil:
		return Done, w.Store.FinishEffect(ctx, f.ID)
	case errors.As(err, &held): // not even tried
		zerolog.Ctx(ctx).Debug().Str("reason", held.Reason).Msg("Held")
		return Held, w.Store.PostponeEffect(ctx, f.ID, w.Clock.Now().Add(held.Again), held.Reason)
	case kind.Attempts == 1:
		zerolog.Ctx(ctx).Warn().Err(err).Msg("An effect that is tried once failed")
		return GivenUp, w.Store.FinishEffect(ctx, f.ID)
	case errors.As(err, &retry):
		zerolog.Ctx(ctx).Warn().Err(err).Dur("after", retry.After).Msg("Told to come back")
		return Failed, w.Store.PostponeEffect(ctx, f.ID, w.Clock.Now().Add(retry.After), err.Error())
	case errors.As(err, &impossible):
		zerolog.Ctx(ctx).Error().Err(err).Msg("Gave an effect up")
		return GivenUp, w.Store.FailEffect(ctx, f.ID, impossible.Reason)
	case kind.Attempts > 0 && f.Failures+1 >= kind.Attempts:
		zerolog.Ctx(ctx).Error().Err(err).Msg("Gave an effect up")
		return GivenUp, w.Store.FailEffect(ctx, f.ID, err.Error())
	}
	wait := Backoff(kind, f.Failures+1)
	zerolog.Ctx(ctx).Warn().Err(err).Dur("after", wait).Msg("An effect failed and will be tried again")
	return Failed, w.Store.RetryEffect(ctx, f.ID, w.Clock.Now().Add(wait), err.Error())
}

// keep logs that a result could not be stored: the lease will end and the effect will run again, which every handler
// must bear.
func (w *Worker) keep(ctx context.Context, f bridge.Effect, err error) {
	if err != nil {
		zerolog.Ctx(ctx).Err(err).Int64("effect_id", f.ID).Msg("The result of an effect could not be stored")
	}
}

// run turns a panic of a handler into an error: one bad effect must not stop the others. What it said may hold what a
// person wrote, so only its type is kept.
func run(ctx context.Context, h Handler, f bridge.Effect) (err error) {
	defer func() {
		if p := recover(); p != nil {
			zerolog.Ctx(ctx).Error().Bytes("stack", debug.Stack()).Msg("An effect crashed")
			err = fmt.Errorf("the handler crashed on a %T", p)
		}
	}()
	return h.Run(ctx, f)
}

// Backoff is the wait after the given number of failures: doubled each time, at most the kind's maximum, and spread by a
// quarter either way so that retries do not come in lockstep.
func Backoff(k Kind, failures int) time.Duration {
	wait := k.Backoff
	for i := 1; i < failures && wait < k.MaxBackoff; i++ {
		wait *= 2
	}
	wait = min(wait, k.MaxBackoff)
	return wait*3/4 + rand.N(wait/2+1)
}
