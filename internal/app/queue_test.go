package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/queue"
)

// rationing is a bridge with a configuration, and a call of its question queue.
func rationing(t *testing.T, change func(*config.Config)) (b *parts, call func(call, body string) string) {
	t.Helper()
	cfg := config.Default()
	cfg.Homeserver = config.Homeserver{URL: "http://127.0.0.1:1", Domain: "question.test"}
	cfg.Database.Path = filepath.Join(t.TempDir(), "bridge.db")
	change(&cfg)
	b, err := assemble(t.Context(), Options{Config: cfg, Registration: cfg.NewRegistration(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	secret, token, err := httpapi.NewToken(httpapi.TokenTerms{Agent: "ci", Rooms: []string{"*"}, Scopes: []string{httpapi.ScopeQueue}, Now: time.Now()})
	if err == nil {
		err = b.store.AddToken(t.Context(), token)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(b.api))
	t.Cleanup(server.Close)
	return b, func(call, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/agent/queue/"+call, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		said, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s %v", res.StatusCode, said, err)
		}
		return string(said)
	}
}

const isIt = `{"turn":1,"question_text":"Is it?","kind":"confirmation","ambiguity_signal":"gate_refusal","target_keys":["k"],
	"options":[{"label":"yes","acted":["k"]},{"label":"no","contradicted":["k"]}]}`

// A bridge that runs minds both switches of the queue on the next call.
func TestQueueSwitches(t *testing.T) {
	b, call := rationing(t, func(*config.Config) {})
	row := func(off bool) {
		if err := (&Queue{b.store}).SetOff(t.Context(), off); err != nil {
			t.Fatal(err)
		}
	}
	for value, off := range map[string]bool{"1": true, "true": true, "YES": true, " on ": true, "0": false, "false": false, "no": false, "off": false, "": false} {
		t.Setenv(EnvQueueDisable, value)
		if said := call("propose", isIt); strings.Contains(said, `"disabled"`) != off {
			t.Errorf("%s=%q: %s", EnvQueueDisable, value, said)
		}
	}
	t.Setenv(EnvQueueDisable, "0")
	row(true)
	if said := call("propose", isIt); !strings.Contains(said, `"disabled"`) {
		t.Errorf("switched off: %s", said)
	}
	row(false)
	if said := call("next", `{"turn":1}`); !strings.Contains(said, `"status":"delivered"`) {
		t.Errorf("switched on: %s", said)
	}
}

// The queue is made as the configuration says.
func TestQueueIsConfigured(t *testing.T) {
	b, _ := rationing(t, func(*config.Config) {})
	if q := b.api.Queue; q.PersonBudget != (queue.PersonBudget{}) || q.Groups != nil {
		t.Errorf("by default: %+v", q.Parts)
	}
	b, _ = rationing(t, func(c *config.Config) {
		c.Queue = config.Queue{PersonBudget: config.PersonBudget{Asks: 3, Per: time.Hour}, Groups: [][]string{{"a", "b"}}}
	})
	if q := b.api.Queue; q.PersonBudget != (queue.PersonBudget{Asks: 3, Per: time.Hour}) || !reflect.DeepEqual(q.Groups, [][]bridge.AgentID{{"a", "b"}}) {
		t.Errorf("configured: %+v", q.Parts)
	}
}

// A callback on this machine is called where egress.allow lists it, and nowhere else.
func TestQueueCallsBackWhereItMay(t *testing.T) {
	asked := 0
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, `{"stale":[]}`)
	}))
	t.Cleanup(host.Close)
	for _, allow := range [][]string{nil, {"127.0.0.1"}} {
		asked = 0
		b, call := rationing(t, func(c *config.Config) { c.Egress.Allow = allow })
		if err := b.api.Callbacks.SetCallback(t.Context(), "ci", host.URL); err != nil {
			t.Fatal(err)
		}
		call("propose", isIt)
		delivered := strings.Contains(call("next", `{"turn":1}`), `"status":"delivered"`)
		if may := allow != nil; delivered != may || asked > 0 != may {
			t.Errorf("allowed %v: asked %d times, delivered %t", allow, asked, delivered)
		}
	}
}

// When somebody was asked is forgotten once it does not count any more.
func TestQueueForgetsWhomItAsked(t *testing.T) {
	b, _ := rationing(t, func(c *config.Config) { c.Queue.PersonBudget = config.PersonBudget{Asks: 2, Per: time.Hour} })
	now := time.Now()
	asks := queue.PersonSpending{Whom: "@dana:question.test", Now: now, PersonBudget: queue.PersonBudget{Asks: 1, Per: 24 * time.Hour}}
	spends := func() bool {
		granted, err := b.store.SpendPersonBudget(t.Context(), asks)
		if err != nil {
			t.Fatal(err)
		}
		return granted
	}
	if !spends() || spends() {
		t.Fatal("the budget is not kept")
	}
	for _, later := range []time.Duration{59 * time.Minute, time.Hour} {
		for _, chore := range b.sweeper.Chores {
			if strings.Contains(chore.Name, "the queue asked") {
				if err := chore.Do(t.Context(), now.Add(later)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := spends(); got != (later == time.Hour) {
			t.Errorf("%v later: forgotten is %t", later, got)
		}
	}
}
