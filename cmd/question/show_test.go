package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// newStockedAPI serves an answered, a pending and an expired question.
func newStockedAPI(t *testing.T) *fakeAPI {
	t.Helper()
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	asked(t, api, func(q *schema.Question) { q.CorrelationID = new("c1"); choose(q, "deny") })
	asked(t, api, func(q *schema.Question) {
		q.Prompt, q.Context = "Two\nlines \u202eof "+strings.Repeat("text ", 20), new("Build #4821")
		q.ExpiresAt = stamp(time.Now().Add(49*time.Hour + time.Minute))
		q.Delivery = &schema.Delivery{State: "queued", Reason: new("nobody else has joined")}
	})
	asked(t, api, func(q *schema.Question) { end(q, schema.Expired) })
	return api
}

// runs carries out a command line that must end with this exit code.
func runs(t *testing.T, code int, args ...string) result {
	t.Helper()
	got := call{args: args}.run(t)
	if got.code != code {
		t.Errorf("%v: %+v", args, got)
	}
	return got
}

func TestList(t *testing.T) {
	newStockedAPI(t)
	got := runs(t, 0, "list")
	want := "ID   STATE     PROMPT                                          ANSWER         EXPIRES IN\n" +
		"q_3  expired   Deploy?                                         -              -\n" +
		"q_2  pending   Two lines \\u{202E}of text text text text text…  -              2d 1h\n" +
		"q_1  answered  Deploy?                                         label of deny  -\n"
	if got.out != want || got.err != "" {
		t.Errorf("list prints\n%s%s", got.out, got.err)
	}
	got = runs(t, 0, "list", "--state", "pending", "--json")
	var list schema.Questions
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list.Questions) != 1 || list.Questions[0].ID != "q_2" || list.NextCursor != nil {
		t.Errorf("%v: %s", err, got.out)
	}
	got = runs(t, 0, "list", "--correlation-id", "c1")
	if strings.Contains(got.out, "q_2") || !strings.Contains(got.out, "q_1") {
		t.Error(got.out)
	}
	got = runs(t, 0, "list", "--limit", "2")
	if strings.Count(got.out, "q_") != 2 || got.err != "question: there are more; --limit says how many to list, or --all\n" {
		t.Errorf("%+v", got)
	}
	if got := runs(t, 0, "list", "--all"); strings.Count(got.out, "q_") != 3 || got.err != "" {
		t.Errorf("%+v", got)
	}
	if got := runs(t, 0, "list", "--cursor", "2"); strings.Count(got.out, "q_") != 1 || !strings.Contains(got.out, "q_1") {
		t.Errorf("%+v", got)
	}
	got = runs(t, 0, "list", "--limit", "2", "--json")
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || list.NextCursor == nil || *list.NextCursor != "2" {
		t.Errorf("%v: %s", err, got.out)
	}
	got = runs(t, 0, "list", "--state", "cancelled")
	if got.out != "" || got.err != "question: there are none\n" {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"--state", "open"}, {"--state="}, {"--limit", "0"}, {"--correlation-id="}, {"x"}} {
		runs(t, 2, append([]string{"list"}, args...)...)
	}
}

func TestShow(t *testing.T) {
	api := newStockedAPI(t)
	got := runs(t, 0, "show", "q_2")
	for _, part := range []string{
		"Two\nlines \\u{202E}of text", "context     Build #4821\n", "state       pending, 2d 1h left\n", "options     Yes (approve), No (deny)\n",
		"asks        anyone in the room\n", "delivery    queued\n", "because     nobody else has joined\n",
	} {
		if !strings.Contains(got.out, part) {
			t.Errorf("show lacks %q:\n%s", part, got.out)
		}
	}
	got = runs(t, 0, "show", "q_1")
	for _, part := range []string{"answer          label of deny\n", "answered by     Federica (@federica:example.org)\n", "correlation id  c1\n"} {
		if !strings.Contains(got.out, part) {
			t.Errorf("show lacks %q:\n%s", part, got.out)
		}
	}
	_, kept := api.document("q_1")
	if got = runs(t, 0, "show", "q_1", "--json"); !reflect.DeepEqual(jsonTree(t, got.out), jsonTree(t, kept)) {
		t.Errorf("show --json prints %s", got.out)
	}
}

func TestCancel(t *testing.T) {
	newStockedAPI(t)
	for range 2 {
		if got := runs(t, 0, "cancel", "q_2"); got.out != "cancelled\n" || got.err != "" {
			t.Errorf("%+v", got)
		}
	}
	if got := runs(t, 0, "cancel", "q_2", "--json"); !strings.Contains(got.out, `"state": "cancelled"`) {
		t.Errorf("%+v", got)
	}
	if got := runs(t, 1, "cancel", "q_1"); got.out != "" || got.err != "question: not cancelled: question q_1 was answered: label of deny\n" {
		t.Errorf("%+v", got)
	}
	if got := runs(t, 1, "cancel", "q_3"); got.out != "" || got.err != "question: not cancelled: question q_3 is expired\n" {
		t.Errorf("%+v", got)
	}
	for _, command := range []string{"watch", "show", "cancel"} {
		runs(t, 2, command)
		runs(t, 2, command, "")
		runs(t, 2, command, "q_1", "q_2")
	}
}
