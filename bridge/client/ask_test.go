package client

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

func TestAskSendsTheWireForm(t *testing.T) {
	reference := "rel-2.4"
	tests := []struct {
		name string
		ask  schema.Ask
		want string
	}{
		{"the prompt alone", &schema.CoreAsk{Prompt: "Deploy?"}, `{"prompt": "Deploy?"}`},
		{
			"everything",
			&schema.CoreAsk{
				AskTerms: schema.AskTerms{
					ResponderScope: "direct", TargetUserID: "@federica:example.org", TTL: TTL(30 * time.Minute),
					CorrelationID: &reference, ReplyTo: &reference,
					Data: map[string]any{"build": json.Number("12345678901234567890")},
				},
				Prompt: "Which environment?", Context: "Release 2.4",
				Options:   []schema.AskOption{{Value: "staging"}, {Value: "prod", Label: "Production", Style: schema.StylePrimary}},
				TextInput: &schema.TextInput{Placeholder: "Another one"},
			},
			`{"prompt": "Which environment?", "context": "Release 2.4", "responder_scope": "direct",
			  "target_user_id": "@federica:example.org", "ttl": 1800, "correlation_id": "rel-2.4", "reply_to": "rel-2.4",
			  "data": {"build": 12345678901234567890},
			  "options": [{"value": "staging", "label": "staging", "style": "default"}, {"value": "prod", "label": "Production", "style": "primary"}],
			  "text_input": {"placeholder": "Another one", "max_length": 60}}`,
		},
		{
			"a lifetime that is clamped by the server",
			&schema.CoreAsk{Prompt: "Deploy?", AskTerms: schema.AskTerms{TTL: new(schema.Seconds(10 * 365 * 86400))}}, `{"prompt": "Deploy?", "ttl": 315360000}`,
		},
		{
			"a set of items",
			&schema.CoreAsk{Items: []schema.AskItem{{Header: "Env", Prompt: "Where?", Options: []schema.AskOption{{Value: "a"}}}, {Header: "Why", Prompt: "Why?", TextInput: &schema.TextInput{}}}},
			`{"items": [{"header": "Env", "prompt": "Where?", "options": [{"value": "a", "label": "a", "style": "default"}]},
			  {"header": "Why", "prompt": "Why?", "text_input": {"placeholder": "", "max_length": 60}}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := mustJSON(t, tt.ask)
			s := &script{replies: []reply{{status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
			q, err := scripted(t, s).Ask(t.Context(), "OPS", tt.ask)
			if err != nil {
				t.Fatal(err)
			}
			if q.ID != "q_1" || !q.Expires().Equal(epoch.Add(time.Hour)) {
				t.Errorf("got %s, which expires at %s", q.ID, q.Expires())
			}
			if got, want := tree(t, s.bodies[0]), tree(t, tt.want); !reflect.DeepEqual(got, want) {
				t.Errorf("sent %s\nwant %s", s.bodies[0], tt.want)
			}
			r := s.asked[0]
			if r.Method != "POST" || r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("sent %s with %v", r.Method, r.Header)
			}
			if after := mustJSON(t, tt.ask); after != before {
				t.Errorf("the ask was changed: %s", after)
			}
		})
	}
}

// tree reads JSON with the digits of its numbers.
func tree(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := decodeOne([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func elicitation() *schema.Elicitation {
	return &schema.Elicitation{
		MsgType: "m.text", SuiteEventType: schema.EventType, SchemaVersion: 1, ElicitationID: "elc_1", BoardID: "brd_1",
		CardID: "crd_1", RunID: "run_1", StageKey: "build", CardTitle: "Title", AskedBy: "agt_1", Question: "Go on?",
		Options: []schema.Option{{ID: "yes", Label: "Yes", Meaning: schema.Choose}},
	}
}

func TestAskSendsAnElicitation(t *testing.T) {
	e := elicitation()
	s := &script{replies: []reply{{status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
	ask := &schema.ElicitationAsk{AskTerms: schema.AskTerms{TTL: TTL(time.Hour), ResponderScope: "room"}, Elicitation: e}
	if _, err := scripted(t, s).Ask(t.Context(), "OPS", ask); err != nil {
		t.Fatal(err)
	}
	sent, err := schema.DecodeAsk([]byte(s.bodies[0]))
	if err != nil {
		t.Fatal(err)
	}
	got, isV2 := sent.(*schema.ElicitationAsk)
	if !isV2 || got.Elicitation.ElicitationID != "elc_1" || got.Elicitation.Body != e.TextBody() || got.Lifetime() != time.Hour {
		t.Errorf("sent %s", s.bodies[0])
	}
	if e.Body != "" {
		t.Error("the elicitation was changed")
	}
}

func TestAskRefusesBeforeSending(t *testing.T) {
	five := []schema.AskOption{{Value: "a"}, {Value: "b"}, {Value: "c"}, {Value: "d"}, {Value: "e"}}
	tests := []struct {
		name  string
		ask   schema.Ask
		where string // the fault's location; "" when there is none
	}{
		{"five options", &schema.CoreAsk{Prompt: "Which?", Options: five}, "/options"},
		{"one option", &schema.CoreAsk{Prompt: "Which?", Options: five[:1]}, "/options"},
		{"the same value twice", &schema.CoreAsk{Prompt: "Which?", Options: []schema.AskOption{{Value: "a"}, {Value: "a"}}}, "/options/1"},
		{"no prompt", &schema.CoreAsk{}, ""},
		{"a long prompt", &schema.CoreAsk{Prompt: strings.Repeat("x", 501)}, "/prompt"},
		{"a long text", &schema.CoreAsk{Prompt: "Why?", TextInput: &schema.TextInput{MaxLength: 61}}, "/text_input/max_length"},
		{"a target that is no user", &schema.CoreAsk{Prompt: "Why?", AskTerms: schema.AskTerms{TargetUserID: "federica"}}, "/target_user_id"},
		{"large data", &schema.CoreAsk{Prompt: "Why?", AskTerms: schema.AskTerms{Data: map[string]any{"x": strings.Repeat("x", 8192)}}}, "/data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{replies: []reply{{status: 201, body: "{}"}}}
			_, err := scripted(t, s).Ask(t.Context(), "OPS", tt.ask)
			var refusal *schema.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if !strings.HasPrefix(refusal.Faults[0].Location, tt.where) {
				t.Errorf("the fault is at %q, want %q", refusal.Faults[0].Location, tt.where)
			}
			if len(s.asked) > 0 {
				t.Error("it was sent")
			}
		})
	}
}

func TestAskNeedsAnAsk(t *testing.T) {
	c := scripted(t, &script{replies: []reply{{status: 500}}})
	for _, ask := range []schema.Ask{nil, (*schema.CoreAsk)(nil), (*schema.ElicitationAsk)(nil), &schema.ElicitationAsk{}} {
		if _, err := c.Ask(t.Context(), "OPS", ask); err == nil || err.Error() != "client: no ask" {
			t.Errorf("%#v: got %v", ask, err)
		}
	}
	if _, err := c.AskYesNo(t.Context(), "OPS", nil); err == nil || err.Error() != "client: no ask" {
		t.Errorf("got %v", err)
	}
}

func TestBinaryQuestions(t *testing.T) {
	for _, tt := range []struct {
		yesNo  bool
		labels [2]string
	}{{true, [2]string{"Yes", "No"}}, {false, [2]string{"Approve", "Deny"}}} {
		s := &script{replies: []reply{{status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
		c := scripted(t, s)
		call := c.AskApproval
		if tt.yesNo {
			call = c.AskYesNo
		}
		ask := &schema.CoreAsk{Prompt: "Deploy?"}
		if _, err := call(t.Context(), "OPS", ask); err != nil {
			t.Fatal(err)
		}
		sent, err := schema.DecodeAsk([]byte(s.bodies[0]))
		if err != nil {
			t.Fatal(err)
		}
		want := []schema.AskOption{
			{Value: "approve", Label: tt.labels[0], Style: schema.StylePrimary}, {Value: "deny", Label: tt.labels[1], Style: schema.StyleDanger},
		}
		if got := sent.(*schema.CoreAsk).Options; !reflect.DeepEqual(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		if ask.Options != nil {
			t.Error("the ask was changed")
		}
		if _, err := call(t.Context(), "OPS", &schema.CoreAsk{Prompt: "?", Options: want}); err == nil || len(s.asked) != 1 {
			t.Errorf("options of the caller: got %v", err)
		}
	}
}

func TestNamesAreEscapedInPaths(t *testing.T) {
	rooms := map[string]string{
		"!abc/def?:example.org": "/api/agent/rooms/%21abc%2Fdef%3F:example.org/questions",
		"#ops:example.org":      "/api/agent/rooms/%23ops:example.org/questions",
		"../../x":               "/api/agent/rooms/..%2F..%2Fx/questions",
		"a%2Fb c":               "/api/agent/rooms/a%252Fb%20c/questions",
		"Ünï":                   "/api/agent/rooms/%C3%9Cn%C3%AF/questions",
	}
	for room, want := range rooms {
		s := &script{replies: []reply{{status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
		c := scripted(t, s, func(cfg *Config) { cfg.Server = "https://api.example.org/prefix/" })
		if _, err := c.Ask(t.Context(), room, &schema.CoreAsk{Prompt: "?"}); err != nil {
			t.Fatal(err)
		}
		if got := s.asked[0].URL.RequestURI(); got != "/prefix"+want {
			t.Errorf("%s: asked %s, want /prefix%s", room, got, want)
		}
	}
	s := &script{replies: []reply{ok(t, pendingQuestion("../x"))}}
	c := scripted(t, s)
	if _, err := c.Fetch(t.Context(), "../x"); err != nil || s.asked[0].URL.RequestURI() != "/api/agent/questions/..%2Fx" {
		t.Errorf("%v: asked %s", err, s.asked[0].URL.RequestURI())
	}
	for _, name := range []string{"", ".", ".."} {
		_, e1 := c.Ask(t.Context(), name, &schema.CoreAsk{Prompt: "?"})
		_, e2 := c.Fetch(t.Context(), name)
		_, e3 := c.Await(t.Context(), name)
		_, e4 := c.Cancel(t.Context(), name)
		if e1 == nil || e2 == nil || e3 == nil || e4 == nil || len(s.asked) != 1 {
			t.Errorf("%q is taken for a name: %v, %v, %v, %v", name, e1, e2, e3, e4)
		}
	}
}

// A missing or invalid expiry is the documented default, whichever dialect the ask is in.
func TestABadLifetimeFallsBackToTheDefault(t *testing.T) {
	never := time.Until(time.Time{})
	for _, ttl := range []*schema.Seconds{
		nil, new(schema.Seconds(0)), new(schema.Seconds(-5)), new(schema.Seconds(math.MinInt64)), new(schema.Seconds(math.MaxInt64)),
		TTL(0), TTL(-time.Second), TTL(never), TTL(-never), TTL(math.MaxInt64),
	} {
		for want, ask := range map[time.Duration]schema.Ask{
			time.Hour:          &schema.CoreAsk{Prompt: "Deploy?", AskTerms: schema.AskTerms{TTL: ttl}},
			7 * 24 * time.Hour: &schema.ElicitationAsk{Elicitation: elicitation(), AskTerms: schema.AskTerms{TTL: ttl}},
		} {
			s := &script{replies: []reply{{status: 201, body: mustJSON(t, pendingQuestion("q_1"))}}}
			if _, err := scripted(t, s).Ask(t.Context(), "OPS", ask); err != nil {
				t.Fatal(err)
			}
			sent, err := schema.DecodeAsk([]byte(s.bodies[0]))
			if err != nil || sent.Lifetime() != want || strings.Contains(s.bodies[0], "ttl") {
				t.Errorf("%v: sent %s, which lives %s: %v", ttl, s.bodies[0], sent.Lifetime(), err)
			}
		}
	}
}

func TestTTL(t *testing.T) {
	for d, want := range map[time.Duration]int64{time.Minute: 60, time.Millisecond: 1, 1500 * time.Millisecond: 2} {
		if got := TTL(d); got == nil || int64(*got) != want {
			t.Errorf("%s: got %v, want %d", d, got, want)
		}
	}
	for _, d := range []time.Duration{0, -time.Second, math.MinInt64, math.MaxInt64} {
		if got := TTL(d); got != nil {
			t.Errorf("%s: got %d", d, *got)
		}
	}
}
