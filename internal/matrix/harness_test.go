package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/clocktest"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

var testStart = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

type noNotifier struct{}

func (noNotifier) Notify(bridge.QuestionID) {}

const room = "!ops:ex.org"

// rig is a bridge against a fake homeserver: the real store on disk, the real engine, the real channel.
type rig struct {
	*Service
	t      *testing.T
	server *fakeServer
	engine *bridge.Engine
	db     *sqlstore.Store
	clock  *clocktest.Clock
	next   int

	hooks    []string // what webhooks were told, see [rig.hooked]
	hookDown bool     // while nobody takes them
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, server: newFakeServer(t), clock: clocktest.At(testStart)}
	r.server.addRoom(room, "@root:ex.org", "@dana:ex.org", "@sam:ex.org")
	var err error
	r.db, err = sqlstore.Open(t.Context(), sqlstore.Config{
		Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop(),
	})
	noError(t, err)
	t.Cleanup(func() { _ = r.db.Close() })
	cfg := Config{
		ServerName: "ex.org", HomeserverURL: r.server.URL, Registration: NewRegistration("questions", "http://127.0.0.1:1", "asker", "ex.org"),
		Keycaps: true, Redactions: RedactionsAuto, RequestTimeout: 5 * time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	r.Service, err = New(cfg, r.db, r.clock)
	noError(t, err)
	r.engine = bridge.NewEngine(bridge.Parts{
		Store: r.db, Channel: r.Service, Gatekeeper: r.Service, Notifier: noNotifier{}, Clock: r.clock, Unthreaded: bridge.UnthreadedDirect,
	})
	return r
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put pushes events the way a homeserver does and gives the status of the answer.
func (r *rig) put(txn string, events ...string) int {
	r.t.Helper()
	req := httptest.NewRequest(http.MethodPut, "/_matrix/app/v1/transactions/"+txn, strings.NewReader(`{"events":[`+strings.Join(events, ",")+`]}`))
	req.Header.Set("Authorization", "Bearer "+r.reg.ServerToken)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w.Code
}

// says makes an event of the room by a sender, with an id of its own.
func (r *rig) says(sender, eventType, content string) string {
	r.next++
	return fmt.Sprintf(`{"event_id":"$p%d","room_id":%q,"sender":%q,"type":%q,"origin_server_ts":%d,"content":%s}`,
		r.next, room, sender, eventType, r.clock.Now().UnixMilli(), content)
}

func threadReply(root, body string) string {
	return fmt.Sprintf(`{"msgtype":"m.text","body":%q,"m.relates_to":{"rel_type":"m.thread","event_id":%q,"is_falling_back":true,"m.in_reply_to":{"event_id":%q}}}`, body, root, root)
}

// work handles everything that waits in the inbox, in this goroutine.
func (r *rig) work() {
	r.t.Helper()
	w := &worker{s: r.Service, engine: r.engine, busy: map[bridge.ConversationID]bool{}, due: map[bridge.ConversationID]time.Time{}}
	for {
		events, err := r.db.NextEvents(r.t.Context(), r.clock.Now(), 10)
		noError(r.t, err)
		if len(events) == 0 {
			return
		}
		for _, ev := range events {
			w.one(r.t.Context(), ev)
		}
	}
}

// pump runs every effect that is due, once, and gives the errors of those that have to wait.
func (r *rig) pump() []error {
	r.t.Helper()
	var waiting []error
	for {
		effects, err := r.db.ClaimEffects(r.t.Context(), r.clock.Now(), time.Minute, 10)
		noError(r.t, err)
		if len(effects) == 0 {
			return waiting
		}
		for _, f := range effects {
			err := r.effect(f)
			if err == nil {
				noError(r.t, r.db.FinishEffect(r.t.Context(), f.ID))
				continue
			}
			waiting = append(waiting, err)
			after := time.Second
			var retry *bridge.ErrRetry
			var held *bridge.ErrHeld
			if errors.As(err, &retry) {
				after = retry.After
			} else if errors.As(err, &held) {
				after = held.Again
			}
			noError(r.t, r.db.PostponeEffect(r.t.Context(), f.ID, r.clock.Now().Add(after), err.Error()))
		}
	}
}

// ask asks a question and posts it, and gives its message.
func (r *rig) ask(q bridge.Question) (bridge.Question, string) {
	r.t.Helper()
	q = r.asked(q)
	if waiting := r.pump(); len(waiting) > 0 {
		r.t.Fatalf("could not post: %v", waiting)
	}
	q = r.question(q.ID)
	return q, string(q.Delivery.Message)
}

func (r *rig) asked(q bridge.Question) bridge.Question {
	r.t.Helper()
	q.Conversation = room
	return r.askedIn(q)
}

// askedIn asks in the question's own conversation.
func (r *rig) askedIn(q bridge.Question) bridge.Question {
	r.t.Helper()
	q.ID = bridge.NewQuestionID()
	q.Dialect, q.Asker, q.AskedBy, q.ElicitationID, q.Digest = bridge.Core, "ci", "ci", string(q.ID), string(q.ID)
	q.CreatedAt, q.ExpiresAt, q.ForgetAfter = r.clock.Now(), r.clock.Now().Add(time.Hour), r.clock.Now().Add(24*time.Hour)
	q, _, err := r.engine.Ask(r.t.Context(), q)
	noError(r.t, err)
	return q
}

func (r *rig) question(id bridge.QuestionID) bridge.Question {
	r.t.Helper()
	q, err := r.db.Question(r.t.Context(), id)
	noError(r.t, err)
	return q
}

// echo gives an event of the bot back to it, as homeservers do.
func (r *rig) echo(e map[string]any) string {
	full := map[string]any{"room_id": room}
	for k, v := range e {
		full[k] = v
	}
	raw, _ := json.Marshal(full)
	return string(raw)
}

// state is what a question came to, in one line.
func (r *rig) state(id bridge.QuestionID) string {
	q := r.question(id)
	if q.Answer == nil {
		return string(q.State)
	}
	return string(q.State) + " " + choiceOf(q.Answer.Choice) + " by " + string(q.Answer.By.ID)
}

func (r *rig) expect(id bridge.QuestionID, want string) {
	r.t.Helper()
	if got := r.state(id); got != want {
		r.t.Errorf("the question is %s, want %s", got, want)
	}
}

// bodies gives the texts of what was sent to the room, without edits.
func (r *rig) bodies() []string {
	var out []string
	for _, e := range r.server.sent(room, "m.room.message") {
		content := e["content"].(map[string]any)
		if content["m.new_content"] == nil {
			out = append(out, fmt.Sprint(content["body"]))
		}
	}
	return out
}

// owed counts the effects that are owed now, under a key.
func (r *rig) owed(key string) (n int) {
	r.t.Helper()
	effects, err := r.db.ClaimEffects(r.t.Context(), r.clock.Now(), time.Minute, 100)
	noError(r.t, err)
	for _, f := range effects {
		if f.Key == key {
			n++
		}
		noError(r.t, r.db.PostponeEffect(r.t.Context(), f.ID, r.clock.Now(), ""))
	}
	return n
}
