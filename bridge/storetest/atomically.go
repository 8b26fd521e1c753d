package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// changes makes a change of every sort to a question, and asks another one.
func (k *kit) changes(ctx context.Context, old, fresh bridge.Question) error {
	if err := k.CreateQuestion(ctx, fresh); err != nil {
		return err
	}
	if _, _, err := k.Settle(ctx, answered(old.ID, 1, start)); err != nil {
		return err
	}
	p := bridge.Posting{Question: old.ID, Conversation: room, Messages: messages("$m"), Progress: json.RawMessage(`1`), ChangedAt: start}
	if err := k.SavePosting(ctx, p); err != nil {
		return err
	}
	if err := k.KeepReply(ctx, bridge.Reply{ID: "$r", Conversation: room, Question: old.ID}); err != nil {
		return err
	}
	if _, err := k.FirstTime(ctx, old.ID, "key"); err != nil {
		return err
	}
	return k.AddEffects(ctx, bridge.Effect{Kind: "k", Question: fresh.ID, Key: "a", Due: start})
}

// untouched demands that nothing of changes is there, and that the store still takes writes.
func (k *kit) untouched(old, fresh bridge.Question) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.outside(), 10*time.Second)
	defer cancel()
	k.is("question", got(k.Question(ctx, old.ID))(k), old)
	_, err := k.Question(ctx, fresh.ID)
	k.code("the other question", err, bridge.CodeNotFound)
	absent(k.QuestionOf(ctx, room, "$m"))(k)
	absent(k.Reply(ctx, "$r"))(k)
	absent(k.NextEffect(ctx))(k)
	k.is("first time", got(k.FirstTime(ctx, old.ID, "key"))(k), true)
}

var errStop = errors.New("stop")

var atomically = []promise{
	{"all of it is stored", func(k *kit) {
		old, fresh := k.ask(), k.question()
		k.ok(k.Atomically(k.Context(), func(ctx context.Context) error { return k.changes(ctx, old, fresh) }))
		k.is("state", k.stored(old.ID).State, bridge.Answered)
		k.is("the other question", k.stored(fresh.ID), fresh)
		only(k.QuestionOf(k.Context(), room, "$m"))(k)
		only(k.Reply(k.Context(), "$r"))(k)
		only(k.NextEffect(k.Context()))(k)
		k.is("first time", got(k.FirstTime(k.Context(), old.ID, "key"))(k), false)
	}},
	{"or nothing, after an error", func(k *kit) {
		old, fresh := k.ask(), k.question()
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.ok(k.changes(ctx, old, fresh))
			return fmt.Errorf("wrapped: %w", errStop)
		})
		k.is("the error comes through", errors.Is(err, errStop), true)
		k.untouched(old, fresh)
	}},
	{"or nothing, after a panic", func(k *kit) {
		old, fresh := k.ask(), k.question()
		func() {
			defer func() { k.is("the panic comes through", recover(), any(errStop)) }()
			_ = k.Atomically(k.Context(), func(ctx context.Context) error {
				k.ok(k.changes(ctx, old, fresh))
				panic(errStop)
			})
		}()
		k.untouched(old, fresh)
	}},
	{"or nothing, when the goroutine ends inside", func(k *kit) {
		old, fresh := k.ask(), k.question()
		parallel(1, func(int) {
			_ = k.Atomically(k.Context(), func(ctx context.Context) error {
				if err := k.changes(ctx, old, fresh); err != nil {
					k.Error(err)
				}
				runtime.Goexit()
				return nil
			})
		})
		k.untouched(old, fresh)
	}},
	{"or nothing, when the context ends before the commit", func(k *kit) {
		old, fresh := k.ask(), k.question()
		ctx, cancel := context.WithCancel(k.Context())
		err := k.Atomically(ctx, func(ctx context.Context) error {
			k.ok(k.changes(ctx, old, fresh))
			cancel()
			return nil
		})
		if err == nil {
			k.Error("no error")
		}
		k.untouched(old, fresh)
	}},
	{"a context that has ended does nothing", func(k *kit) {
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		err := k.Atomically(ctx, func(context.Context) error {
			k.Error("it ran")
			return nil
		})
		k.is("cancelled", errors.Is(err, context.Canceled), true)
		if err := k.CreateQuestion(ctx, k.question()); !errors.Is(err, context.Canceled) {
			k.Errorf("create: %v", err)
		}
	}},
	{"one inside another joins it", func(k *kit) {
		old, fresh := k.ask(), k.question()
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.ok(k.Atomically(ctx, func(ctx context.Context) error { return k.changes(ctx, old, fresh) }))
			k.is("seen by the outer one", got(k.Question(ctx, fresh.ID))(k).ID, fresh.ID)
			return errStop
		})
		k.is("error", errors.Is(err, errStop), true)
		k.untouched(old, fresh)
	}},
	{"what is put off is done after the commit of the outermost, and never without one", func(k *kit) {
		var done []string
		put := func(ctx context.Context, what string) {
			bridge.AfterCommit(ctx, func() { done = append(done, what) })
		}
		q := k.question()
		k.ok(k.Atomically(k.Context(), func(ctx context.Context) error {
			put(ctx, "outer")
			k.ok(k.Atomically(ctx, func(ctx context.Context) error {
				put(ctx, "inner")
				return k.CreateQuestion(ctx, q)
			}))
			k.is("done before the commit", done, []string(nil))
			bridge.AfterCommit(ctx, func() { k.is("stored by then", got(k.Question(k.outside(), q.ID))(k).ID, q.ID) })
			return nil
		}))
		k.is("done", done, []string{"outer", "inner"})
		done = nil
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			put(ctx, "failed")
			return errStop
		})
		k.is("error", errors.Is(err, errStop), true)
		k.is("done without a commit", done, []string(nil))
		put(k.Context(), "at once")
		k.is("done without a transaction", done, []string{"at once"})
	}},
	{"nobody else sees it before the commit", func(k *kit) {
		old, fresh := k.ask(), k.question()
		k.ok(k.Atomically(k.Context(), func(ctx context.Context) error {
			k.ok(k.changes(ctx, old, fresh))
			k.is("outside", got(k.Question(k.outside(), old.ID))(k), old)
			_, err := k.Question(k.outside(), fresh.ID)
			k.code("the other question, outside", err, bridge.CodeNotFound)
			return nil
		}))
	}},
	{"what it reads stays until the end", func(k *kit) {
		q := k.ask()
		const each = 10
		var mu sync.Mutex
		runs := 0
		parallel(6, func(int) {
			for range each {
				err := k.Atomically(k.Context(), func(ctx context.Context) error {
					mu.Lock()
					runs++
					mu.Unlock()
					p, err := k.Posting(ctx, q.ID)
					if err != nil {
						return err
					}
					n := 0
					if p.Progress != nil {
						if err := json.Unmarshal(p.Progress, &n); err != nil {
							return err
						}
					}
					p.Progress = json.RawMessage(fmt.Sprint(n + 1))
					p.ChangedAt = start
					return k.SavePosting(ctx, p)
				})
				if err != nil {
					k.Error(err)
				}
			}
		})
		k.is("counted", string(got(k.Posting(k.Context(), q.ID))(k).Progress), fmt.Sprint(6*each))
		if runs < 6*each {
			k.Errorf("%d runs", runs)
		}
	}},
	{"a question that it reads is not settled by another", func(k *kit) {
		q := k.ask()
		read, settled := make(chan struct{}), make(chan error, 1)
		go func() {
			<-read
			_, _, err := k.Settle(k.outside(), answered(q.ID, 1, start))
			settled <- err
		}()
		k.ok(k.Atomically(k.Context(), func(ctx context.Context) error {
			k.is("before", got(k.Question(ctx, q.ID))(k).State, bridge.Pending)
			close(read)
			select {
			case err := <-settled:
				k.Errorf("it was settled meanwhile: %v", err)
				settled <- err
			case <-time.After(50 * time.Millisecond): // time for it to go wrong
			}
			if state := got(k.Question(ctx, q.ID))(k).State; state != bridge.Pending {
				k.Errorf("it is %s now", state)
			}
			return nil
		}))
		k.ok(<-settled)
		k.is("then", k.stored(q.ID).State, bridge.Answered)
	}},
	{"two that take questions in opposite order both succeed", func(k *kit) {
		a, b := k.ask(), k.ask()
		parallel(6, func(i int) {
			x, y := a.ID, b.ID
			if i%2 == 1 {
				x, y = y, x
			}
			for range 5 {
				err := k.Atomically(k.Context(), func(ctx context.Context) error {
					if err := k.SetDelivery(ctx, x, bridge.Delivery{State: bridge.Posted}); err != nil {
						return err
					}
					runtime.Gosched()
					return k.SetDelivery(ctx, y, bridge.Delivery{State: bridge.Posted})
				})
				if err != nil {
					k.Error(err)
				}
			}
		})
	}},
}
