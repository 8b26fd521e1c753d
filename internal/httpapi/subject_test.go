package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// approval is the content of a question about an exact operation; ids make each one about a subject of its own.
func approval(t *testing.T, id string, change func(e *schema.Elicitation)) string {
	t.Helper()
	e := &schema.Elicitation{
		MsgType: "m.text", SuiteEventType: schema.EventType, SchemaVersion: 1, ElicitationID: id, CardID: "crd_1", CardTitle: "Release 2.4", AskedBy: "CI",
		Question: "Run this?",
		Options: []schema.Option{
			{ID: "approve", Label: "Approve", Meaning: schema.Approve, Scope: "once"}, {ID: "always", Label: "Always", Meaning: schema.Approve, Requires: schema.WorkspaceAdmin},
			{ID: "revise", Label: "Change it", Meaning: schema.Revise, NeedsComment: true},
			{ID: "link", Label: "Use another", Meaning: schema.Choose, Input: &schema.Input{Kind: "url", Label: "Address", Required: true, MaxLength: 30}},
			{ID: "deny", Label: "Deny", Meaning: schema.Reject},
		},
		Subject: &schema.Subject{
			ID: "s_" + id, Digest: "sha256:ab", Schema: "x/v1", Revision: 2, PreviewComplete: true,
			Preview: []schema.PreviewItem{{Type: "text", Text: "rm -rf ./build"}, {Type: "field", Label: "Host", Value: "ci-1"}},
		},
	}
	if change != nil {
		change(e)
	}
	e.Body = e.TextBody()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func subjectOf(id string) string {
	return fmt.Sprintf(`"subject":{"id":"s_%s","digest":"sha256:ab","schema":"x/v1","revision":2}`, id)
}

// TestAnswersToAnExactOperation is field cases B7 and B8 over HTTP. Each question is asked anew: whatever is refused leaves it pending. ID stands for its id.
func TestAnswersToAnExactOperation(t *testing.T) {
	m := newManor(t)
	incomplete := func(e *schema.Elicitation) { e.Subject.PreviewComplete = false }
	empty := func(e *schema.Elicitation) { e.Subject.Preview = []schema.PreviewItem{} }
	lapsed := func(e *schema.Elicitation) {
		at := schema.Timestamp(time.Now().UTC().Add(-time.Second).Format(time.RFC3339))
		e.Subject.ExpiresAt = &at
	}
	free := func(e *schema.Elicitation) {
		e.Options, e.Subject, e.FreeText = []schema.Option{}, nil, &schema.FreeText{MaxLength: 5}
	}
	exact := subjectOf("ID")
	for i, c := range []struct {
		change func(*schema.Elicitation)
		who    bridge.UserID
		body   string
		status int
		code   string
	}{
		{nil, "@dana:example.org", `{"value":"approve",` + exact + `}`, 200, ""},
		{nil, "@dana:example.org", `{"value":"approve"}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"approve",` + strings.Replace(exact, "sha256:ab", "sha256:AB", 1) + `}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"approve",` + strings.Replace(exact, "sha256:ab", "sha256:ab ", 1) + `}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"approve",` + strings.Replace(exact, "sha256:ab", "ab", 1) + `}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"approve",` + strings.Replace(exact, "x/v1", "x/v2", 1) + `}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"approve",` + strings.Replace(exact, `n":2`, `n":1`, 1) + `}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"approve",` + strings.Replace(exact, `n":2`, `n":2.0`, 1) + `}`, 200, ""},
		{nil, "@dana:example.org", `{"value":"always",` + exact + `}`, 403, "admins_only"},
		{nil, "@root:example.org", `{"value":"always",` + exact + `}`, 200, ""},
		{nil, "@dana:example.org", `{"value":"deny"}`, 200, ""},
		{nil, "@dana:example.org", `{"value":"revise",` + exact + `}`, 422, "comment_missing"},
		{nil, "@dana:example.org", `{"value":"revise","comment":" ",` + exact + `}`, 422, "comment_missing"},
		{nil, "@dana:example.org", `{"value":"revise","comment":"use rm -r"}`, 409, "subject_mismatch"},
		{nil, "@dana:example.org", `{"value":"revise","comment":"use rm -r",` + exact + `}`, 200, ""},
		{nil, "@dana:example.org", `{"value":"link",` + exact + `}`, 422, "input_missing"},
		{nil, "@dana:example.org", `{"value":"link","input":"not one",` + exact + `}`, 422, "input_invalid"},
		{nil, "@dana:example.org", `{"value":"link","input":"https://example.org/` + strings.Repeat("x", 30) + `",` + exact + `}`, 422, "text_too_long"},
		{nil, "@dana:example.org", `{"value":"link","input":"https://example.org/x",` + exact + `}`, 200, ""},
		{nil, "@dana:example.org", `{"value":"deny","input":"x"}`, 422, "input_not_invited"},
		{nil, "@dana:example.org", `{"text":"approve",` + exact + `}`, 422, "text_not_invited"},
		{nil, "@dana:example.org", `{"value":"Approve",` + exact + `}`, 422, "invalid_option"},
		{nil, "@stranger:example.org", `{"value":"approve",` + exact + `}`, 403, "not_eligible"},
		{nil, "@robot:example.org", `{"value":"deny"}`, 403, "not_eligible"},
		{incomplete, "@root:example.org", `{"value":"approve",` + exact + `}`, 409, "preview_incomplete"},
		{incomplete, "@dana:example.org", `{"value":"deny"}`, 200, ""},
		{empty, "@root:example.org", `{"value":"approve",` + exact + `}`, 409, "preview_incomplete"},
		{lapsed, "@root:example.org", `{"value":"approve",` + exact + `}`, 409, "subject_lapsed"},
		{lapsed, "@dana:example.org", `{"value":"deny"}`, 200, ""},
		{free, "@dana:example.org", `{"text":"abcdef"}`, 422, "text_too_long"},
		{free, "@dana:example.org", `{"text":"  "}`, 422, "input_missing"},
		{free, "@dana:example.org", `{"value":"approve"}`, 422, "invalid_option"},
		{free, "@dana:example.org", `{"text":" abcde "}`, 200, ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			m, h := *m, *m.house
			m.house, h.T = &h, t
			elicitation := fmt.Sprintf("elc_%d", i)
			q := m.asked(approval(t, elicitation, c.change))
			body := strings.ReplaceAll(c.body, "s_ID", "s_"+elicitation)
			a := m.do("POST", answerPath(q.ID), m.person(c.who), body)
			if c.status == http.StatusOK {
				if q := m.question(a, 200); q.State != schema.Answered || q.Answer.Responder.ID != string(c.who) {
					t.Errorf("%s: %s", body, a.body)
				}
				return
			}
			m.problem(a, c.status, c.code)
			if q := m.question(m.get("/api/agent/questions/"+q.ID), 200); q.State != schema.Pending {
				t.Errorf("%s settled it: %+v", body, q)
			}
		})
	}
}

// TestTheWholePreviewIsShown to whoever may answer, exactly as it was asked.
func TestTheWholePreviewIsShown(t *testing.T) {
	m := newManor(t)
	asked := m.asked(approval(t, "elc_1", func(e *schema.Elicitation) {
		e.Subject.Preview = append(e.Subject.Preview, schema.PreviewItem{Type: "link", Label: "Diff", URL: "https://example.org/d"})
	}))
	for _, path := range []string{"/api/questions/" + asked.ID, "/api/questions/pending"} {
		a := m.do("GET", path, m.dana, "")
		var shown map[string]any
		if err := json.Unmarshal(a.body, &shown); err != nil {
			t.Fatal(err)
		}
		if list, ok := shown["questions"].([]any); ok {
			shown = list[0].(map[string]any)
		}
		raw, _ := json.Marshal(asked.Subject)
		var want map[string]any
		_ = json.Unmarshal(raw, &want)
		got := shown["subject"].(map[string]any)
		if len(got["preview"].([]any)) != 3 || !maps.EqualFunc(got, want, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Errorf("%s shows %v", path, got)
		}
	}
}

// TestARemovedQuestionIsNotApproved, and can still be declined.
func TestARemovedQuestionIsNotApproved(t *testing.T) {
	m := newManor(t)
	q := m.asked(approval(t, "elc_1", nil))
	removed := bridge.Delivery{State: bridge.Failed, Message: "$1", Reason: bridge.ReasonRedacted}
	if err := m.store.SetDelivery(t.Context(), bridge.QuestionID(q.ID), removed); err != nil {
		t.Fatal(err)
	}
	m.problem(m.do("POST", answerPath(q.ID), m.dana, `{"value":"approve",`+subjectOf("elc_1")+`}`), http.StatusConflict, "question_removed")
	if q := m.question(m.do("POST", answerPath(q.ID), m.dana, `{"value":"deny"}`), 200); *q.Answer.Value != "deny" {
		t.Errorf("%+v", q)
	}
}

// TestAQuestionForOnePerson is answered by nobody else, and listed for nobody else.
func TestAQuestionForOnePerson(t *testing.T) {
	m := newManor(t)
	q := m.asked(`{"prompt":"Go?","responder_scope":"direct","target_user_id":"@dana:example.org"}`)
	sam := m.person("@sam:example.org")
	m.problem(m.do("POST", answerPath(q.ID), sam, `{"value":"approve"}`), http.StatusForbidden, "not_eligible")
	m.problem(m.do("GET", "/api/questions/"+q.ID, sam, ""), http.StatusForbidden, "not_eligible")
	for secret, want := range map[string]int{sam: 0, m.dana: 1} {
		a := m.do("GET", "/api/questions/pending", secret, "")
		if page, err := schema.Decode[schema.Questions](a.body); err != nil || len(page.Questions) != want {
			t.Errorf("%v %s", err, a.body)
		}
	}
}

// TestASetIsAnsweredWhole by its items, in any order.
func TestASetIsAnsweredWhole(t *testing.T) {
	m := newManor(t)
	const set = `{"prompt":"Set up","items":[{"header":"Region","prompt":"Where?","options":["eu","us"],"multiple":true},
		{"header":"Reason","prompt":"Why?","text_input":{"max_length":20}}]}`
	for body, want := range map[string]string{
		`{"value":"eu"}`: "invalid_option", `{"items":[{"header":"Region","selected":["eu"]}]}`: "invalid_option",
		`{"items":[{"header":"Region","selected":["eu","eu"]},{"header":"Reason","text":"cost"}]}`: "invalid_option",
		`{"items":[{"header":"Region","selected":["mars"]},{"header":"Reason","text":"cost"}]}`:    "invalid_option",
		`{"items":[{"header":"Where","selected":["eu"]},{"header":"Reason","text":"cost"}]}`:       "invalid_option",
		`{"items":[{"header":"Region","text":"eu"},{"header":"Reason","text":"cost"}]}`:            "text_not_invited",
	} {
		m.problem(m.do("POST", answerPath(m.asked(set).ID), m.dana, body), http.StatusUnprocessableEntity, want)
	}
	body := `{"items":[{"header":"Reason","text":" cost "},{"header":"Region","selected":["eu","us"]}]}`
	q := m.question(m.do("POST", answerPath(m.asked(set).ID), m.dana, body), 200)
	if got := q.Answer.Items; len(got) != 2 || fmt.Sprint(got[0].Selected) != "[eu us]" || *got[1].Text != "cost" || q.Answer.Value != nil {
		t.Errorf("%+v", q.Answer)
	}
}
