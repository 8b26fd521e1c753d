package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

// twoAgents have asked in one room: the agent "ci" before the agent "cd" came.
type twoAgents struct {
	*served
	cd       string          // the token of the other agent
	away     string          // the token of one that may read everything in another room
	pending  schema.Question // asked under a key
	answered schema.Question
	approval schema.Question
}

// approvalOf is a question.v2 content about a subject.
func approvalOf(elicitation, digest string, revision int) string {
	content := carriersQuestion()
	content["elicitation_id"] = elicitation
	content["subject"] = map[string]any{
		"id": "op_shared", "digest": digest, "schema": "x/v1", "revision": revision, "expires_at": nil, "preview_complete": true,
		"preview": []any{map[string]any{"type": "text", "text": "rm -rf ./build"}},
	}
	return asJSON(content)
}

// sharedKey is the Idempotency-Key under which the first agent asked one question and cancelled another.
const sharedKey = "the-same-key"

const correlated = `{"prompt":"Go?","correlation_id":"rel-2.4","data":{"pipeline":"deploy"}}`

func newTwoAgents(t *testing.T, d config.Database) *twoAgents {
	s := &twoAgents{served: serve(t, arrangement{database: d})}
	s.client.Timeout = 15 * time.Second // a wait that is let in, though not its own, would hold for longer
	s.cd = s.grant(Grant{Agent: "cd", Rooms: []string{"*"}})
	s.away = s.grant(Grant{Agent: "away", Rooms: []string{"!dev:" + benchDomain}, Scopes: []string{"ask", "read", "read:room", "cancel"}})
	s.pending = s.asked(call{path: opsQuestions, token: s.token, body: correlated, key: sharedKey})
	s.answered, s.approval = s.ask(s.token, correlated), s.ask(s.token, approvalOf("elc_shared", "sha256:aa", 1))
	s.call(call{method: http.MethodPost, path: "/api/questions/" + s.answered.ID + "/answer", token: s.person(dana), body: `{"value":"approve"}`})
	s.call(call{method: http.MethodPost, path: "/api/agent/questions/" + s.answered.ID + "/cancel", token: s.token, key: sharedKey}) // changes nothing
	s.granted(s.token)
	if t.Failed() {
		t.FailNow()
	}
	return s
}

// TestTwoAgentsInOneRoom: neither can read, list, wait for, cancel or disturb what the other asked, also with the right
// id. Every route for agents is tried; one that is new, and names no question, has to be told here what it may not do.
func TestTwoAgentsInOneRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		s := newTwoAgents(t, d)
		mine := s.theOwnersView()
		others := map[string]func(){
			"POST /api/agent/rooms/{room}/questions": s.asksBeside,
			"GET /api/agent/questions":               s.listsItsOwn,
			"GET /api/agent/grants":                  s.wasGrantedNothing,
			// whose gates are whose: TestGatesAreTheAgentsOwn of httpapi
			"POST /api/agent/rooms/{room}/gates": func() { s.opensNothing(http.MethodPost, opsGates) },
			"GET /api/agent/gates":               func() { s.opensNothing(http.MethodGet, "/api/agent/gates") },
			"GET /api/agent/gates/{id}":          func() { s.opensNothing(http.MethodGet, "/api/agent/gates/{id}") },
			// whose queries are whose: TestQueriesAreStrangers of host
			"POST /api/agent/rooms/{room}/queries": func() { s.opensNothing(http.MethodPost, "/api/agent/rooms/OPS/queries") },
		}
		for _, pattern := range httpapi.Routes() {
			method, path, _ := strings.Cut(pattern, " ")
			try, known := others[pattern]
			switch {
			case !strings.HasPrefix(path, "/api/agent/"):
			case strings.HasPrefix(path, "/api/agent/queue/"): // whose candidates are whose: TestQueuesAreStrangers of httpapi
				s.opensNothing(method, path)
			case strings.HasPrefix(path, "/api/agent/decisions"): // whose decisions are whose: TestDecisionsAreTakenBack of httpapi
				s.opensNothing(method, path)
			case known:
				try()
			case strings.Contains(path, "{id}"):
				s.knowsNoQuestion(method, path)
			default:
				t.Errorf("it is not known what %s may not do", pattern)
			}
			if now := s.theOwnersView(); now != mine {
				t.Errorf("after %s its owner sees\n%s\nin place of\n%s", pattern, now, mine)
			}
		}
	})
}

// knowsNoQuestion calls a route about one question as another agent: the answer is the one for a question that there is
// not, to the letter.
func (s *twoAgents) knowsNoQuestion(method, path string) {
	s.t.Helper()
	for _, token := range []string{s.cd, s.away} {
		s.knowsNone(method, path, token)
	}
}

func (s *twoAgents) knowsNone(method, path, token string) {
	s.t.Helper()
	about := func(id, key string) reply {
		at := strings.Replace(path, "{id}", id, 1)
		if strings.HasSuffix(path, "/wait") {
			at += "?timeout=30"
		}
		r := s.call(call{method: method, path: at, token: token, key: key})
		r.header.Del("Date")
		return r
	}
	none := about("q_aaaaaaaaaaaaaaaaaaaaaaaaaa", "")
	var problem struct{ Code string }
	if err := json.Unmarshal([]byte(none.body), &problem); err != nil || none.status != http.StatusNotFound || problem.Code != "question_not_found" {
		s.t.Errorf("%s %s of no question: %d %s", method, path, none.status, none.body)
	}
	for _, q := range []schema.Question{s.pending, s.answered, s.approval} {
		for _, key := range []string{"", sharedKey} {
			if got := about(q.ID, key); !reflect.DeepEqual(got, none) {
				s.t.Errorf("%s %s of a question that is another's: %+v\nof none: %+v", method, path, got, none)
			}
		}
	}
}

// opensNothing calls a route of the queue, or of gated exchanges, with tokens that are not for it.
func (s *twoAgents) opensNothing(method, path string) {
	s.t.Helper()
	for _, token := range []string{s.cd, s.away} {
		at := strings.Replace(path, "{id}", s.pending.ID, 1)
		if r := s.call(call{method: method, path: at, token: token}); r.status != http.StatusForbidden {
			s.t.Errorf("%s %s without its scope: %d %s", method, path, r.status, r.body)
		}
	}
}

// listsItsOwn lists as the other agent, also with what only the owner knows: a correlation id, and a cursor.
func (s *twoAgents) listsItsOwn() {
	s.t.Helper()
	first := s.page(s.token, "limit=1")
	if first.NextCursor == nil {
		s.t.Fatal("the owner's list has one page")
	}
	cursor := url.QueryEscape(*first.NextCursor)
	own := s.ask(s.cd, correlated).ID
	for _, query := range []string{
		"", "limit=200", "state=pending", "state=answered", "state=cancelled", "state=expired", "correlation_id=rel-2.4",
		"cursor=" + cursor, "limit=1&cursor=" + cursor, "correlation_id=rel-2.4&state=answered&cursor=" + cursor,
	} {
		for _, q := range s.page(s.cd, query).Questions {
			switch q.ID {
			case s.pending.ID, s.answered.ID, s.approval.ID:
				s.t.Errorf("the list by %q has another's question", query)
			}
		}
	}
	for _, token := range []string{s.cd, s.away} {
		if r := s.call(call{method: http.MethodGet, path: "/api/agent/questions?room=OPS", token: token}); r.status != http.StatusForbidden {
			s.t.Errorf("the list of the room: %d %s", r.status, r.body)
		}
	}
	if found := s.page(s.away, ""); len(found.Questions) != 0 {
		s.t.Errorf("who has asked nothing finds %+v", found)
	}
	if found := s.page(s.cd, "correlation_id=rel-2.4"); len(found.Questions) == 0 || found.Questions[0].ID != own {
		s.t.Errorf("by its own correlation id it finds %+v", found)
	}
}

// wasGrantedNothing lists as other agents what was granted to the first one.
func (s *twoAgents) wasGrantedNothing() {
	s.t.Helper()
	for token, want := range map[string]int{s.token: 1, s.cd: 0, s.away: 0} {
		if got := s.grants(token); len(got) != want {
			s.t.Errorf("an agent is shown the grants %+v", got)
		}
	}
}

// page is a page of a list.
func (s *twoAgents) page(token, query string) schema.Questions {
	s.t.Helper()
	r := s.call(call{method: http.MethodGet, path: "/api/agent/questions?" + query, token: token})
	page, err := schema.Decode[schema.Questions]([]byte(r.body))
	if err != nil || r.status != http.StatusOK {
		s.t.Fatalf("the list by %q: %d %s", query, r.status, r.body)
	}
	return *page
}

// asksBeside asks as other agents, under names and a key that the first one uses: each is a new question, and the others stay.
func (s *twoAgents) asksBeside() {
	s.t.Helper()
	for what, body := range map[string]string{
		"the same":                            correlated,
		"an equal ask under its name":         approvalOf("elc_shared", "sha256:aa", 1),
		"another subject by its id and name":  approvalOf("elc_again", "sha256:bb", 1),
		"a newer revision of its subject":     approvalOf("elc_newer", "sha256:cc", 2),
		"an older revision of its subject":    approvalOf("elc_older", "sha256:dd", 0),
		"a question by the id of another one": approvalOf(s.pending.ID, "sha256:ee", 3),
	} {
		newcomer := s.grant(Grant{Agent: fmt.Sprint("newcomer ", what), Rooms: []string{"OPS"}})
		switch id := s.asked(call{path: opsQuestions, token: newcomer, body: body, key: sharedKey}).ID; id {
		case "", s.pending.ID, s.answered.ID, s.approval.ID:
			s.t.Errorf("%s: it is given %q", what, id)
		}
	}
}

// theOwnersView is what the first agent is told of its questions. Only how far their posting is changes by itself.
func (s *twoAgents) theOwnersView() string {
	s.t.Helper()
	var b strings.Builder
	for _, q := range s.page(s.token, "limit=200").Questions {
		q.Delivery = nil
		fmt.Fprintln(&b, asJSON(q))
	}
	return b.String()
}
