package host_test

import (
	"errors"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/host"
	"superpipeline.dev/question-bridge/schema"
)

// What may not be asked is refused with its field, and nothing is stored of it.
func TestQueriesThatAreNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*schema.Query)
		code  bridge.Code
		field string
	}{
		"for an agent": {func(q *schema.Query) { q.Type, q.RequestedRespondent = "feedback", schema.RespondentAgent }, gate.CodeInvalidQuery, "/query/requestedRespondent"},
		"expired":      {func(q *schema.Query) { q.ExpiresAt = "2026-07-30T17:00:00Z" }, host.CodeQueryExpired, "/query/expiresAt"},
		"nowhere":      {func(q *schema.Query) { q.Delivery.Endpoint = "" }, gate.CodeInvalidQuery, "/query/delivery/endpoint"},
		"nowhere, after a query that nobody handed in": {func(q *schema.Query) {
			q.Delivery.Endpoint, q.ContinuationOf = "", "0198c7cb-1af1-7e79-bd7f-02f8a89b8850"
		}, gate.CodeInvalidQuery, "/query/delivery/endpoint"},
		"inside":        {func(q *schema.Query) { q.Delivery.Endpoint = "https://10.1.2.3/responses" }, host.CodeEndpointRefused, "/query/delivery/endpoint"},
		"with a person": {func(q *schema.Query) { q.Delivery.Endpoint = "https://u:p@queries.example/" }, host.CodeEndpointRefused, "/query/delivery/endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "127.0.0.1")
			ask := r.query(0, c.edit)
			_, _, err := r.handIn(ask)
			var refused *bridge.Error
			if !errors.As(err, &refused) || refused.Code != c.code || refused.Field != c.field {
				t.Errorf("refused by %v, want %s %s", err, c.code, c.field)
			}
			if _, ok, err := r.store.QueryOf(t.Context(), agent, queryID(ask)); ok || err != nil {
				t.Errorf("it is stored: %v %v", ok, err)
			}
		})
	}
}

// Handed in again, a query is the question that it was, also once it has expired; another one under its id is refused.
func TestAQueryIsAskedOnce(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	q := r.asked(r.query(0, nil))
	r.clock.Move(3 * time.Hour)
	again, created, err := r.handIn(r.query(0, nil))
	if err != nil || created || again.ID != q.ID {
		t.Errorf("asked again as %s, %v, %v", again.ID, created, err)
	}
	_, _, err = r.handIn(r.query(0, func(q *schema.Query) { q.Subject.ID = "usr_pairwise_Q7d" }))
	if bridge.CodeOf(err) != host.CodeQueryConflict {
		t.Errorf("another subject: %v", err)
	}
}

// A continuation for a person goes where its predecessor went, if the same agent handed that in.
func TestAContinuationGoesWhereItsPredecessorDid(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	before := r.query(0, nil)
	r.asked(before)
	human := r.query(1, func(q *schema.Query) {
		q.RequestedRespondent, q.Delivery.Endpoint = schema.RespondentHuman, ""
	})
	q := r.asked(human)
	a, _, err := r.host.Of(t.Context(), q.ID)
	if err != nil || a.Query.Delivery.Endpoint != before.Query.Delivery.Endpoint || a.Status != host.Waiting {
		t.Errorf("stored %+v, %v", a, err)
	}
}

// What one agent handed in is nothing to another: the other may hand the same query in, and borrows no address of it.
func TestQueriesAreStrangers(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	q := r.asked(r.query(0, nil))
	elsewhere := dialect.AskContext{Asker: "another", AskedBy: "Another", Conversation: room, Now: r.clock.Now()}
	human := r.query(1, func(q *schema.Query) {
		q.RequestedRespondent, q.Delivery.Endpoint = schema.RespondentHuman, ""
	})
	if _, _, err := r.host.Ask(t.Context(), human, elsewhere); bridge.CodeOf(err) != gate.CodeInvalidQuery {
		t.Errorf("a continuation of another agent's query: %v", err)
	}
	other, created, err := r.host.Ask(t.Context(), r.query(0, nil), elsewhere)
	if err != nil || !created || other.ID == q.ID {
		t.Errorf("handed in by another: %s, %v, %v", other.ID, created, err)
	}
}

// Handed in many times at once, a query is asked once; everybody gets its question.
func TestAQueryIsAskedOnceAtOnce(t *testing.T) {
	r := newRig(t, "127.0.0.1")
	const many = 8
	ids, created := make(chan bridge.QuestionID, many), make(chan bool, many)
	for range many {
		go func() {
			q, isNew, err := r.handIn(r.query(0, nil))
			if err != nil {
				t.Error(err)
			}
			ids <- q.ID
			created <- isNew
		}()
	}
	first, news := <-ids, 0
	for range many - 1 {
		if id := <-ids; id != first {
			t.Errorf("asked as %s and %s", first, id)
		}
	}
	for range many {
		if <-created {
			news++
		}
	}
	if news != 1 {
		t.Errorf("asked %d times", news)
	}
}
