package httpapi

import (
	"io"
	"net/http"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// holdSeconds is how long a wait may hold, in seconds; integers beyond are clamped.
var holdSeconds = bounds{otherwise: 20, low: 0, high: 30}

// wait gives a question as soon as it is settled, and the answer to a query submitted, and as it stands once the timeout
// is over: still pending is 200 like any other state, and no decision. Between its reads it holds nothing but its place
// in the hub.
//
// A settling in this process wakes it. It also looks again every Config.Reread: only for what another process on the
// same database settles, which the hub cannot know.
func (s *server) wait(w http.ResponseWriter, r *http.Request) error {
	a, err := apart(func() (a *awaited, err error) {
		err = s.reading(func(_ http.ResponseWriter, r *http.Request, who reader) error {
			a, err = awaitedBy(r, who)
			return err
		})(w, r)
		return a, err
	})
	if err != nil {
		return err
	}
	q, err := s.await(w, r, a)
	if err != nil {
		s.readRefused(r, a.who, err)
		return err
	}
	return s.replyQuestion(w, r, a.who, q)
}

// awaitedBy reads what is waited for, and how long.
func awaitedBy(r *http.Request, who reader) (*awaited, error) {
	id, err := questionID(r)
	if err != nil {
		return nil, err
	}
	p, err := paramsOf(r)
	if err != nil {
		return nil, err
	}
	seconds, err := p.int("timeout", holdSeconds)
	return &awaited{who, id, time.Duration(seconds) * time.Second}, err
}

// replyQuestion is no part of wait, because a question that is handled by value takes a large stack.
//
//go:noinline
func (s *server) replyQuestion(w http.ResponseWriter, r *http.Request, who reader, q *bridge.Question) error {
	shown, err := s.whole(r.Context(), who, *q)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, shown)
}

type awaited struct {
	who  reader
	id   bridge.QuestionID
	hold time.Duration
}

// await waits until the question is settled, and the answer to a query submitted.
func (s *server) await(w http.ResponseWriter, r *http.Request, a *awaited) (q *bridge.Question, err error) {
	err = s.hold(w, r, holding{a.id, a.hold, func() (over bool, err error) {
		q, err = apart(func() (*bridge.Question, error) {
			q, err := s.read(r.Context(), a.who, a.id)
			if err == nil {
				over, err = s.over(r.Context(), q)
			}
			return &q, err
		})
		return over, err
	}})
	return q, err
}

// holding is what a request is held for.
type holding struct {
	on   bridge.QuestionID // what wakes it
	hold time.Duration
	look func() (over bool, err error) // reads what is waited for
}

// hold subscribes, then reads, then sleeps, until the reader says that it is over, the time is over, the server shuts down
// or the client is gone.
func (s *server) hold(w http.ResponseWriter, r *http.Request, h holding) error {
	ctx := r.Context()
	// The server's WriteTimeout counts from the end of the request's header and would cut the wait. Where a deadline
	// cannot be set, there is none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.hold + s.ReplyTimeout))
	// The server sees a client leave only once it is past the body, which a GET seldom has.
	if r.Body != http.NoBody {
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, schema.MaxBytes))
	}
	woken, cancel := s.Hub.Subscribe(h.on)
	defer cancel()
	over := h.hold == 0
	end := time.Now().Add(h.hold)
	again := time.NewTimer(min(s.Reread, h.hold))
	defer again.Stop()
	for {
		if done, err := h.look(); err != nil || over || done {
			return err
		}
		select {
		case _, open := <-woken:
			if over = !open; over {
				w.Header().Set("Connection", "close") // the next wait is for another server, or for this one's next start
			}
		case now := <-again.C:
			over = !now.Before(end)
			again.Reset(min(s.Reread, end.Sub(now)))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
