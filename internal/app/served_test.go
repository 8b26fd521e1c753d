package app

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
	"superpipeline.dev/question-bridge/schema"
)

// running is a bridge that runs in this process, on a homeserver that takes no time.
type running struct {
	*rig
	homeserver *fastHomeserver
	url        string // of the API
	appservice string
}

func run(tb testing.TB, r *rig, h *fastHomeserver) *running {
	tb.Helper()
	open := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		r.ok(err)
		return l
	}
	l := Listeners{API: open(), Appservice: open()}
	ctx, cancel := context.WithCancel(r.log.WithContext(context.Background()))
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	go func() {
		ended <- r.run(ctx, l, func(at Addresses) { ready <- at })
		close(ended)
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case at := <-ready:
		h.serve(at.Appservice, r.reg)
		return &running{r, h, at.API, at.Appservice}
	case err := <-ended:
		tb.Fatalf("the bridge ended: %v", err)
		return nil
	}
}

// served is a whole bridge under test, with everything but its homeserver real. Its room OPS is [opsRoom].
type served struct {
	*running
	t      *testing.T
	client *http.Client
}

const opsRoom = "!ops:" + benchDomain

// arrangement is what a test wants of a bridge. All but the database may be left out.
type arrangement struct {
	database  config.Database
	people    []string // who is in every room, beside Dana
	configure func(*config.Config)
	prepare   func(*parts) // before it runs
	hurried   bool         // that its answers are as described is shown by others
	wires     *logBook     // what it logs, also what no operator looks at, and what it says in rooms
}

func serve(t *testing.T, a arrangement) *served {
	t.Helper()
	h := newFastHomeserver(t, a.people...)
	cfg := benchConfig("", h.url)
	cfg.Database = a.database
	cfg.Rooms = []config.Room{{Code: "OPS", Room: opsRoom, Name: "Ops"}}
	if a.configure != nil {
		a.configure(&cfg)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	r := &rig{tb: t}
	r.ok(cfg.Save(path, "A bridge under test."))
	cfg, err := config.Load(path, os.Getenv)
	r.ok(err)
	log := &logBook{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the bridge's log:\n%s", log)
		}
	})
	s := &served{t: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: time.Minute}}
	t.Cleanup(s.client.CloseIdleConnections)
	logger := zerolog.New(log).Level(zerolog.InfoLevel)
	if a.wires != nil {
		logger = zerolog.New(io.MultiWriter(log, a.wires)).Level(zerolog.TraceLevel)
		h.heard = a.wires
	}
	r = rigOf(t, cfg, logger)
	if !a.hurried {
		r.around = func(api http.Handler) http.Handler { return apitest.Around(api, func(err error) { t.Error(err) }) }
	}
	if a.prepare != nil {
		a.prepare(r.parts)
	}
	s.running = run(t, r, h)
	return s
}

// person makes a token with which somebody answers.
func (s *served) person(user string) string {
	s.t.Helper()
	return s.grant(Grant{User: user})
}

// call is one request to the API. Its key is an Idempotency-Key; "" for none.
type call struct{ method, path, token, body, key string }

// reply is an answer, read whole. Its status is 0 where there was none, which the test has failed for.
type reply struct {
	status int
	header http.Header
	body   string
}

// caller makes requests to an API. It may be used by any goroutine.
type caller struct {
	t      *testing.T
	url    string
	client *http.Client
}

func (c caller) call(ctx context.Context, what call) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, what.method, c.url+what.path, strings.NewReader(what.body))
	if err != nil {
		c.t.Error(err)
		return reply{}
	}
	req.Header.Set("Authorization", "Bearer "+what.token)
	if what.key != "" {
		req.Header.Set("Idempotency-Key", what.key)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Error(err)
		return reply{}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Error(err)
		return reply{}
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

func (s *served) call(c call) reply {
	s.t.Helper()
	return s.callIn(s.t.Context(), c)
}

func (s *served) callIn(ctx context.Context, c call) reply {
	s.t.Helper()
	return caller{s.t, s.url, s.client}.call(ctx, c)
}

const opsQuestions = "/api/agent/rooms/OPS/questions"

// ask asks in the room OPS, and gives the new question.
func (s *served) ask(token, body string) schema.Question {
	s.t.Helper()
	return s.asked(call{path: opsQuestions, token: token, body: body})
}

func (s *served) asked(c call) schema.Question {
	s.t.Helper()
	c.method = http.MethodPost
	r := s.call(c)
	var q schema.Question
	if err := json.Unmarshal([]byte(r.body), &q); err != nil || r.status != http.StatusCreated {
		s.t.Errorf("an ask is answered with %d: %s", r.status, r.body)
	}
	return q
}
