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
	"superpipeline.dev/question-bridge/internal/demand"
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
	k.Is("question", demand.Got(k.Question(ctx, old.ID))(k), old)
	_, err := k.Question(ctx, fresh.ID)
	k.code("the other question", err, bridge.CodeNotFound)
	absent(k.QuestionOf(ctx, room, "$m"))(k)
	absent(k.Reply(ctx, "$r"))(k)
	absent(k.NextEffect(ctx))(k)
	k.Is("first time", demand.Got(k.FirstTime(ctx, old.ID, "key"))(k), true)
}

var errStop = errors.New("stop")

var atomically = []promise{
	{"all of it is stored", func(k *kit) {
		old, fresh := k.ask(), k.question()
		k.OK(k.Atomically(k.Context(), func(ctx context.Context) error { return k.changes(ctx, old, fresh) }))
		k.Is("state", k.stored(old.ID).State, bridge.Answered)
		k.Is("the other question", k.stored(fresh.ID), fresh)
		only(k.QuestionOf(k.Context(), room, "$m"))(k)
		only(k.Reply(k.Context(), "$r"))(k)
		only(k.NextEffect(k.Context()))(k)
		k.Is("first time", demand.Got(k.FirstTime(k.Context(), old.ID, "key"))(k), false)
	}},
	{"or nothing, after an error", func(k *kit) {
		old, fresh := k.ask(), k.question()
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.OK(k.changes(ctx, old, fresh))
			return fmt.Errorf("wrapped: %w", errStop)
		})
		k.Is("the error comes through", errors.Is(err, errStop), true)
		k.untouched(old, fresh)
	}},
	{"or nothing, after a panic", func(k *kit) {
		old, fresh := k.ask(), k.question()
		func() {
			defer func() { k.Is("the panic comes through", recover(), any(errStop)) }()
			_ = k.Atomically(k.Context(), func(ctx context.Context) error {
				k.OK(k.changes(ctx, old, fresh))
				panic(errStop)
			})
		}()
		k.untouched(old, fresh)
	}},
	{"or nothing, when the goroutine ends inside", func(k *kit) {
		old, fresh := k.ask(), k.question()
		demand.Parallel(1, func(int) {
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
			k.OK(k.changes(ctx, old, fresh))
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
		k.Is("cancelled", errors.Is(err, context.Canceled), true)
		if err := k.CreateQuestion(ctx, k.question()); !errors.Is(err, context.Canceled) {
			k.Errorf("create: %v", err)
		}
	}},
	{"one inside another joins it", func(k *kit) {
		old, fresh := k.ask(), k.question()
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.OK(k.Atomically(ctx, func(ctx context.Context) error { return k.changes(ctx, old, fresh) }))
			k.Is("seen by the outer one", demand.Got(k.Question(ctx, fresh.ID))(k).ID, fresh.ID)
			return errStop
		})
		k.Is("error", errors.Is(err, errStop), true)
		k.untouched(old, fresh)
	}},
	{"what is put off is done after the commit of the outermost, and never without one", func(k *kit) {
		var done []string
		put := func(ctx context.Context, what string) {
			bridge.AfterCommit(ctx, func() { done = append(done, what) })
		}
		q := k.question()
		k.OK(k.Atomically(k.Context(), func(ctx context.Context) error {
			put(ctx, "outer")
			k.OK(k.Atomically(ctx, func(ctx context.Context) error {
				put(ctx, "inner")
				return k.CreateQuestion(ctx, q)
			}))
			k.Is("done before the commit", done, []string(nil))
			bridge.AfterCommit(ctx, func() { k.Is("stored by then", demand.Got(k.Question(k.outside(), q.ID))(k).ID, q.ID) })
			return nil
		}))
		k.Is("done", done, []string{"outer", "inner"})
		done = nil
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			put(ctx, "failed")
			return errStop
		})
		k.Is("error", errors.Is(err, errStop), true)
		k.Is("done without a commit", done, []string(nil))
		put(k.Context(), "at once")
		k.Is("done without a transaction", done, []string{"at once"})
	}},
	{"nobody else sees it before the commit", func(k *kit) {
		old, fresh := k.ask(), k.question()
		k.OK(k.Atomically(k.Context(), func(ctx context.Context) error {
			k.OK(k.changes(ctx, old, fresh))
			k.Is("outside", demand.Got(k.Question(k.outside(), old.ID))(k), old)
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
		demand.Parallel(6, func(int) {
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
		k.Is("counted", string(demand.Got(k.Posting(k.Context(), q.ID))(k).Progress), fmt.Sprint(6*each))
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
		k.OK(k.Atomically(k.Context(), func(ctx context.Context) error {
			k.Is("before", demand.Got(k.Question(ctx, q.ID))(k).State, bridge.Pending)
			close(read)
			select {
			case err := <-settled:
				k.Errorf("it was settled meanwhile: %v", err)
				settled <- err
			case <-time.After(50 * time.Millisecond): // time for it to go wrong
			}
			if state := demand.Got(k.Question(ctx, q.ID))(k).State; state != bridge.Pending {
				k.Errorf("it is %s now", state)
			}
			return nil
		}))
		k.OK(<-settled)
		k.Is("then", k.stored(q.ID).State, bridge.Answered)
	}},
	{"two that take questions in opposite order both succeed", func(k *kit) {
		a, b := k.ask(), k.ask()
		demand.Parallel(6, func(i int) {
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
