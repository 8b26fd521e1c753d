package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestOptions: in whatever way options are given, each comes back whole, in the order given (The Question Protocol 1.1,
// section 3, "Styling the options"; section 7, "Ask"). The legacy booleans are shorthand; a style that stands beside them
// counts, and of the two booleans the one that warns.
func TestOptions(t *testing.T) {
	m := newManor(t)
	for given, want := range map[string]string{
		``:                              `approve/Approve/primary deny/Deny/danger`,
		`"options":null`:                `approve/Approve/primary deny/Deny/danger`,
		`"options":["approve","deny"]`:  `approve/approve/default deny/deny/default`,
		`"options":["b","a","d","c"]`:   `b/b/default a/a/default d/d/default c/c/default`,
		`"options":[{"value":"x"},"y"]`: `x/x/default y/y/default`,
		`"options":["y",{"value":"x","label":"X"},{"value":"z","label":"Zed","style":"danger"}]`:                                                                                   `y/y/default x/X/default z/Zed/danger`,
		`"options":[{"value":"deploy","label":"Deploy","style":"primary"},{"value":"rollback","label":"Roll back","style":"danger"},{"value":"wait","label":"Wait"}]`:              `deploy/Deploy/primary rollback/Roll back/danger wait/Wait/default`,
		`"options":[{"value":"a","label":"A","primary":true,"destructive":false},{"value":"b","label":"B","primary":false,"destructive":true}]`:                                    `a/A/primary b/B/danger`,
		`"options":[{"value":"a","label":"A","style":"default","primary":true},{"value":"b","label":"B","style":"primary","destructive":true}]`:                                    `a/A/default b/B/primary`,
		`"options":[{"value":"a","label":"A","primary":true,"destructive":true},{"value":"b","label":"B","style":null,"primary":null,"destructive":true}]`:                         `a/A/danger b/B/danger`,
		`"options":[{"value":"a","label":"A","style":"primary","primary":true,"destructive":false},{"value":"b","label":"B","style":"danger","primary":false,"destructive":true}]`: `a/A/primary b/B/danger`,
		`"options":["a\u2028b",{"value":"<é>","label":"\"😀\""}]`:                                                                                                                   "a\u2028b/a\u2028b/default <é>/\"😀\"/default",
		`"text_input":{},"options":["a","b"]`: `a/a/default b/b/default`,
		`"text_input":{}`:                     ``,
	} {
		a := m.post(opsQuestions, body(given))
		q := m.question(a, http.StatusCreated)
		var got []string
		for _, o := range q.Options {
			got = append(got, o.Value+"/"+o.Label+"/"+string(o.Style))
			if o.Primary != (o.Style == "primary") || o.Destructive != (o.Style == "danger") {
				t.Errorf("%s: %+v", given, o)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\n gives %q\nwanted %q", given, got, want)
		}
		var document struct{ Options []map[string]any }
		if err := json.Unmarshal(a.body, &document); err != nil || document.Options == nil {
			t.Fatalf("%v: %s", err, a.body)
		}
		for _, o := range document.Options {
			if len(o) != 5 {
				t.Errorf("%s: an option has %v", given, o)
			}
		}
		if again := m.get("/api/agent/questions/" + q.ID); string(again.body) != string(a.body) {
			t.Errorf("%s: read back as %s", given, again.body)
		}
	}
}

func body(rest string) string {
	if rest == "" {
		return `{"prompt":"Go?"}`
	}
	return `{"prompt":"Go?",` + rest + `}`
}

// TestTextInput: a typed answer is invited alone or beside options, and never by null (section 3, "Inviting a typed
// answer").
func TestTextInput(t *testing.T) {
	m := newManor(t)
	for given, want := range map[string]string{
		`"text_input":null`: `null`, `"text_input":{}`: `{"placeholder":"","max_length":60}`,
		`"text_input":{"placeholder":null,"max_length":null}`:                `{"placeholder":"","max_length":60}`,
		`"text_input":{"placeholder":"Type a reason","max_length":60}`:       `{"placeholder":"Type a reason","max_length":60}`,
		`"text_input":{"max_length":1},"options":["a","b"]`:                  `{"placeholder":"","max_length":1}`,
		`"text_input":{"placeholder":"Why","max_length":5.0},"options":null`: `{"placeholder":"Why","max_length":5}`,
	} {
		a := m.post(opsQuestions, body(given))
		m.question(a, http.StatusCreated)
		var document struct {
			TextInput json.RawMessage `json:"text_input"`
		}
		if err := json.Unmarshal(a.body, &document); err != nil || string(document.TextInput) != want {
			t.Errorf("%s gives %s", given, document.TextInput)
		}
	}
	for given, keyword := range map[string]string{
		`{"max_length":61}`: "maximum", `{"max_length":0}`: "minimum", `{"max_length":-1}`: "minimum", `{"max_length":1e30}`: "maximum",
	} {
		p := m.problem(m.post(opsQuestions, body(`"text_input":`+given)), http.StatusUnprocessableEntity, "invalid_question")
		if !hasFault(p, "schema", "/text_input/max_length", keyword) {
			t.Errorf("%s: %+v", given, p)
		}
	}
	for _, given := range []string{`true`, `[]`, `"yes"`, `{"max_length":"60"}`, `{"max_length":1.5}`, `{"placeholder":1}`} {
		m.problem(m.post(opsQuestions, body(`"text_input":`+given)), http.StatusBadRequest, "malformed")
	}
}

// TestScopes: a target makes a question direct, and nobody else makes it anything but the room's (section 2).
func TestScopesOfResponders(t *testing.T) {
	m := newManor(t)
	for given, want := range map[string]string{
		``: "room ", `"responder_scope":"room"`: "room ", `"responder_scope":null,"target_user_id":null`: "room ",
		`"responder_scope":"room","target_user_id":null`:                  "room ",
		`"target_user_id":"@dana:example.org"`:                            "direct @dana:example.org",
		`"responder_scope":"direct","target_user_id":"@dana:example.org"`: "direct @dana:example.org",
	} {
		q := m.question(m.post(opsQuestions, body(given)), http.StatusCreated)
		target := ""
		if q.TargetUserID != nil {
			target = *q.TargetUserID
		}
		if got := q.ResponderScope + " " + target; got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
	for given, code := range map[string]string{
		`"responder_scope":"direct"`:                                    "malformed",
		`"responder_scope":"direct","target_user_id":null`:              "malformed",
		`"responder_scope":"room","target_user_id":"@dana:example.org"`: "malformed",
		`"responder_scope":"all"`:                                       "invalid_question",
		`"target_user_id":"dana"`:                                       "invalid_question",
		`"target_user_id":"@stranger:example.org"`:                      "target_not_permitted",
		`"target_user_id":"@robot:example.org"`:                         "target_not_permitted",
		`"target_user_id":"@ci:example.org"`:                            "target_not_permitted",
	} {
		status := map[string]int{"malformed": http.StatusBadRequest}[code]
		if status == 0 {
			status = http.StatusUnprocessableEntity
		}
		p := m.problem(m.post(opsQuestions, body(given)), status, code)
		if code == "target_not_permitted" && !hasFault(p, code, "/target_user_id", code) {
			t.Errorf("%s: %+v", given, p)
		}
	}
}
