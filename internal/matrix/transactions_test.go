package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
		r.clock.Move(longestWait)
	}
}

// A24: twenty questions at once from an agent that nobody has heard of, on an account that exists: each is posted once. A
// room that the bot may not join yet it joins when it is invited.
func TestA24Twenty(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Keycaps, c.Invite = false, []string{"ex.org"} })
	_, err := r.Connect(t.Context())
	noError(t, err)
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() { r.asked(plain()) })
	}
	asking.Wait()
	if waiting := r.pump(); len(waiting) != 0 {
		t.Errorf("waits: %v", waiting)
	}
	posted := map[any]int{}
	for _, e := range r.server.sent(room, "m.room.message") {
		posted[e["content"].(map[string]any)["elicitation_id"]]++
	}
	for q, n := range posted {
		if n != 1 {
			t.Errorf("%v stands in the room %d times", q, n)
		}
	}
	if len(posted) != 20 {
		t.Errorf("%d questions stand in the room", len(posted))
	}

	later := "!later:ex.org"
	r.put("1", r.invite(later, "@dana:ex.org")) // which was taken back: the join is refused
	r.work()
	if err := r.Supports(t.Context(), bridge.ConversationID(later)); bridge.CodeOf(err) != bridge.CodeRoomUnanswerable {
		t.Errorf("a room that cannot be joined: %v", err)
	}
	server := r.server.addRoom(later, "@dana:ex.org")
	server.state = server.state[:3] // the bot is not in there yet
	r.put("2", r.invite(later, "@dana:ex.org"))
	r.work()
	noError(t, r.Supports(t.Context(), bridge.ConversationID(later)))
}

// C8: hostile numbers, depth and names in a pushed event cost little, and keep nobody else's answer back.
func TestC8(t *testing.T) {
	r := newRig(t, nil)
	q, m := r.ask(plain())
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `"x%d":1e1000000,`, i)
	}
	hostile := func(extra string) string {
		return strings.Replace(threadReply(m, "1"), `{"msgtype":"m.text",`, `{`+extra+`"msgtype":"m.notice",`, 1)
	}
	batch := []string{
		r.says("@sam:ex.org", "m.room.message", hostile(`"n":1e1000000,`)),
		r.says("@sam:ex.org", "m.room.message", hostile(many.String())),
		r.says("@sam:ex.org", "m.room.message", hostile(`"n":`+strings.Repeat("9", 131072)+`,`)),
		r.says("@sam:ex.org", "m.room.message", hostile(`"n":0.`+strings.Repeat("9", 131072)+`,`)),
		r.says("@sam:ex.org", "m.room.message", hostile(`"n":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`,`)),
		r.says("@sam:ex.org", "m.room.message", hostile(`"n":`+strings.Repeat(`{"":`, 9000)+"0"+strings.Repeat("}", 9000)+`,`)),
		strings.Replace(r.says("@sam:ex.org", "m.room.message", hostile("")), `"origin_server_ts":`, `"origin_server_ts":1e1000000,"x":`, 1),
		r.sets(room, "@sam:ex.org", "m.room.power_levels", "", `{"users":{"@sam:ex.org":1e1000000}}`),
		r.says("@dana:ex.org", "m.room.message", threadReply(m, "2")),
	}
	start := time.Now()
	if status := r.put("1", batch...); status != 200 {
		t.Fatalf("status %d", status)
	}
	r.work()
	r.expect(q.ID, "answered skip by @dana:ex.org")
	if took := time.Since(start); took > 2*time.Second { // 100 ms on an idle machine
		t.Errorf("it took %v", took)
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
