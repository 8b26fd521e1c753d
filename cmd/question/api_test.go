package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

const (
	agentToken  = "qat_7Yx"
	personToken = "qrt_9Zx" // Federica's
	federica    = "@federica:example.org"
)

// fakeAPI is the asker side of a server: what it keeps outlives the listeners that serve it.
type fakeAPI struct {
	mu        sync.Mutex
	questions []*schema.Question // in the order they were asked
	bodies    []string           // of the asks, as they came
	rooms     []string
	keys      map[string]string // the id of the question that each Idempotency-Key asked
	lifetime  time.Duration
	onAsk     func(q *schema.Question) // changes a question as it is asked; nil for no change
	changed   chan struct{}            // closed and replaced by every change
	waiting   chan string              // the id of every wait that begins
	answers   []string                 // bodies of answers, as they came
	onAnswer  http.HandlerFunc         // takes an answer in place of the API; nil for the API
}

func newFakeAPI() *fakeAPI {
	return &fakeAPI{lifetime: 30 * time.Minute, keys: map[string]string{}, changed: make(chan struct{}), waiting: make(chan string, 1000)}
}

// serve starts a listener for the API and points the environment at it.
func (a *fakeAPI) serve(t *testing.T, address string) *httptest.Server {
	t.Helper()
	s := a.start(t, address)
	t.Setenv("QUESTION_SERVER", s.URL)
	t.Setenv("QUESTION_TOKEN", agentToken)
	t.Setenv("QUESTION_RESPONDER_TOKEN", personToken)
	return s
}

// start starts a listener, at an address that may have been served before.
func (a *fakeAPI) start(t *testing.T, address string) *httptest.Server {
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err) // also called where t.Fatal may not be
	}
	s := httptest.NewUnstartedServer(a.routes())
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (a *fakeAPI) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/agent/rooms/{room}/questions", a.ask)
	mux.HandleFunc("GET /api/agent/questions/{id}/wait", a.wait)
	mux.HandleFunc("GET /api/agent/questions/{id}", func(w http.ResponseWriter, r *http.Request) { a.give(w, r.PathValue("id")) })
	mux.HandleFunc("GET /api/agent/questions", a.list)
	mux.HandleFunc("POST /api/agent/questions/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		a.change(r.PathValue("id"), func(q *schema.Question) { end(q, schema.Cancelled); q.CancelledBy = "asker" })
		a.give(w, r.PathValue("id"))
	})
	mux.HandleFunc("GET /api/questions/pending", a.list)
	mux.HandleFunc("GET /api/questions/{id}", func(w http.ResponseWriter, r *http.Request) { a.give(w, r.PathValue("id")) })
	mux.HandleFunc("POST /api/questions/{id}/answer", a.answer)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		needed := personToken
		if strings.HasPrefix(r.URL.Path, "/api/agent/") {
			needed = agentToken
		}
		if r.Header.Get("Authorization") != "Bearer "+needed {
			problem(w, 401, "invalid_token", "The bearer token is not valid.")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, status int, code, detail string, faults ...schema.Fault) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{
		"type": "https://superpipeline.dev/problems/" + code, "title": code, "status": status, "code": code, "detail": detail, "errors": faults,
	})
}

func (a *fakeAPI) ask(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	if r.PathValue("room") == "NOWHERE" {
		problem(w, 404, "room_not_found", "There is no room \u202eNOWHERE.", schema.Fault{Rule: "room", Location: "/room", Reason: "is \x1b[31munknown\u202e"})
		return
	}
	ask, err := schema.DecodeAsk(raw)
	if err != nil {
		problem(w, 422, "invalid_question", err.Error())
		return
	}
	core := ask.(*schema.CoreAsk)
	a.mu.Lock()
	key := r.Header.Get("Idempotency-Key")
	if id, known := a.keys[key]; known {
		a.mu.Unlock()
		a.give(w, id)
		return
	}
	now := time.Now()
	q := &schema.Question{
		ID: fmt.Sprintf("q_%d", len(a.questions)+1), Kind: "question", Prompt: core.Prompt, TextInput: core.TextInput,
		ResponderScope: core.Scope(), ResolutionPolicy: "first", State: schema.Pending, ExpiresAt: stamp(now.Add(a.lifetime)),
		CorrelationID: core.CorrelationID, ReplyTo: core.ReplyTo, Data: core.Data, CreatedAt: stamp(now), Options: []schema.QuestionOption{},
	}
	if core.Context != "" {
		q.Context = &core.Context
	}
	if core.TargetUserID != "" {
		q.TargetUserID = &core.TargetUserID
	}
	for _, o := range core.Options {
		q.Options = append(q.Options, schema.QuestionOption{Value: o.Value, Label: o.Label, Style: o.Style})
	}
	if a.onAsk != nil {
		a.onAsk(q)
	}
	a.questions, a.bodies, a.rooms = append(a.questions, q), append(a.bodies, string(raw)), append(a.rooms, r.PathValue("room"))
	a.keys[key] = q.ID
	a.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	a.give(w, q.ID)
}

func stamp(t time.Time) schema.Timestamp { return schema.Timestamp(t.UTC().Format(time.RFC3339)) }

func (a *fakeAPI) wait(w http.ResponseWriter, r *http.Request) {
	a.waiting <- r.PathValue("id")
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeout"))
	over := time.After(time.Duration(seconds) * time.Second)
	for {
		a.mu.Lock()
		q, changed := a.find(r.PathValue("id")), a.changed
		settled := q == nil || q.State != schema.Pending
		a.mu.Unlock()
		if settled {
			break
		}
		select {
		case <-changed:
			continue
		case <-over:
		case <-r.Context().Done():
			return
		}
		break
	}
	a.give(w, r.PathValue("id"))
}

// answer takes Federica's answer, if it is the first.
func (a *fakeAPI) answer(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body, err := schema.Decode[schema.AnswerBody](raw)
	if err != nil {
		problem(w, 400, "malformed", err.Error())
		return
	}
	a.mu.Lock()
	a.answers = append(a.answers, string(raw))
	other := a.onAnswer
	a.mu.Unlock()
	if other != nil {
		other(w, r)
		return
	}
	a.change(r.PathValue("id"), func(q *schema.Question) {
		with := schema.Answer{Value: body.Value, Text: body.Text, Comment: body.Comment, Input: body.Input}
		if body.Value != nil {
			with.Label = new("label of " + *body.Value)
		}
		for _, item := range body.Items {
			with.Items = append(with.Items, schema.AnswerItem{Header: item.Header, Selected: item.Selected, Labels: item.Selected, Text: item.Text})
		}
		answer(q, with)
	})
	a.give(w, r.PathValue("id"))
}

// answerBy has another handler take answers from now on.
func (a *fakeAPI) answerBy(h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onAnswer = h
}

// answered are the bodies of the answers that were sent.
func (a *fakeAPI) answered() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.answers)
}

func (a *fakeAPI) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("cursor"))
	a.mu.Lock()
	defer a.mu.Unlock()
	found := schema.Questions{Questions: []schema.Question{}}
	for _, q := range slices.Backward(a.questions) {
		if s := query.Get("state"); s != "" && s != string(q.State) {
			continue
		}
		if c := query.Get("correlation_id"); c != "" && (q.CorrelationID == nil || c != *q.CorrelationID) {
			continue
		}
		found.Questions = append(found.Questions, *q)
	}
	found.Questions = found.Questions[min(from, len(found.Questions)):]
	if len(found.Questions) > limit {
		found.Questions, found.NextCursor = found.Questions[:limit], new(strconv.Itoa(from+limit))
	}
	json.NewEncoder(w).Encode(found)
}

func (a *fakeAPI) give(w http.ResponseWriter, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.find(id)
	if q == nil {
		problem(w, 404, "question_not_found", "There is no such question.")
		return
	}
	json.NewEncoder(w).Encode(q)
}

func (a *fakeAPI) find(id string) *schema.Question {
	for _, q := range a.questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// document is a question as the API has it.
func (a *fakeAPI) document(id string) (q schema.Question, asJSON string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q = *a.find(id)
	raw, _ := json.Marshal(q)
	return q, string(raw)
}

// asks are the bodies that were sent, and the rooms they were sent to.
func (a *fakeAPI) asks() (bodies, rooms []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.bodies), slices.Clone(a.rooms)
}

// change does something to a question that is still pending, and wakes every wait.
func (a *fakeAPI) change(id string, how func(*schema.Question)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.find(id); q != nil && q.State == schema.Pending {
		how(q)
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// The ways in which a question ends.

func end(q *schema.Question, state schema.State) {
	q.State, q.ResolvedAt = state, new(stamp(time.Now()))
}

func choose(q *schema.Question, value string) {
	answer(q, schema.Answer{Value: &value, Label: new("label of " + value)})
}

func answer(q *schema.Question, with schema.Answer) {
	end(q, schema.Answered)
	with.Responder = schema.Responder{ID: federica, DisplayName: new("Federica")}
	with.AnsweredAt = *q.ResolvedAt
	q.Answer = &with
}

func asked(t *testing.T, a *fakeAPI, more func(*schema.Question)) string {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	q := &schema.Question{
		ID: fmt.Sprintf("q_%d", len(a.questions)+1), Kind: "question", Prompt: "Deploy?", ResponderScope: "room", ResolutionPolicy: "first",
		Options: []schema.QuestionOption{{Value: "approve", Label: "Yes"}, {Value: "deny", Label: "No"}},
		State:   schema.Pending, ExpiresAt: stamp(time.Now().Add(a.lifetime)), CreatedAt: stamp(time.Now()),
	}
	if more != nil {
		more(q)
	}
	a.questions = append(a.questions, q)
	return q.ID
}
