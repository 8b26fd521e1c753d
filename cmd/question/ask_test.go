package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

func jsonTree(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func TestAskSends(t *testing.T) {
	const approveDeny = `"options": [{"value": "approve", "label": "Approve", "style": "primary"}, {"value": "deny", "label": "Deny", "style": "danger"}]`
	const yesNo = `"options": [{"value": "approve", "label": "Yes", "style": "primary"}, {"value": "deny", "label": "No", "style": "danger"}]`
	tests := []struct {
		name  string
		flags []string
		want  string // beside the prompt
	}{
		{"no options", nil, approveDeny},
		{"--yes-no", []string{"--yes-no"}, yesNo},
		{"--text", []string{"--text"}, `"text_input": {"placeholder": "", "max_length": 60}`},
		{"--text=MAX", []string{"--text=12"}, `"text_input": {"placeholder": "", "max_length": 12}`},
		{"--yes-no --text", []string{"--yes-no", "--text"}, yesNo + `, "text_input": {"placeholder": "", "max_length": 60}`},
		{
			"--option", []string{"--option", "a:A: the first:primary", "--option", "b:B:danger", "--option=c:danger", "--option", "d"},
			`"options": [{"value": "a", "label": "A: the first", "style": "primary"}, {"value": "b", "label": "B", "style": "danger"},
			 {"value": "c", "label": "danger", "style": "default"}, {"value": "d", "label": "d", "style": "default"}]`,
		},
		{
			"an option keeps its commas and its last word", []string{"--option", "a:One, two:default", "--option", "b:at 10:30"},
			`"options": [{"value": "a", "label": "One, two", "style": "default"}, {"value": "b", "label": "at 10:30", "style": "default"}]`,
		},
		{"--text --placeholder", []string{"--text=12", "--placeholder", "A reason"}, `"text_input": {"placeholder": "A reason", "max_length": 12}`},
		{"--approve-deny", []string{"--approve-deny"}, approveDeny},
		{"--approve-deny --text", []string{"--approve-deny", "--text"}, approveDeny + `, "text_input": {"placeholder": "", "max_length": 60}`},
		{"--scope room", []string{"--scope", "room"}, approveDeny + `, "responder_scope": "room"`},
		{"--scope direct", []string{"--scope", "direct", "--to", "@federica:example.org"}, approveDeny + `, "responder_scope": "direct", "target_user_id": "@federica:example.org"`},
		{"--target", []string{"--target", "@federica:example.org"}, approveDeny + `, "target_user_id": "@federica:example.org"`},
		{"--timeout", []string{"--timeout", "30m"}, approveDeny + `, "ttl": 1800`},
		{"--reply-to", []string{"--reply-to", "thread/7"}, approveDeny + `, "reply_to": "thread/7"`},
		{"--idempotency-key", []string{"--idempotency-key", "deploy-42"}, approveDeny},
		{"--to", []string{"--to", "@federica:example.org"}, approveDeny + `, "target_user_id": "@federica:example.org"`},
		{"--context", []string{"--context", "Build #4821"}, approveDeny + `, "context": "Build #4821"`},
		{"--ttl", []string{"--ttl", "30m"}, approveDeny + `, "ttl": 1800`},
		{"--ttl in seconds", []string{"--ttl", "90"}, approveDeny + `, "ttl": 90`},
		{"--correlation-id", []string{"--correlation-id", "deploy-42"}, approveDeny + `, "correlation_id": "deploy-42"`},
		{"--data", []string{"--data", `{"n": 12345678901234567890, "of": ["a"]}`}, approveDeny + `, "data": {"n": 12345678901234567890, "of": ["a"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := newFakeAPI()
			api.serve(t, "127.0.0.1:0")
			got := call{args: append([]string{"ask", "#ops:example.org", "Deploy?"}, tt.flags...)}.run(t)
			if got.code != 0 || got.out != "q_1\n" || got.err != "" {
				t.Fatalf("got %+v", got)
			}
			bodies, rooms := api.asks()
			if want := `{"prompt": "Deploy?", ` + tt.want + `}`; !reflect.DeepEqual(jsonTree(t, bodies[0]), jsonTree(t, want)) {
				t.Errorf("sent %s\nwant %s", bodies[0], want)
			}
			if rooms[0] != "#ops:example.org" {
				t.Errorf("asked in %s", rooms[0])
			}
		})
	}
}

func TestAskRefusesAWrongCommandLine(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	tests := []struct {
		name string
		args []string
		err  string
	}{
		{"no prompt", []string{"OPS"}, "a ROOM and a PROMPT are needed"},
		{"too many arguments", []string{"OPS", "Why?", "60"}, "a ROOM and a PROMPT are needed"},
		{"an empty room", []string{"", "Why?"}, "a ROOM and a PROMPT are needed"},
		{"an empty prompt", []string{"OPS", ""}, "the PROMPT is empty\nhint: "},
		{"a long prompt", []string{"OPS", strings.Repeat("x", 501)}, "question: PROMPT is longer than 500 characters\nhint: question ask --help\n"},
		{"a blank prompt", []string{"OPS", " \n"}, "the PROMPT is empty"},
		{"a long context", []string{"OPS", "?", "--context", strings.Repeat("x", 201)}, "--context is longer than 200 characters"},
		{"a long label", []string{"OPS", "?", "--option", "a", "--option", "b:" + strings.Repeat("x", 41)}, "--option, number 2: its label is longer than 40"},
		{"two faults", []string{"OPS", "?", "--option", "a", "--to", "federica"}, "--option has fewer than 2 items\n--to is not a Matrix user id"},
		{"one option", []string{"OPS", "Which?", "--option", "a:A"}, "--option has fewer than 2 items"},
		{"five options", []string{"OPS", "?", "--option=a", "--option=b", "--option=c", "--option=d", "--option=e"}, "--option has more than 4 items"},
		{"the same value twice", []string{"OPS", "?", "--option=a:A", "--option=a:B"}, "--option, number 2: its value repeats a value"},
		{"an option without a value", []string{"OPS", "?", "--option", ":A", "--option", "b"}, `--option ":A": VALUE:LABEL[:STYLE] is needed`},
		{"an option without a label", []string{"OPS", "?", "--option", "a:", "--option", "b"}, `--option "a:": VALUE`},
		{"a style without a label", []string{"OPS", "?", "--option", "a::danger", "--option", "b"}, `--option "a::danger": VALUE`},
		{"--yes-no with options", []string{"OPS", "?", "--yes-no", "--option=a"}, "--yes-no brings its own options"},
		{"a long text", []string{"OPS", "?", "--text=61"}, "--text=61: a number from 1 to 60"},
		{"no text", []string{"OPS", "?", "--text=0"}, "--text=0: a number"},
		{"a text of words", []string{"OPS", "?", "--text=long"}, "--text=long: a number"},
		{"a target that is no user", []string{"OPS", "?", "--to", "federica"}, "--to is not a Matrix user id such as @alice:example.org"},
		{"an empty target", []string{"OPS", "?", "--to", ""}, "--to is empty"},
		{"an empty correlation id", []string{"OPS", "?", "--correlation-id="}, "--correlation-id is empty"},
		{"an empty target by its other name", []string{"OPS", "?", "--target", ""}, "--target is empty"},
		{"an empty key", []string{"OPS", "?", "--idempotency-key="}, "--idempotency-key is empty"},
		{"a key with a space", []string{"OPS", "?", "--idempotency-key=a key"}, "--idempotency-key: the idempotency key holds a space"},
		{"an empty pointer", []string{"OPS", "?", "--reply-to="}, "--reply-to is empty"},
		{"a long pointer", []string{"OPS", "?", "--reply-to", strings.Repeat("x", 256)}, "--reply-to is longer than 255 characters"},
		{"another scope", []string{"OPS", "?", "--scope", "all"}, `--scope "all": it is direct or room`},
		{"nobody to ask", []string{"OPS", "?", "--scope", "direct"}, "--scope direct needs --to"},
		{"one and all", []string{"OPS", "?", "--scope", "room", "--to", "@federica:example.org"}, "--scope room is anyone in the room"},
		{"a hint for nobody", []string{"OPS", "?", "--placeholder", "x"}, "--placeholder needs --text"},
		{"two binaries", []string{"OPS", "?", "--yes-no", "--approve-deny"}, "either --yes-no or --approve-deny"},
		{"--approve-deny with options", []string{"OPS", "?", "--approve-deny", "--option=a"}, "--approve-deny brings its own options"},
		{"withdrawing without waiting", []string{"OPS", "?", "--cancel-on-interrupt"}, "--cancel-on-interrupt needs --wait"},
		{"no lifetime", []string{"OPS", "?", "--ttl", "0"}, "--ttl 0: a positive duration"},
		{"a negative lifetime", []string{"OPS", "?", "--ttl", "-5m"}, "--ttl -5m: a positive duration"},
		{"a lifetime of words", []string{"OPS", "?", "--ttl", "soon"}, "--ttl soon: a positive duration"},
		{"data that is no JSON", []string{"OPS", "?", "--data", "x"}, "--data: it is not JSON"},
		{"data that is no object", []string{"OPS", "?", "--data", "[]"}, "--data: it is not an object"},
		{"data with a name twice", []string{"OPS", "?", "--data", `{"a":1,"a":2}`}, `--data: "a" is given twice`},
		{"large data", []string{"OPS", "?", "--data", `{"a":"` + strings.Repeat("x", 8192) + `"}`}, "--data is larger than 8192 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: append([]string{"ask"}, tt.args...)}.run(t)
			want{2, "", tt.err}.check(t, got)
		})
	}
	if bodies, _ := api.asks(); len(bodies) > 0 {
		t.Errorf("sent %v", bodies)
	}
}

func TestWaitEncodesTheOutcome(t *testing.T) {
	tests := []struct {
		name string
		how  func(*schema.Question)
		code int
		out  string
		err  string
	}{
		{"approved", func(q *schema.Question) { choose(q, "approve") }, 0, "approve\n", ""},
		{"said no", func(q *schema.Question) { choose(q, "deny") }, 0, "deny\n", ""},
		{"typed", func(q *schema.Question) { answer(q, schema.Answer{Text: new("the mirror\u202e is\tdown")}) }, 0, "the mirror\u202e is\tdown\n", ""},
		{"a set", func(q *schema.Question) {
			answer(q, schema.Answer{Items: []schema.AnswerItem{
				{Header: "Env", Selected: []string{"a", "b"}, Labels: []string{"Alpha", "Beta"}}, {Header: "Why\n", Text: new("be\ncause")},
			}})
		}, 0, "Env: Alpha, Beta\nWhy\\u{000A}: be\\u{000A}cause\n", ""},
		{"a multiple choice", func(q *schema.Question) {
			answer(q, schema.Answer{Items: []schema.AnswerItem{{Selected: []string{"a"}, Labels: []string{"Alpha"}, Text: new("more")}}})
		}, 0, "Alpha, more\n", ""},
		{"expired", func(q *schema.Question) { end(q, schema.Expired) }, 3, "", "question: no answer: question q_1 expired at "},
		{"expired unseen", func(q *schema.Question) {
			end(q, schema.Expired)
			q.Delivery = &schema.Delivery{State: "failed", Reason: new("redacted\x1b[2J")}
		}, 3, "", `; the question could not be delivered: redacted\u{001B}[2J`},
		{"cancelled", func(q *schema.Question) { end(q, schema.Cancelled); q.CancelledBy = "asker" }, 4, "", "question: question q_1 was cancelled by its asker\n"},
		{"dismissed", func(q *schema.Question) { end(q, schema.Cancelled); q.CancelledBy = "responder" }, 4, "", "was cancelled: somebody dismissed it\n"},
		{"superseded", func(q *schema.Question) { end(q, schema.Cancelled); q.CancelledBy = "superseded" }, 4, "", "a newer question takes its place\n"},
	}
	for _, tt := range tests {
		for _, command := range [][]string{{"ask", "OPS", "Deploy?", "--wait"}, {"watch", "q_1"}, {"await", "q_1"}} {
			for _, asJSON := range []bool{false, true} {
				name := tt.name + "/" + command[0]
				if asJSON {
					name, command = name+" as JSON", append(command, "--json")
				}
				t.Run(name, func(t *testing.T) {
					api := newFakeAPI()
					api.serve(t, "127.0.0.1:0")
					if command[0] != "ask" {
						asked(t, api, nil)
					}
					go func() { api.change(<-api.waiting, tt.how) }()
					got := call{args: command}.run(t)
					if begun := announcement(got.err); (begun != "") != (command[0] == "ask") {
						t.Errorf("a wait of %s began with %q", command[0], begun)
					}
					got.err = strings.TrimPrefix(got.err, announcement(got.err))
					if asJSON && tt.err != "" {
						got.err = "question: " + problemIn(t, got).Detail
					}
					if got.code != tt.code || tt.err == "" && got.err != "" || !strings.Contains(got.err, strings.TrimSuffix(tt.err, "\n")) {
						t.Errorf("got %+v", got)
					}
					if !asJSON && got.out != tt.out {
						t.Errorf("stdout is %q, want %q", got.out, tt.out)
					}
					if asJSON {
						_, kept := api.document("q_1")
						if !reflect.DeepEqual(jsonTree(t, got.out), jsonTree(t, kept)) || strings.ContainsAny(got.out, "\u202e") {
							t.Errorf("stdout is %s, want %s", got.out, kept)
						}
					}
				})
			}
		}
	}
}

// announcement is the line with which a wait begins.
func announcement(stderr string) string {
	if strings.HasPrefix(stderr, "question: asked q_1; waiting until ") {
		return stderr[:strings.IndexByte(stderr, '\n')+1]
	}
	return ""
}

// A key of the command line makes another run of the program find what the first one asked; without one, each run asks.
func TestIdempotencyKey(t *testing.T) {
	api := served(t)
	for i, want := range []string{"q_1\n", "q_1\n", "q_2\n", "q_3\n", "q_4\n"} {
		key := [][]string{{"--idempotency-key", "deploy-42"}, {"--idempotency-key=deploy-42"}, {"--idempotency-key", "deploy-43"}, nil, nil}[i]
		if got := runs(t, 0, append([]string{"ask", "OPS", "Deploy?"}, key...)...); got.out != want {
			t.Errorf("run %d: got %+v", i+1, got)
		}
	}
	if bodies, _ := api.asks(); len(bodies) != 4 {
		t.Errorf("asked %d times", len(bodies))
	}
}

// An ask whose response is lost is sent again, and says so.
func TestAskIsTriedAgain(t *testing.T) {
	api := newFakeAPI()
	routes, lost := api.routes(), false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routes.ServeHTTP(w, r)
		if !lost {
			lost = true
			panic(http.ErrAbortHandler) // it was asked, and nobody hears of it
		}
	}))
	defer server.Close()
	t.Setenv("QUESTION_SERVER", server.URL)
	t.Setenv("QUESTION_TOKEN", agentToken)
	got := runs(t, 0, "ask", "OPS", "Deploy?")
	if bodies, _ := api.asks(); len(bodies) != 1 || got.out != "q_1\n" || !strings.Contains(got.err, "question: cannot reach ") || !strings.HasSuffix(got.err, "; trying again in 1s\n") {
		t.Errorf("asked %d times: %+v", len(bodies), got)
	}
}

func TestAskAsJSON(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	got := call{args: []string{"ask", "OPS", "<Deploy>\u202e?", "--json"}}.run(t)
	_, kept := api.document("q_1")
	if got.code != 0 || got.err != "" || !reflect.DeepEqual(jsonTree(t, got.out), jsonTree(t, kept)) {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.out, `\u202e`) || !strings.Contains(got.out, "\n  \"id\": \"q_1\"") {
		t.Errorf("stdout is %s", got.out)
	}
}

func TestAskSaysThatTheLifetimeIsClamped(t *testing.T) {
	newFakeAPI().serve(t, "127.0.0.1:0")
	got := call{args: []string{"ask", "OPS", "Deploy?", "--ttl", "48h"}}.run(t)
	want{0, "q_1\n", "question: --ttl is between 30s and 24h: the question waits 24h\n"}.check(t, got)
}

func TestTimeShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 30 * time.Second: "30s", 20*time.Hour + 5*time.Second: "20h0m5s",
	} {
		if got := timeShort(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
