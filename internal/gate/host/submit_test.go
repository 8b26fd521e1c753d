package host_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/schema"
)

// What a person chose is submitted as theirs, through us, with the query's capability; the receipt is kept, and the
// capability no longer.
func TestAnAnswerIsSubmitted(t *testing.T) {
	for choice, text := range map[bridge.OptionID]bool{"approved": false, "declined": false, "Better, é & <b>": true} {
		r := newRig(t, "127.0.0.1")
		ask := r.query(0, nil)
		if text {
			ask = r.query(1, func(q *schema.Query) { q.RequestedRespondent = schema.RespondentHuman })
		}
		q := r.asked(ask)
		r.collector.answer = receipt(http.StatusOK, nil)
		f := r.answered(q, choice)
		a, err := r.tried(f, 1)
		if err != nil || a.Status != host.Accepted || a.Next != nil || a.Refused != "" || a.Receipt == nil || a.Query.Delivery.Capability != "" {
			t.Errorf("%s: ended as %+v, %v", choice, a, err)
		}
		response, err := schema.Decode[schema.Response]([]byte(r.collector.bodies[0]))
		r.ok(err)
		want := schema.Response{
			ProtocolVersion: schema.ProtocolVersion, QueryID: ask.Query.QueryID, ResponseID: f.Key,
			Respondent: schema.Respondent{Kind: "human"}, Provenance: "mediated", RespondedAt: "2026-07-30T17:00:00Z",
		}
		if want.Answer.Choice = (*string)(&choice); text {
			want.Answer = schema.ResponseAnswer{Text: (*string)(&choice)}
		}
		if !reflect.DeepEqual(*response, want) {
			t.Errorf("submitted %s", r.collector.bodies[0])
		}
		if r.collector.auth[0] != "Bearer capability-of-this-query" {
			t.Errorf("by %q", r.collector.auth[0])
		}
		if len(r.notified) != 1 || r.notified[0] != q.ID {
			t.Errorf("woke %v", r.notified)
		}
		if _, err := r.tried(f, 2); err != nil || len(r.collector.bodies) != 1 {
			t.Errorf("submitted again after its end: %v", err)
		}
	}
}

// Silence and a withdrawal submit nothing.
func TestSilenceSubmitsNothing(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	q := r.asked(r.query(0, nil))
	r.clock.Move(2 * time.Hour)
	n, err := r.engine.Expire(t.Context(), 10)
	r.ok(err)
	other := r.asked(r.query(0, func(q *schema.Query) {
		q.QueryID, q.ExpiresAt = "0198c7cb-1af1-7e79-bd7f-02f8a89b8858", "2026-07-30T23:00:00Z"
	}))
	_, err = r.engine.Cancel(t.Context(), agent, other.ID)
	r.ok(err)
	if all := r.submissions(); n != 1 || len(all) > 0 {
		t.Errorf("%d expired, owed %v", n, all)
	}
	for id, state := range map[bridge.QuestionID]bridge.State{q.ID: bridge.Expired, other.ID: bridge.Cancelled} {
		a, _, err := r.host.Of(t.Context(), id)
		r.ok(err)
		if shown, next := a.Show(state); shown.Status != "none" || shown.ResponseID != nil || next != nil || !a.Ended(state) || a.Ended(bridge.Pending) {
			t.Errorf("shown as %+v, %v", shown, next)
		}
	}
}

// What may work later is tried again, always with the same bytes, until the query expires; what cannot is not.
func TestTriesUntilThereIsAReceipt(t *testing.T) {
	retryable := func(r *schema.Receipt) { r.Status, r.Retryable = schema.ReceiptRejected, true }
	stranger := func(r *schema.Receipt) { r.ResponseID = "0198c7d0-2180-7729-b005-d33c99fc7452" }
	another := func(r *schema.Receipt) { r.QueryID = "0198c7d0-2180-7729-b005-d33c99fc7452" }
	for name, answer := range map[string]func(http.ResponseWriter, schema.Response){
		"503": plain(503, ""), "500": plain(500, "oops"), "429": plain(429, ""), "408": plain(408, ""), "a connection that is lost": func(http.ResponseWriter, schema.Response) { panic(http.ErrAbortHandler) },
		"200 and nothing": plain(200, ""), "200 and another document": plain(200, `{"status":"accepted"}`), "404 that says so": plain(404, `{"retryable":true}`),
		"a receipt that says so": receipt(409, retryable), "a receipt of another response": receipt(200, stranger), "a receipt of another query": receipt(200, another),
		"a receipt that is cut": plain(200, `{"protocolVersion": "2026-07-30",`+strings.Repeat(" ", schema.MaxBytes)+`}`),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "127.0.0.1")
			q := r.asked(r.query(0, nil))
			f := r.answered(q, "approved")
			r.collector.answer = answer
			for n := 1; n <= 3; n++ {
				var impossible *bridge.ErrImpossible
				if a, err := r.tried(f, n); err == nil || errors.As(err, &impossible) || a.Status != host.Submitting {
					t.Fatalf("try %d: %+v, %v", n, a, err)
				}
			}
			for _, body := range r.collector.bodies {
				if body != r.collector.bodies[0] {
					t.Errorf("submitted %s and %s", r.collector.bodies[0], body)
				}
			}
			r.clock.Move(2 * time.Hour)
			tried := len(r.collector.bodies)
			a, err := r.tried(f, 4)
			var impossible *bridge.ErrImpossible
			if !errors.As(err, &impossible) || a.Status != host.Failed || a.Reason != host.ReasonNoReceipt || len(r.collector.bodies) != tried || len(r.notified) != 1 {
				t.Errorf("after the expiry: %+v, %v", a, err)
			}
		})
	}
}

// The first try is made after the expiry too: only the collector knows whether that is too late.
func TestTheFirstTryIsAlwaysMade(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	f := r.answered(r.asked(r.query(0, nil)), "approved")
	r.clock.Move(2 * time.Hour)
	r.collector.answer = receipt(http.StatusGone, func(r *schema.Receipt) { r.Status = schema.ReceiptExpired })
	if a, err := r.tried(f, 1); err != nil || a.Status != host.Expired {
		t.Errorf("ended as %+v, %v", a, err)
	}
}

// A collector that asks for patience gets it, until the query expires.
func TestPatience(t *testing.T) {
	for asked, want := range map[string]time.Duration{"60": time.Minute, "86400": 2 * time.Hour} {
		r := newRig(t, "127.0.0.1")
		f := r.answered(r.asked(r.query(0, nil)), "approved")
		r.collector.answer = plain(503, "", "Retry-After", asked)
		_, err := r.tried(f, 1)
		var later *bridge.ErrRetry
		if !errors.As(err, &later) || later.After != want {
			t.Errorf("asked for %s: %v", asked, err)
		}
	}
}

// Where the word is the last one, there is no other try, and it is said why.
func TestTheLastWord(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, schema.Response)
		status host.Status
		reason string
		given  bool // given up, as the outbox sees it
	}{
		"duplicate":        {receipt(200, func(r *schema.Receipt) { r.Status = schema.ReceiptDuplicate }), host.Duplicate, "", false},
		"expired":          {receipt(410, func(r *schema.Receipt) { r.Status = schema.ReceiptExpired }), host.Expired, "", false},
		"rejected":         {receipt(409, func(r *schema.Receipt) { r.Status, r.Reason = schema.ReceiptRejected, "already_answered" }), host.Rejected, "already_answered", false},
		"a 500 that knows": {receipt(500, nil), host.Accepted, "", false},
		"unknown":          {plain(404, `{"status":404,"retryable":false}`), host.Failed, host.ReasonRefused, true},
		"403":              {plain(403, ""), host.Failed, host.ReasonRefused, true},
		"a redirect":       {plain(308, "", "Location", "https://127.0.0.1/"), host.Failed, host.ReasonRefused, true},
		"503 for ever":     {plain(503, `{"retryable":false}`), host.Failed, host.ReasonRefused, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "127.0.0.1")
			f := r.answered(r.asked(r.query(0, nil)), "approved")
			r.collector.answer = c.answer
			a, err := r.tried(f, 1)
			var impossible *bridge.ErrImpossible
			if a.Status != c.status || a.Reason != c.reason || errors.As(err, &impossible) != c.given || err != nil && !c.given {
				t.Errorf("ended as %+v, %v", a, err)
			}
			if len(r.notified) != 1 || len(r.collector.bodies) != 1 {
				t.Errorf("%d wake-ups, %d tries", len(r.notified), len(r.collector.bodies))
			}
		})
	}
}

// The guard has the last word on where an answer goes.
func TestTheGuardIsAskedAtTheCallToo(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	f := r.answered(r.asked(r.query(0, nil)), "approved")
	closed := newRig(t)
	r.submitter.Caller = closed.submitter.Caller
	if a, _ := r.tried(f, 1); a.Status != host.Failed || a.Reason != host.ReasonEndpoint || len(r.collector.bodies) > 0 {
		t.Errorf("ended as %+v", a)
	}
}

// What a person typed and is erased since is not made up; what they chose still counts.
func TestAForgottenPersonSubmitsNoText(t *testing.T) {
	for choice, want := range map[bridge.OptionID]host.Status{"typed": host.Failed, "approved": host.Accepted} {
		r := newRig(t, "127.0.0.1")
		ask := r.query(0, nil)
		if choice == "typed" {
			ask = r.query(1, func(q *schema.Query) { q.RequestedRespondent = schema.RespondentHuman })
		}
		f := r.answered(r.asked(ask), choice)
		_, err := r.store.ForgetPerson(t.Context(), forgotten())
		r.ok(err)
		r.collector.answer = receipt(http.StatusOK, nil)
		if a, _ := r.tried(f, 1); a.Status != want || want == host.Failed && a.Reason != host.ReasonForgotten {
			t.Errorf("%s: ended as %+v", choice, a)
		}
		if raw, _ := json.Marshal(r.collector.bodies); strings.Contains(string(raw), bridge.Erased) {
			t.Errorf("submitted %s", raw)
		}
	}
}
