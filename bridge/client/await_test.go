package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// within says whether each pause between the requests is in its range.
func (s *script) within(t *testing.T, ranges ...[2]time.Duration) {
	t.Helper()
	if len(s.at) != len(ranges)+1 {
		t.Fatalf("%d requests, want %d", len(s.at), len(ranges)+1)
	}
	for i, r := range ranges {
		if d := s.at[i+1].Sub(s.at[i]); d < r[0] || d > r[1] {
			t.Errorf("request %d came %s after the one before, want %s–%s", i+2, d, r[0], r[1])
		}
	}
}

func TestAwaitHoldsAndPollsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, early := ok(t, pendingQuestion("q_1")), ok(t, pendingQuestion("q_1"))
		held.after, early.after = 25*time.Second, 20*time.Second
		var polls []Poll
		s := &script{replies: []reply{held, early, ok(t, pendingQuestion("q_1")), ok(t, answeredQuestion("q_1", "deny", "No"))}}
		c := scripted(t, s, func(cfg *Config) { cfg.OnPoll = func(p Poll) { polls = append(polls, p) } })
		o, err := c.Await(t.Context(), "q_1")
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := o.Value(); !ok || v != "deny" || !o.Answered() {
			t.Errorf("got %v", o)
		}
		if got := s.asked[0].URL.RequestURI(); got != "/api/agent/questions/q_1/wait?timeout=25" {
			t.Errorf("asked %s", got)
		}
		exactly := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
		s.within(t, exactly(25*time.Second), exactly(21*time.Second), exactly(time.Second))
		if len(polls) != 3 || polls[0].RetryIn != 0 || polls[1].RetryIn != time.Second || polls[0].Question.ID != "q_1" || polls[0].Err != nil {
			t.Errorf("told of %v", polls)
		}
	})
}

func TestAwaitBacksOff(t *testing.T) {
	const s1 = time.Second
	lost := reply{err: errors.New("connection refused")}
	busy := problemReply(http.StatusTooManyRequests, `{"code": "rate_limited", "retry_after": 7}`)
	later := reply{status: http.StatusServiceUnavailable, header: map[string]string{"Retry-After": "90"}}
	never := reply{status: http.StatusServiceUnavailable, header: map[string]string{"Retry-After": "999999999999"}}
	garbage := reply{status: http.StatusOK, body: "<html>starting up</html>"}
	half := [2]time.Duration{s1 / 4, s1 / 2}
	tests := []struct {
		name    string
		replies []reply
		pauses  [][2]time.Duration
	}{
		{
			"longer and longer, up to half a minute", []reply{lost, lost, lost, lost, lost, lost, lost, lost, lost},
			[][2]time.Duration{
				half, {s1 / 2, s1}, {s1, 2 * s1}, {2 * s1, 4 * s1}, {4 * s1, 8 * s1}, {8 * s1, 16 * s1}, {15 * s1, 30 * s1},
				{15 * s1, 30 * s1}, {15 * s1, 30 * s1},
			},
		},
		{"retry_after of the problem", []reply{busy}, [][2]time.Duration{{7 * s1, 8 * s1}}},
		{"Retry-After", []reply{later}, [][2]time.Duration{{90 * s1, 91 * s1}}},
		{"Retry-After beyond reason", []reply{never}, [][2]time.Duration{{300 * s1, 301 * s1}}},
		{"a body that is no question", []reply{garbage}, [][2]time.Duration{half}},
		{"an empty body", []reply{{status: http.StatusOK}}, [][2]time.Duration{half}},
		{"another question", []reply{ok(t, answeredQuestion("q_2", "approve", "Yes"))}, [][2]time.Duration{half}},
		{"500", []reply{{status: 500}}, [][2]time.Duration{half}},
		{"502", []reply{{status: 502, body: "<html>"}}, [][2]time.Duration{half}},
		{"408", []reply{{status: 408}}, [][2]time.Duration{half}},
		{
			"a good poll in between starts over", []reply{lost, lost, ok(t, pendingQuestion("q_1")), lost},
			[][2]time.Duration{half, {s1 / 2, s1}, {s1, s1}, half},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{replies: append(tt.replies, ok(t, answeredQuestion("q_1", "approve", "Yes")))}
				o, err := scripted(t, s).Await(t.Context(), "q_1")
				if err != nil {
					t.Fatal(err)
				}
				if !o.Chose("approve") {
					t.Errorf("got %v", o)
				}
				s.within(t, tt.pauses...)
			})
		})
	}
}

func TestAwaitTriesAgainWhenAPollHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure error
		s := &script{replies: []reply{{after: time.Hour}, ok(t, answeredQuestion("q_1", "approve", "Yes"))}}
		c := scripted(t, s, func(cfg *Config) {
			cfg.RequestTimeout = 10 * time.Second
			cfg.HTTPClient.Timeout = time.Second // must not cut a poll that is held
			cfg.OnPoll = func(p Poll) { failure = p.Err }
		})
		if o, err := c.Await(t.Context(), "q_1"); err != nil || !o.Chose("approve") {
			t.Fatalf("got %v, %v", o, err)
		}
		if failure == nil || !strings.Contains(failure.Error(), "did not respond within 35s") || errors.Is(failure, context.DeadlineExceeded) {
			t.Errorf("the poll failed with %v", failure)
		}
	})
}

func TestAwaitGivesUpOnADefiniteRefusal(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 410, 422, 301, 307} {
		s := &script{replies: []reply{problemReply(status, `{"code": "question_not_found", "detail": "There is no such question."}`)}}
		_, err := scripted(t, s).Await(t.Context(), "q_1")
		var e *Error
		if !errors.As(err, &e) || e.Status != status || len(s.asked) != 1 {
			t.Errorf("%d: got %v after %d requests", status, err, len(s.asked))
		}
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	tests := map[string][]reply{
		"while a poll is held":   {{after: time.Hour}},
		"while it backs off":     {{status: 503, header: map[string]string{"Retry-After": "200"}}},
		"between two early ones": {ok(t, pendingQuestion("q_1"))},
	}
	for name, replies := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := scripted(t, &script{replies: replies}).Await(ctx, "q_1")
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 9500*time.Millisecond {
					t.Errorf("got %v after %s", err, time.Since(start))
				}
				if !strings.Contains(err.Error(), "q_1") {
					t.Errorf("%v does not name the question", err)
				}
				if named := strings.Contains(err.Error(), "503"); named != (replies[0].status == 503) {
					t.Errorf("%v: the last failure", err)
				}
			})
		})
	}
}

func TestOutcomesAreNotConfused(t *testing.T) {
	typed := answeredQuestion("q_1", "", "")
	typed.Answer.Value, typed.Answer.Label, typed.Answer.Text = nil, nil, new("")
	set := answeredQuestion("q_1", "", "")
	set.Answer.Value, set.Answer.Label = nil, nil
	set.Answer.Items = []schema.AnswerItem{{Header: "Env", Selected: []string{"a", "b"}, Labels: []string{"A", "B"}}}
	tests := []struct {
		name                        string
		question                    schema.Question
		answered, silent, withdrawn bool
		value, text                 bool
		items                       int
	}{
		{"said no", answeredQuestion("q_1", "deny", "No"), true, false, false, true, false, 0},
		{"typed nothing", typed, true, false, false, false, true, 0},
		{"a set", set, true, false, false, false, false, 1},
		{"no answer", endedQuestion("q_1", schema.Expired), false, true, false, false, false, 0},
		{"withdrawn", endedQuestion("q_1", schema.Cancelled), false, false, true, false, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := scripted(t, &script{replies: []reply{ok(t, tt.question)}}).Await(t.Context(), "q_1")
			if err != nil {
				t.Fatal(err)
			}
			_, value := o.Value()
			_, label := o.Label()
			_, text := o.Text()
			_, responder := o.Responder()
			if o.Answered() != tt.answered || o.NoAnswer() != tt.silent || o.Withdrawn() != tt.withdrawn {
				t.Errorf("answered %t, no answer %t, withdrawn %t", o.Answered(), o.NoAnswer(), o.Withdrawn())
			}
			if value != tt.value || label != tt.value || text != tt.text || len(o.Items()) != tt.items || responder != tt.answered {
				t.Errorf("value %t, label %t, text %t, items %v, responder %t", value, label, text, o.Items(), responder)
			}
			if o.Chose("") || o.Chose("approve") || o.Chose("deny") != tt.value {
				t.Error("chose what was not chosen")
			}
		})
	}
	if _, ok := (&Question{Question: pendingQuestion("q_1")}).Outcome(); ok {
		t.Error("a pending question has an outcome")
	}
}
