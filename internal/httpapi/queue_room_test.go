package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// With a room, the candidate is asked there as an ordinary question of its agent, and its answer there answers it.
func TestNextInARoom(t *testing.T) {
	inLibraries(t, func(l *library) {
		all := l.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"OPS"}})
		c := l.proposed(about("k", 0))
		next := calledQueue[schema.NextCandidate](l, "next", `{"turn":0,"room":"OPS","target_user_id":"@dana:example.org","ttl":600}`)
		if next.Candidate == nil || next.Candidate.CandidateID != c.CandidateID || next.Candidate.Status != "delivered" || next.Candidate.QuestionID == nil {
			t.Fatalf("next: %+v", next.Candidate)
		}
		q := l.question(l.do("GET", "/api/agent/questions/"+*next.Candidate.QuestionID, all, ""), http.StatusOK)
		expires, err := q.ExpiresAt.Time()
		created, err2 := q.CreatedAt.Time()
		if err != nil || err2 != nil || expires.Sub(created).Seconds() != 600 || q.ResponderScope != "direct" || *q.TargetUserID != "@dana:example.org" ||
			q.Prompt != "Is it k?" || len(q.Options) != 2 || q.Options[0].Value != "1" || q.Options[0].Label != "yes" {
			t.Errorf("the question: %+v", q)
		}
		if got := l.answered(q.ID, "2"); got.State != "answered" || *got.Answer.Label != "no" {
			t.Errorf("answered: %+v", got)
		}
		if c = l.candidate(c.CandidateID); c.Status != "answered" || *c.AnswerOption != 1 {
			t.Errorf("the candidate: %+v", c)
		}
		l.says(l.post("candidates/"+c.CandidateID+"/answer", `{"answer_text":"yes","turn":1}`), `{"applied":false,"reason":"not_open","option_index":null}`)
	})
}

// A room that cannot be asked is the caller's to know, and nothing is delivered. Everything else stays closed: null.
func TestNextInARoomThatCannotBeAsked(t *testing.T) {
	inLibraries(t, func(l *library) {
		c := l.proposed(about("k", 0))
		refused := func(body string, status int, code string) {
			t.Helper()
			l.problem(l.post("next", body), status, code)
			if got := l.candidate(c.CandidateID); got.Status != "pending" || got.AskCount != 0 {
				t.Errorf("%s: %+v", body, got)
			}
		}
		refused(`{"turn":0,"room":"NOWHERE"}`, 404, "room_not_found")
		refused(`{"turn":0,"room":"DEV"}`, 403, "room_not_granted")
		refused(`{"turn":0,"room":"OPS","target_user_id":"@nobody:example.org"}`, 422, "target_not_permitted")
		l.people.closed = &bridge.Error{Code: bridge.CodeRoomUnanswerable, Reason: "the bot has not joined this room"}
		refused(`{"turn":0,"room":"OPS"}`, 409, "room_unanswerable")
		l.people.closed = nil
		l.engine.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 1} }
		waiting := l.question(l.asksIn("OPS", l.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"OPS"}})), http.StatusCreated)
		refused(`{"turn":0,"room":"OPS"}`, 429, "quota_exceeded")
		l.engine.Quota = func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 2} }
		if waiting.State != "pending" {
			t.Error("the one that waits is answered")
		}
		l.people.closed = fmt.Errorf("dial tcp 10.0.0.1: connection refused")
		l.says(l.post("next", `{"turn":0,"room":"OPS"}`), `{"candidate":null}`)
		l.people.closed = nil
		if next := calledQueue[schema.NextCandidate](l, "next", `{"turn":0,"room":"OPS"}`); next.Candidate == nil { // nothing was spent
			t.Error("nothing is left")
		}
	})
}

// What goes with a room goes with a room alone, and as in an ask.
func TestFaultsOfNextInARoom(t *testing.T) {
	l := newLibrary(t, sqlite(t))
	for body, at := range map[string]string{
		`{"turn":0,"target_user_id":"@dana:example.org"}`:                                       "",
		`{"turn":0,"ttl":60}`:                                                                   "",
		`{"turn":0,"room":"OPS","responder_scope":"direct"}`:                                    "",
		`{"turn":0,"room":"OPS","responder_scope":"room","target_user_id":"@dana:example.org"}`: "/target_user_id",
		`{"turn":0,"room":"OPS","target_user_id":"dana"}`:                                       "/target_user_id",
		`{"turn":0,"room":"OPS","responder_scope":"all"}`:                                       "/responder_scope",
		`{"turn":0,"room":""}`:                                                                  "/room",
		`{"turn":0,"room":"` + strings.Repeat("x", 256) + `"}`:                                  "/room",
	} {
		p := l.problem(l.post("next", body), 400, "malformed")
		if len(p.Errors) == 0 || p.Errors[0].Location != at {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
}
