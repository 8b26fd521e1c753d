package host_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

type reader struct{}

func (reader) SaidBy(raw json.RawMessage, who bridge.UserID) bool { return matrix.SaidBy(raw, who) }
func (reader) Present(member json.RawMessage) bool                { return matrix.Present(member) }
func (reader) ForgetProgress(p json.RawMessage, who bridge.UserID, ended bool) (json.RawMessage, bool) {
	return matrix.ForgetProgress(p, who, ended)
}
func (reader) ForgetIn(document []byte, who bridge.UserID) ([]byte, bool) {
	return dialect.Forget(document, who)
}

func forgotten() sqlstore.Person {
	return sqlstore.Person{ID: "@alice:example.org", Reader: reader{}}
}

// The query that follows an approval is handed over whole, with the endpoint of its predecessor, to who asked and to the
// webhooks that name the event.
func TestTheNextQueryIsHandedOver(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	ask := r.query(0, nil)
	ask.CorrelationID = new("rel-2.4")
	q := r.asked(ask)
	f := r.answered(q, "approved")
	r.collector.answer = receipt(200, func(out *schema.Receipt) { out.NextQuery = r.following(nil) })
	a, err := r.tried(f, 1)
	r.ok(err)
	want := *r.following(func(q *schema.Query) { q.Delivery.Endpoint = ask.Query.Delivery.Endpoint })
	shown, next := a.Show(bridge.Answered)
	got, _ := json.Marshal(next)
	wanted, _ := json.Marshal(want)
	if string(got) != string(wanted) || shown.Status != "accepted" || shown.Refused != "" || *shown.ResponseID != f.Key {
		t.Errorf("shown %+v and %s\nwant %s", shown, got, wanted)
	}
	if len(r.announced) != 1 {
		t.Fatalf("announced %v", r.announced)
	}
	body, _ := json.Marshal(r.announced[0].Body)
	if r.announced[0].Event != host.EventNextQuery || r.announced[0].Question != q.ID || !strings.Contains(string(body), string(wanted)) ||
		!strings.Contains(string(body), `"correlation_id":"rel-2.4"`) {
		t.Errorf("announced %+v", r.announced[0])
	}
	if raw, _ := json.Marshal(a.Receipt); strings.Contains(string(raw), "capability") {
		t.Errorf("the receipt keeps a capability: %s", raw)
	}
}

// A query follows only an answer that says yes, is new, names its predecessor and is about the same; else it is not taken
// over, the receipt stands, and the asker is told in a word.
func TestQueriesThatDoNotFollow(t *testing.T) {
	for name, c := range map[string]struct {
		choice bridge.OptionID
		edit   func(*schema.Query)
		want   host.Refusal
	}{
		"another kind of subject":  {"approved", func(q *schema.Query) { q.Subject.Kind = "account" }, host.RefusedSubject},
		"another subject":          {"approved", func(q *schema.Query) { q.Subject.ID = "usr_pairwise_Q7d" }, host.RefusedSubject},
		"another scope of its id":  {"approved", func(q *schema.Query) { q.Subject.IDScope = "local" }, host.RefusedSubject},
		"another predecessor":      {"approved", func(q *schema.Query) { q.ContinuationOf = "0198c7cb-1af1-7e79-bd7f-02f8a89b8850" }, host.RefusedUnconnected},
		"no predecessor":           {"approved", func(q *schema.Query) { q.ContinuationOf = "" }, host.RefusedMalformed},
		"its predecessor's id":     {"approved", func(q *schema.Query) { q.QueryID = "0198c7cb-1af1-7e79-bd7f-02f8a89b8857" }, host.RefusedNotNew},
		"the id of another query":  {"approved", func(q *schema.Query) { q.QueryID = "0198c7cb-1af1-7e79-bd7f-02f8a89b8859" }, host.RefusedNotNew},
		"expired":                  {"approved", func(q *schema.Query) { q.ExpiresAt = "2026-07-30T17:00:00Z" }, host.RefusedExpired},
		"no prompt":                {"approved", func(q *schema.Query) { q.Prompt = "" }, host.RefusedMalformed},
		"an approval of two words": {"approved", func(q *schema.Query) { q.Type = "approval" }, host.RefusedMalformed},
		"after a decline":          {"declined", nil, host.RefusedAfterDecline},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "127.0.0.1")
			r.asked(r.query(0, func(q *schema.Query) { q.QueryID = "0198c7cb-1af1-7e79-bd7f-02f8a89b8859" }))
			f := r.answered(r.asked(r.query(0, nil)), c.choice)
			r.collector.answer = receipt(http.StatusOK, func(out *schema.Receipt) { out.NextQuery = r.following(c.edit) })
			a, err := r.tried(f, 1)
			if err != nil || a.Status != host.Accepted || a.Next != nil || a.Refused != c.want || len(r.announced) > 0 {
				t.Errorf("ended as %+v, %v, want %s", a, err, c.want)
			}
			if shown, next := a.Show(bridge.Answered); next != nil || shown.Refused != string(c.want) {
				t.Errorf("shown %+v, %v", shown, next)
			}
		})
	}
}

// A query that followed one answer follows no other.
func TestAQueryFollowsOneAnswer(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	first := r.answered(r.asked(r.query(0, nil)), "approved")
	r.collector.answer = receipt(http.StatusOK, func(out *schema.Receipt) { out.NextQuery = r.following(nil) })
	if a, err := r.tried(first, 1); err != nil || a.Next == nil {
		t.Fatalf("ended as %+v, %v", a, err)
	}
	r.ok(r.store.FinishEffect(t.Context(), first.ID))
	other := r.query(0, func(q *schema.Query) { q.QueryID = "0198c7cb-1af1-7e79-bd7f-02f8a89b8858" })
	second := r.answered(r.asked(other), "approved")
	r.collector.answer = receipt(http.StatusOK, func(out *schema.Receipt) {
		out.NextQuery = r.following(func(q *schema.Query) { q.ContinuationOf = other.Query.QueryID })
	})
	if a, err := r.tried(second, 1); err != nil || a.Next != nil || a.Refused != host.RefusedNotNew {
		t.Errorf("ended as %+v, %v", a, err)
	}
}
