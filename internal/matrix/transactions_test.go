package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"maunium.net/go/mautrix/appservice"

	"superpipeline.dev/question-bridge/bridge"
)

func TestTransactionTokens(t *testing.T) {
	r := newRig(t, nil)
	for header, want := range map[string]struct {
		status int
		code   string
	}{
		"":                                  {401, "M_MISSING_TOKEN"},
		"Bearer ":                           {401, "M_MISSING_TOKEN"},
		"Basic " + r.reg.ServerToken:        {401, "M_MISSING_TOKEN"},
		"Bearer " + r.reg.AppToken:          {403, "M_FORBIDDEN"},
		"Bearer " + r.reg.ServerToken + "x": {403, "M_FORBIDDEN"},
		"Bearer " + r.reg.ServerToken:       {200, "{}"},
	} {
		req := httptest.NewRequest(http.MethodPut, "/_matrix/app/v1/transactions/1", strings.NewReader(`{"events":[]}`))
		req.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		r.Handler().ServeHTTP(w, req)
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.code) {
			t.Errorf("%q gives %d %s, want %d %s", header, w.Code, w.Body, want.status, want.code)
		}
	}
}

func TestTransactionBodies(t *testing.T) {
	r := newRig(t, nil)
	for body, want := range map[string]int{
		`{}`: 200, `{"events":[]}`: 200, `{"ephemeral":[{"x":1}],"events":[]}`: 200,
		`{"events":{}}`: 400, `[]`: 400, ``: 400, `{"events":[`: 400, `{"events":[]}x`: 400, `{"events":null}`: 400,
	} {
		req := httptest.NewRequest(http.MethodPut, "/_matrix/app/v1/transactions/1", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+r.reg.ServerToken)
		w := httptest.NewRecorder()
		r.Handler().ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%q gives %d, want %d", body, w.Code, want)
		}
	}
}

// One event that does not decode is kept aside; the rest of its batch goes on.
func TestMalformedEvents(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	broken := []string{
		`{"event_id":"$b1","room_id":"` + room + `","sender":"@dana:ex.org","type":"m.room.message","content":[]}`,
		`7`, `null`, `"x"`, `{}`,
		`{"event_id":{"a":1},"room_id":"` + room + `","sender":"@dana:ex.org","type":"m.room.message","content":{}}`,
		`{"event_id":"$b2","room_id":"` + room + `","sender":"@dana:ex.org","type":"m.room.message","content":{"body":"` + "\xff" + `"}}`,
		`{"event_id":"$b3","room_id":"` + room + `","sender":"@dana:ex.org","type":"m.room.member","state_key":"@dana:ex.org","content":{"membership":7}}`,
	}
	batch := append(broken, r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")))
	if status := r.put("1", batch...); status != 200 {
		t.Fatalf("status %d", status)
	}
	if status := r.put("1", batch...); status != 200 {
		t.Fatalf("the second time: status %d", status)
	}
	r.work()
	aside, err := r.db.AsideEvents(t.Context(), 100)
	noError(t, err)
	if len(aside) != 7 {
		t.Errorf("%d events are kept aside, want 7", len(aside))
	}
	r.expect(q.ID, "answered skip by @dana:ex.org") // the membership that is none is older than ours: it was not believed
}

// Events that cannot be stored are not acknowledged.
func TestStoreErrorIs500(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	answer := r.says("@dana:ex.org", "m.room.message", threadReply(m, "2"))
	good := r.store
	r.store = failingStore{good}
	if status := r.put("1", answer); status != 500 {
		t.Errorf("status %d, want 500", status)
	}
	r.store = good
	r.put("1", answer)
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
}

type failingStore struct{ Store }

func (failingStore) StoreEvents(context.Context, []bridge.Incoming) (int, error) {
	return 0, errors.New("the disk is full")
}

func TestInterest(t *testing.T) {
	s := &Service{hs: &homeserver{bot: bot}, carriers: map[bridge.UserID]Carrier{"@pod:ex.org": {}}}
	for _, c := range []struct {
		sender, eventType   string
		state, always, want bool
	}{
		{"@dana:ex.org", "m.room.message", false, false, true}, {"@dana:ex.org", "m.reaction", false, false, true},
		{"@dana:ex.org", "m.room.encrypted", false, false, true}, {"@dana:ex.org", "m.room.redaction", false, true, true},
		{"@pod:ex.org", "m.room.message", false, true, true}, {bot, "m.room.message", false, true, true}, {bot, "m.reaction", false, true, true},
		{"@dana:ex.org", "m.room.power_levels", true, true, true}, {"@dana:ex.org", "m.room.topic", true, true, false},
		{"@dana:ex.org", "m.sticker", false, false, false}, {"@dana:ex.org", "org.example", false, false, false},
		{"@dana:ex.org", "m.room.message", true, true, false},
	} {
		e := envelope{Sender: c.sender, Type: c.eventType}
		if c.state {
			e.StateKey = new(string)
		}
		if always, ok := s.interest(e); ok != c.want || ok && always != c.always {
			t.Errorf("%+v: always %v, of interest %v", c, always, ok)
		}
	}
}

// Talk in rooms without a question is not even stored.
func TestRoomWithoutQuestion(t *testing.T) {
	r := newRig(t, nil)
	r.put("1", r.says("@dana:ex.org", "m.room.message", `{"msgtype":"m.text","body":"secret"}`))
	events, err := r.db.NextEvents(t.Context(), r.clock.Now(), 10)
	noError(t, err)
	if len(events) != 0 {
		t.Errorf("stored %d events", len(events))
	}
}

func TestOtherRoutes(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]int{"/_matrix/app/v1/users/" + bot: 200, "/_matrix/app/v1/users/@x:ex.org": 404, "/_matrix/app/v1/rooms/%23x:ex.org": 404} {
		req := httptest.NewRequest(http.MethodGet, path, nil)
		req.Header.Set("Authorization", "Bearer "+r.reg.ServerToken)
		w := httptest.NewRecorder()
		r.Handler().ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%s gives %d, want %d", path, w.Code, want)
		}
	}
}

// A24: an account that exists is what we want; the homeserver is asked to call us back. What will not go away by itself
// is no reason to try again.
func TestA24(t *testing.T) {
	r := newRig(t, nil)
	report, err := r.Connect(t.Context())
	noError(t, err)
	if report.Bot != bot || report.Ping != "ok" {
		t.Errorf("report is %+v", report)
	}
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if strings.HasSuffix(req.URL.Path, "/whoami") {
			_, _ = fmt.Fprint(w, `{"user_id":"@other:ex.org"}`)
			return true
		}
		if strings.HasSuffix(req.URL.Path, "/ping") {
			w.WriteHeader(404)
			_, _ = fmt.Fprint(w, `{"errcode":"M_UNRECOGNIZED"}`)
			return true
		}
		return false
	})
	if _, err := r.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "@other:ex.org") || !Hopeless(err) {
		t.Errorf("a token of somebody else: %v", err)
	}
	for answer, hopeless := range map[string]bool{
		`403 {"errcode":"M_FORBIDDEN"}`: true, `400 {"errcode":"M_EXCLUSIVE"}`: true, `401 {"errcode":"M_UNKNOWN_TOKEN"}`: true,
		`500 {"errcode":"M_UNKNOWN"}`: false, `502 <html>`: false, `429 {"errcode":"M_LIMIT_EXCEEDED"}`: false,
	} {
		r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
			if !strings.HasSuffix(req.URL.Path, "/register") {
				return false
			}
			status, body, _ := strings.Cut(answer, " ")
			code, _ := strconv.Atoi(status)
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
			return true
		})
		if _, err := r.Connect(t.Context()); err == nil || Hopeless(err) != hopeless {
			t.Errorf("%s: %v", answer, err)
		}
		r.clock.move(longestWait)
	}
}

func TestCheckRegistration(t *testing.T) {
	good := func() *appservice.Registration {
		return NewRegistration("questions", "http://127.0.0.1:1", "asker", "ex.org")
	}
	noError(t, CheckRegistration(good(), "ex.org"))
	for name, spoil := range map[string]func(*appservice.Registration){
		"as_token is missing": func(r *appservice.Registration) { r.AppToken = "" },
		"are the same":        func(r *appservice.Registration) { r.AppToken = r.ServerToken },
		"matches more than":   func(r *appservice.Registration) { r.Namespaces.UserIDs[0].Regex = "^@.*:ex\\.org$" },
		"does not match":      func(r *appservice.Registration) { r.SenderLocalpart = "other" },
		"exclusive":           func(r *appservice.Registration) { r.Namespaces.UserIDs[0].Exclusive = false },
		"no regular":          func(r *appservice.Registration) { r.Namespaces.UserIDs[0].Regex = "(" },
	} {
		reg := good()
		spoil(reg)
		if err := CheckRegistration(reg, "ex.org"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
