package matrix

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// What a person wrote is never logged, at whatever level, whatever goes wrong.
func TestNothingSaidIsLogged(t *testing.T) {
	var out locked
	log := zerolog.New(&out).Level(zerolog.TraceLevel)
	zerolog.DefaultContextLogger = &log
	t.Cleanup(func() { zerolog.DefaultContextLogger = nil })
	r := newRig(t, nil)
	var err error
	r.db, err = sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "log.db"), Log: log})
	noError(t, err)
	t.Cleanup(func() { _ = r.db.Close() })
	r.store, r.rooms.store, r.sends.store = r.db, r.db, r.db
	parts := r.engine.Parts
	parts.Store = r.db
	r.engine = bridge.NewEngine(parts)

	const secret = "my-own-words"
	q, m := r.ask(freeText())
	other, m2 := r.ask(plain())
	broken := `{"event_id":"$b","room_id":"` + room + `","sender":"@dana:ex.org","type":"m.room.message","content":["` + secret + `"]}`
	r.put("1", broken, r.says("@dana:ex.org", "m.room.message", threadReply(m2, secret)), r.says("@dana:ex.org", "m.room.message", threadReply(m, secret+" and more than fits")),
		r.says("@dana:ex.org", "m.reaction", `{"m.relates_to":{"rel_type":"m.annotation","event_id":"`+m2+`","key":"`+secret+`"}}`),
		r.says("@dana:ex.org", "m.room.message", threadReply(m, secret[:9])))
	r.work()
	r.expect(q.ID, `answered "my-own-wo" by @dana:ex.org`)
	r.expect(other.ID, "pending")
	r.server.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if !isSend(req) {
			return false
		}
		var sent bytes.Buffer
		_, _ = sent.ReadFrom(req.Body)
		w.WriteHeader(http.StatusBadGateway) // a proxy that says back what it was given
		_, _ = w.Write(append([]byte("<pre>"), sent.Bytes()...))
		return true
	})
	for _, err := range r.pump() {
		log.Warn().Err(err).Msg("As the outbox logs it")
	}
	r.put("2", r.says("@dana:ex.org", "m.room.message", threadReply(m, secret)))
	w := &worker{s: r.Service, engine: &listener{r: r, do: func(in bridge.Interaction) error { panic(in.Act.(bridge.Said).Text) }}}
	events, err := r.db.NextEvents(t.Context(), r.clock.Now(), 10)
	noError(t, err)
	if len(events) == 0 {
		t.Fatal("nothing to handle")
	}
	_ = w.safely(t.Context(), events[0])
	out.mu.Lock()
	defer out.mu.Unlock()
	if !strings.Contains(out.String(), "Question settled") || !strings.Contains(out.String(), "crashed") || !strings.Contains(out.String(), "502") {
		t.Fatalf("the test does not see the log: %s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, secret[:9]) {
			t.Errorf("logged: %s", line)
		}
	}
}
