package client

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

func responding(t *testing.T, s *script) *Responder {
	t.Helper()
	r, err := NewResponder(Config{Server: "https://api.example.org/q", Token: token, HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPending(t *testing.T) {
	s := &script{replies: []reply{ok(t, schema.Questions{Questions: []schema.Question{pendingQuestion("q_2"), pendingQuestion("q_1")}, NextCursor: new("c2")})}}
	r := responding(t, s)
	for _, o := range []PendingOptions{{}, {PageSize: 5}, {PageSize: 5000, Cursor: "c 1"}} {
		page, err := r.Pending(t.Context(), o)
		if err != nil || len(page.Questions) != 2 || page.Questions[0].ID != "q_2" || page.NextCursor != "c2" {
			t.Errorf("%+v, %v", page, err)
		}
	}
	for i, want := range []string{"/q/api/questions/pending", "/q/api/questions/pending?limit=5", "/q/api/questions/pending?cursor=c+1&limit=200"} {
		if got := s.asked[i]; got.Method != "GET" || got.URL.RequestURI() != want || got.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("sent %s %s", got.Method, got.URL.RequestURI())
		}
	}
}

func TestAnswer(t *testing.T) {
	shown := pendingQuestion("q_1")
	shown.Subject = &schema.Subject{ID: "s", Digest: "D1", Schema: "x/v1", Revision: 3, Preview: []schema.PreviewItem{{Type: "text", Text: "rm"}}, PreviewComplete: true}
	s := &script{replies: []reply{ok(t, shown), ok(t, answeredQuestion("q_1", "approve", "Yes"))}}
	r := responding(t, s)
	q, err := r.Show(t.Context(), "q_1")
	if err != nil || !reflect.DeepEqual(q.Subject, shown.Subject) {
		t.Fatalf("%+v, %v", q, err)
	}
	got, err := r.Answer(t.Context(), "q_1", schema.AnswerBody{Value: new("approve"), Comment: new("ok"), Subject: SubjectOf(q)})
	if err != nil || *got.Answer.Value != "approve" {
		t.Fatalf("%+v, %v", got, err)
	}
	if sent := s.asked[1]; sent.Method != "POST" || sent.URL.Path != "/q/api/questions/q_1/answer" || sent.Header.Get("Content-Type") != "application/json" {
		t.Errorf("sent %s %s", sent.Method, sent.URL)
	}
	if want := `{"value":"approve","comment":"ok","subject":{"id":"s","digest":"D1","schema":"x/v1","revision":3}}`; s.bodies[1] != want {
		t.Errorf("sent %s", s.bodies[1])
	}
	if s.asked[0].URL.Path != "/q/api/questions/q_1" {
		t.Errorf("asked %s", s.asked[0].URL)
	}
	if plain := pendingQuestion("q_1"); SubjectOf(&Question{Question: plain}) != nil {
		t.Error("a subject of nothing")
	}
}

func TestAnswersThatAreNotSent(t *testing.T) {
	s := &script{replies: []reply{ok(t, answeredQuestion("q_1", "approve", "Yes"))}}
	r := responding(t, s)
	for name, body := range map[string]schema.AnswerBody{
		"nothing": {}, "two things": {Value: new("a"), Text: new("b")}, "too much": {Text: new(strings.Repeat("a", 4001))},
	} {
		var refused *schema.Refusal
		if _, err := r.Answer(t.Context(), "q_1", body); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"", ".", ".."} {
		if _, err := r.Answer(t.Context(), id, schema.AnswerBody{Value: new("a")}); err == nil {
			t.Errorf("answered %q", id)
		}
		if _, err := r.Show(t.Context(), id); err == nil {
			t.Errorf("showed %q", id)
		}
	}
	if len(s.asked) != 0 {
		t.Errorf("sent %d requests", len(s.asked))
	}
}

func TestWhatTheServerSaysToAnAnswer(t *testing.T) {
	refused := problemReply(409, `{"code": "subject_lapsed", "detail": "It has lapsed.", "status": 409}`)
	for name, c := range map[string]struct {
		reply reply
		code  string
	}{
		"a refusal": {refused, "subject_lapsed"}, "nothing happened": {ok(t, pendingQuestion("q_1")), CodeUnreadable},
		"another question": {ok(t, answeredQuestion("q_2", "approve", "Yes")), CodeUnreadable},
	} {
		_, err := responding(t, &script{replies: []reply{c.reply}}).Answer(t.Context(), "q_1", schema.AnswerBody{Value: new("approve")})
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, state := range []schema.State{schema.Expired, schema.Cancelled} { // too late is no error
		q, err := responding(t, &script{replies: []reply{ok(t, endedQuestion("q_1", state))}}).Answer(t.Context(), "q_1", schema.AnswerBody{Value: new("approve")})
		if err != nil || q.State != state {
			t.Errorf("%+v, %v", q, err)
		}
	}
}
