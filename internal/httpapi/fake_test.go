package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
	"superpipeline.dev/question-bridge/internal/wait"
	"superpipeline.dev/question-bridge/schema"
)

// memory is an engine that keeps questions in memory.
type memory struct {
	mu     sync.Mutex
	hub    *wait.Hub
	byID   map[bridge.QuestionID]bridge.Question
	order  []bridge.QuestionID
	fail   error // what every call returns, if set
	refuse error // what Answer alone returns, if set
	panics bool
	reads  int
	shown  []bridge.UserID // whom something was shown to
}

var (
	_ httpapi.Engine = (*memory)(nil)
	_ httpapi.Engine = (*bridge.Engine)(nil)
)

func (m *memory) Ask(_ context.Context, q bridge.Question) (bridge.Question, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panics {
		panic("the secret of the house")
	}
	if m.fail != nil {
		return bridge.Question{}, false, m.fail
	}
	for _, other := range m.byID {
		if other.Asker == q.Asker && other.ElicitationID == q.ElicitationID {
			if other.Digest == q.Digest {
				return other, false, nil
			}
			return bridge.Question{}, false, &bridge.Error{Code: bridge.CodeElicitationConflict, Field: "/elicitation_id", Reason: "another question was asked under this elicitation_id"}
		}
	}
	m.byID[q.ID] = q
	m.order = append([]bridge.QuestionID{q.ID}, m.order...)
	return q, true, nil
}

func (m *memory) Fetch(_ context.Context, asker bridge.AgentID, id bridge.QuestionID) (bridge.Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.fail != nil {
		return bridge.Question{}, m.fail
	}
	q, ok := m.byID[id]
	if !ok || q.Asker != asker {
		return bridge.Question{}, &bridge.Error{Code: bridge.CodeNotFound, Reason: "there is no such question"}
	}
	return q, nil
}

func (m *memory) List(_ context.Context, l bridge.Listing) ([]bridge.Question, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, "", m.fail
	}
	from := 0
	if l.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(l.Cursor); err != nil {
			return nil, "", &bridge.Error{Code: bridge.CodeInvalidCursor, Reason: "the cursor is none that was given out"}
		}
	}
	var found []bridge.Question
	for i, id := range m.order {
		q := m.byID[id]
		wanted := q.Asker == l.Asker && (l.State == "" || l.State == q.State) &&
			(l.CorrelationID == nil || q.CorrelationID != nil && *l.CorrelationID == *q.CorrelationID)
		if i < from || !wanted {
			continue
		}
		if len(found) == l.Limit {
			return found, strconv.Itoa(i), nil
		}
		found = append(found, q)
	}
	return found, "", nil
}

func (m *memory) Cancel(ctx context.Context, asker bridge.AgentID, id bridge.QuestionID) (bridge.Question, error) {
	q, err := m.Fetch(ctx, asker, id)
	if err != nil || q.State.Terminal() {
		return q, err
	}
	return m.settle(id, func(q *bridge.Question) { q.State, q.CancelledBy = bridge.Cancelled, bridge.ByAsker }), nil
}

func (m *memory) Show(_ context.Context, who bridge.UserID, id bridge.QuestionID) (bridge.Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = append(m.shown, who)
	if m.fail != nil {
		return bridge.Question{}, m.fail
	}
	q, ok := m.byID[id]
	if !ok {
		return bridge.Question{}, &bridge.Error{Code: bridge.CodeNotFound, Reason: "there is no such question"}
	}
	return q, nil
}

func (m *memory) PendingFor(_ context.Context, l bridge.PendingListing) ([]bridge.Question, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = append(m.shown, l.Who)
	var found []bridge.Question
	for _, id := range m.order {
		if q := m.byID[id]; q.State == bridge.Pending && len(found) < l.Limit {
			found = append(found, q)
		}
	}
	return found, "", m.fail
}

func (m *memory) Answer(_ context.Context, who bridge.UserID, id bridge.QuestionID, c bridge.Choice) (bridge.Question, error) {
	m.mu.Lock()
	fail, q := m.refuse, m.byID[id]
	m.mu.Unlock()
	if fail != nil || q.State.Terminal() {
		return q, fail
	}
	a, err := q.Accepts(c, bridge.Rights{Member: true}, time.Now())
	if err != nil {
		return bridge.Question{}, err
	}
	return m.settle(id, func(q *bridge.Question) {
		a.By, a.At = bridge.Responder{ID: who}, *q.SettledAt
		q.State, q.Answer = bridge.Answered, &a
	}), nil
}

func (m *memory) settle(id bridge.QuestionID, how func(*bridge.Question)) bridge.Question {
	m.mu.Lock()
	q := m.byID[id]
	at := time.Now().UTC()
	q.SettledAt = &at
	how(&q)
	m.byID[id] = q
	m.mu.Unlock()
	m.hub.Notify(id)
	return q
}

func (m *memory) answer(id, value string) {
	m.settle(bridge.QuestionID(id), func(q *bridge.Question) {
		q.State = bridge.Answered
		q.Answer = &bridge.Answer{
			Choice: bridge.Choice{Via: bridge.ViaReply, Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{bridge.OptionID(value)}}}},
			By:     bridge.Responder{ID: "@dana:example.org", DisplayName: "Dana"}, At: *q.SettledAt,
		}
	})
}

func (m *memory) stored() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byID)
}

func (m *memory) set(change func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// tokens finds tokens by hash, also those that are over: the server must not rely on the store for that.
type tokens struct {
	mu     sync.Mutex
	byHash map[[32]byte]bridge.Token
	uses   int
}

func (t *tokens) TokenUsed(_ context.Context, id string, at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uses++
	for hash, token := range t.byHash {
		if token.ID == id {
			token.UsedAt = &at
			t.byHash[hash] = token
			return nil
		}
	}
	return errors.New("no such token")
}

func (t *tokens) TokenByHash(_ context.Context, hash [32]byte, _ time.Time) (bridge.Token, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.byHash[hash]
	if found.Agent == "broken" {
		return bridge.Token{}, false, errors.New("disk on fire at /var/lib/secret")
	}
	return found, ok, nil
}

// rooms has one room by id, code and alias, and others.
type rooms struct{}

func (rooms) Resolve(_ context.Context, room string) (httpapi.Room, error) {
	switch room {
	case "!ops:example.org", "OPS", "#ops:example.org", "!a/b:example.org":
		return httpapi.Room{ID: "!ops:example.org", Code: "OPS", Name: "Ops"}, nil
	case "DEV": // a code for an alias: the room's id alone does not lead back to it
		return httpapi.Room{ID: "!dev:example.org", Code: "DEV", Alias: "#dev:example.org"}, nil
	case "!dev:example.org", "#dev:example.org":
		return httpapi.Room{ID: "!dev:example.org", Alias: "#ops:example.org"}, nil
	case "#down:example.org":
		return httpapi.Room{}, errors.New("dial tcp 10.0.0.1: connection refused")
	}
	return httpapi.Room{}, &bridge.Error{Code: bridge.CodeRoomUnknown, Reason: "there is no such room"}
}

// logBook keeps the log.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// house is the API on a real port with everything behind it.
type house struct {
	*testing.T
	url    string
	engine *memory
	hub    *wait.Hub
	log    *logBook
	tokens *tokens
	secret string // of agent ci, granted OPS
	dana   string // a secret of a person
	http   *http.Client
	// pretends says that the engine fails as no engine does, so that what is answered need not be described.
	pretends *atomic.Bool
}

func newHouse(t *testing.T, change ...func(*httpapi.Config, *http.Server)) *house {
	t.Helper()
	hub := wait.NewHub()
	h := &house{T: t, hub: hub, pretends: &atomic.Bool{}, engine: &memory{hub: hub, byID: map[bridge.QuestionID]bridge.Question{}}, log: &logBook{}, tokens: &tokens{byHash: map[[32]byte]bridge.Token{}}}
	h.secret = h.token(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"OPS"}})
	h.dana = h.token(httpapi.TokenTerms{User: "@dana:example.org"})
	config := httpapi.Config{
		Engine: h.engine, Tokens: h.tokens, Rooms: rooms{}, Hub: hub, Agents: map[bridge.AgentID]string{"ci": "CI"},
		Log: zerolog.New(h.log), Reread: time.Hour, // the hub alone must do
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpapi.HTTPServer(nil)
	for _, c := range change {
		c(&config, server.Config)
	}
	server.Config.Handler = apitest.Around(httpapi.New(config), func(err error) {
		if !h.pretends.Load() {
			t.Error(err)
		}
	})
	server.Config.RegisterOnShutdown(hub.Close)
	server.Start()
	t.Cleanup(func() {
		hub.Close()
		server.Close()
	})
	h.url, h.http = server.URL, server.Client()
	return h
}

func (h *house) token(terms httpapi.TokenTerms) string {
	h.Helper()
	terms.Now = time.Now().Add(-time.Hour)
	secret, t, err := httpapi.NewToken(terms)
	if err != nil {
		h.Fatal(err)
	}
	h.tokens.byHash[t.Hash] = t
	return secret
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
	last   bool // on its connection
}

func (h *house) do(method, path, secret, body string) answer {
	h.Helper()
	return h.send(method, path, secret, body, http.Header{})
}

func (h *house) send(method, path, secret, body string, header http.Header) answer {
	h.Helper()
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	req.Header = header
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	res, err := h.http.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, raw, res.Close}
}

func (h *house) post(path, body string) answer { h.Helper(); return h.do("POST", path, h.secret, body) }
func (h *house) get(path string) answer        { h.Helper(); return h.do("GET", path, h.secret, "") }

const opsQuestions = "/api/agent/rooms/OPS/questions"

// asked asks and gives the question.
func (h *house) asked(body string) schema.Question {
	h.Helper()
	return h.question(h.post(opsQuestions, body), http.StatusCreated)
}

// question reads a response that must be a question document.
func (h *house) question(a answer, status int) schema.Question {
	h.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/json" {
		h.Fatalf("%d %s: %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	q, err := schema.Decode[schema.Question](a.body)
	if err != nil {
		h.Fatalf("not a question: %v\n%s", err, a.body)
	}
	return *q
}

// problem reads a response that must be a problem of this status and code.
func (h *house) problem(a answer, status int, code string) httpapi.Problem {
	h.Helper()
	var p httpapi.Problem
	dec := json.NewDecoder(strings.NewReader(string(a.body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		h.Fatalf("not a problem: %v\n%s", err, a.body)
	}
	if a.status != status || p.Status != status || string(p.Code) != code {
		h.Errorf("%d %s", a.status, a.body)
	}
	if a.header.Get("Content-Type") != "application/problem+json" || p.Type != "https://superpipeline.dev/problems/"+code || p.Title == "" || p.Detail == "" {
		h.Errorf("%v %s", a.header, a.body)
	}
	return p
}

func hasFault(p httpapi.Problem, rule, at, keyword string) bool {
	return slices.ContainsFunc(p.Errors, func(f schema.Fault) bool {
		return string(f.Rule) == rule && f.Location == at && f.Keyword == keyword && f.Reason != ""
	})
}
