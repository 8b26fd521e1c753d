package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/schema"
)

func answerPath(id string) string { return "/api/questions/" + id + "/answer" }

// An asker's own words about its question are for nobody else; everything that there is to decide by is shown.
const secretive = `{"prompt":"Go?","context":"Build 7","correlation_id":"OURS","reply_to":"OURS","data":{"k":"OURS"},"ttl":600}`

func TestWhatAResponderIsShown(t *testing.T) {
	h := newHouse(t)
	asked := h.asked(secretive)
	for path, body := range map[string]string{"/api/questions/" + asked.ID: "", answerPath(asked.ID): `{"value":"approve"}`} {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		a := h.do(method, path, h.dana, body)
		q := h.question(a, http.StatusOK)
		if strings.Contains(string(a.body), "OURS") || q.Data != nil || q.CorrelationID != nil || q.ReplyTo != nil {
			t.Errorf("%s shows what is the asker's: %s", path, a.body)
		}
		if q.Viewer != "@dana:example.org" || q.AskedBy != "CI" || *q.Room.Name != "Ops" || *q.Room.Code != "OPS" || q.Room.ID != "!ops:example.org" {
			t.Errorf("%s: %s", path, a.body)
		}
		if q.Prompt != "Go?" || *q.Context != "Build 7" || len(q.Options) != 2 || q.ExpiresAt != asked.ExpiresAt {
			t.Errorf("%s lacks what there is to decide by: %s", path, a.body)
		}
	}
	if q := h.question(h.get("/api/agent/questions/"+asked.ID), http.StatusOK); *q.CorrelationID != "OURS" || q.Data["k"] != "OURS" || q.Viewer != "" || q.Room != nil {
		t.Errorf("the asker is shown %+v", q)
	}
}

func TestPending(t *testing.T) {
	h := newHouse(t)
	if a := h.do("GET", "/api/questions/pending", h.dana, ""); string(a.body) != `{"questions":[],"next_cursor":null}`+"\n" || a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	var newest string
	for range 60 {
		newest = h.asked(secretive).ID
	}
	for query, want := range map[string]int{"": 50, "?limit=3": 3, "?limit=0": 1, "?limit=9999": 60} {
		a := h.do("GET", "/api/questions/pending"+query, h.dana, "")
		page, err := schema.Decode[schema.Questions](a.body)
		if err != nil || len(page.Questions) != want || page.NextCursor != nil || page.Questions[0].ID != newest || page.Questions[0].Viewer == "" {
			t.Errorf("%q: %v %.300s", query, err, a.body)
		}
		if strings.Contains(string(a.body), "OURS") {
			t.Errorf("%q shows what is the asker's", query)
		}
	}
	h.problem(h.do("GET", "/api/questions/pending?limit=many", h.dana, ""), http.StatusBadRequest, "invalid_parameter")
}

// TestMalformedAnswers are refused whoever sends them and whatever the question is.
func TestMalformedAnswers(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	for body, want := range map[string]string{
		``: "malformed", `{`: "malformed", `[]`: "malformed", `"approve"`: "malformed", `{}`: "malformed",
		`{"value":"approve","value":"deny"}`:                            "malformed",
		`{"value":"approve","text":"x"}`:                                "malformed",
		`{"value":null,"text":null}`:                                    "malformed",
		`{"value":"approve","items":[{"header":"a","selected":["b"]}]}`: "malformed",
		`{"value":1}`:        "malformed",
		`{"text":"a\u0000"}`: "malformed",
		`{"value":"approve","comment":"a\u0000"}`:    "malformed",
		`{"value":"approve","input":"\u0000"}`:       "malformed",
		`{"items":[{"header":"a","text":"\u0000"}]}`: "malformed",
		`{"items":[]}`: "malformed",
		`{"items":[{"header":"a","text":"x"},{"header":"a","text":"x"}]}`:                "malformed",
		`{"value":"approve","subject":{"id":"s"}}`:                                       "malformed",
		`{"value":"approve","subject":{"id":"s","digest":"d","schema":"","revision":1}}`: "malformed",
		`{"value":"` + strings.Repeat("a", 201) + `"}`:                                   "invalid_option",
		`{"text":"` + strings.Repeat("a", 4001) + `"}`:                                   "text_too_long",
		`{"value":"approve","comment":"` + strings.Repeat("a", 4001) + `"}`:              "text_too_long",
		`{"value":"approve","comment":"` + strings.Repeat("a", 70000) + `"}`:             "too_large",
	} {
		status := map[string]int{"malformed": 400, "invalid_option": 422, "text_too_long": 422, "too_large": 413}[want]
		if p := h.problem(h.do("POST", answerPath(q.ID), h.dana, body), status, want); len(p.Errors) == 0 {
			t.Errorf("%.80s: %+v", body, p)
		}
	}
	if q := h.question(h.get("/api/agent/questions/"+q.ID), http.StatusOK); q.State != schema.Pending {
		t.Errorf("%+v", q)
	}
}

// TestEveryRefusalOfAnAnswer has its status and its code, in the engine's words.
func TestEveryRefusalOfAnAnswer(t *testing.T) {
	h := newHouse(t)
	q := h.asked(`{"prompt":"Go?"}`)
	for code, status := range map[bridge.Code]int{
		bridge.CodeNotEligible: 403, bridge.CodeAdminsOnly: 403, bridge.CodeNotFound: 404,
		bridge.CodeInvalidOption: 422, bridge.CodeTextTooLong: 422, bridge.CodeTextNotInvited: 422, bridge.CodeCommentMissing: 422,
		bridge.CodeInputMissing: 422, bridge.CodeInputInvalid: 422, bridge.CodeInputNotInvited: 422,
		bridge.CodePreviewIncomplete: 409, bridge.CodeSubjectLapsed: 409, bridge.CodeSubjectMismatch: 409, bridge.CodeQuestionRemoved: 409,
	} {
		h.engine.set(func(m *memory) { m.refuse = &bridge.Error{Code: code, Reason: "Ask somebody else."} })
		if p := h.problem(h.do("POST", answerPath(q.ID), h.dana, `{"value":"approve"}`), status, string(code)); p.Detail != "Ask somebody else." {
			t.Errorf("%+v", p)
		}
	}
	h.engine.set(func(m *memory) {
		m.refuse = &bridge.ErrRetry{After: 1500 * time.Millisecond, Err: errors.New("dial tcp 10.0.0.1")}
	})
	a := h.do("POST", answerPath(q.ID), h.dana, `{"value":"approve"}`)
	h.problem(a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") != "2" || strings.Contains(string(a.body), "10.0.0.1") || !strings.Contains(h.log.String(), "10.0.0.1") {
		t.Errorf("%v %s", a.header, a.body)
	}
	h.engine.set(func(m *memory) { m.fail = errors.New("disk full") })
	for _, g := range personal {
		h.problem(h.do(g.method, g.path, h.dana, `{"value":"approve"}`), http.StatusInternalServerError, "internal")
	}
}

// TestTheBodyNamesNoResponder: whoever the body claims to be, it is the token's person who answers.
func TestTheBodyNamesNoResponder(t *testing.T) {
	h := newHouse(t)
	for _, claim := range []string{
		`"responder":{"id":"@root:example.org"}`, `"responder":"@root:example.org"`, `"user_id":"@root:example.org"`, `"sender":"@root:example.org"`, `"via":"reply"`,
	} {
		id := h.asked(`{"prompt":"Go?"}`).ID
		q := h.question(h.do("POST", answerPath(id)+"?user_id=@root:example.org", h.dana, `{"value":"deny",`+claim+`}`), http.StatusOK)
		if q.Answer.Responder.ID != "@dana:example.org" || q.Answer.Via != "api" {
			t.Errorf("%s: answered by %+v", claim, q.Answer)
		}
	}
}

func TestLateAnswers(t *testing.T) {
	m := newManor(t)
	id := m.asked(`{"prompt":"Go?"}`).ID
	dana, sam := m.person("@dana:example.org"), m.person("@sam:example.org")
	won := m.question(m.do("POST", answerPath(id), dana, `{"value":"approve"}`), http.StatusOK)
	for _, c := range []struct{ secret, body string }{
		{dana, `{"value":"approve"}`}, {dana, `{"value":"deny"}`}, {sam, `{"value":"deny"}`}, {sam, `{"value":"approve","comment":"me too"}`},
	} {
		q := m.question(m.do("POST", answerPath(id), c.secret, c.body), http.StatusOK)
		if *q.Answer.Value != "approve" || q.Answer.Responder.ID != "@dana:example.org" || q.Answer.AnsweredAt != won.Answer.AnsweredAt || q.Answer.Comment != nil {
			t.Errorf("%s: %+v", c.body, q.Answer)
		}
	}
	m.problem(m.do("POST", answerPath(id), sam, `{"value":"perhaps"}`), http.StatusUnprocessableEntity, "invalid_option")
	m.problem(m.do("POST", answerPath(id), sam, `{"text":"perhaps"}`), http.StatusUnprocessableEntity, "text_not_invited")
	for _, who := range []bridge.UserID{"@stranger:example.org", "@robot:example.org", "@ci:example.org"} {
		for _, body := range []string{`{"value":"deny"}`, `{"value":"perhaps"}`} { // who they are comes first
			m.problem(m.do("POST", answerPath(id), m.person(who), body), http.StatusForbidden, "not_eligible")
		}
		m.problem(m.do("GET", "/api/questions/"+id, m.person(who), ""), http.StatusForbidden, "not_eligible")
	}
	withdrawn := m.asked(`{"prompt":"Go?"}`).ID
	m.post("/api/agent/questions/"+withdrawn+"/cancel", "")
	if q := m.question(m.do("POST", answerPath(withdrawn), sam, `{"value":"deny"}`), http.StatusOK); q.State != schema.Cancelled || q.Answer != nil {
		t.Errorf("%+v", q)
	}
	for _, none := range []string{"q_none", "%00", strings.Repeat("q", 2000)} {
		m.problem(m.do("POST", answerPath(none), dana, `{"value":"approve"}`), http.StatusNotFound, "question_not_found")
	}
}

// TestRightsThatCannotBeRead keep an approval waiting, and nothing else: its question stays pending.
func TestRightsThatCannotBeRead(t *testing.T) {
	m := newManor(t)
	id := m.asked(`{"prompt":"Go?"}`).ID
	m.people.set(true)
	for path, body := range map[string]string{answerPath(id): `{"value":"approve"}`, "/api/questions/pending": ""} {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		a := m.do(method, path, m.dana, body)
		m.problem(a, http.StatusServiceUnavailable, "unavailable")
		if a.header.Get("Retry-After") == "" || strings.Contains(string(a.body), "10.0.0.1") {
			t.Errorf("%s: %v %s", path, a.header, a.body)
		}
	}
	if q := m.question(m.get("/api/agent/questions/"+id), http.StatusOK); q.State != schema.Pending {
		t.Fatalf("%+v", q)
	}
	m.people.set(false)
	if q := m.question(m.do("POST", answerPath(id), m.dana, `{"value":"approve"}`), http.StatusOK); q.State != schema.Answered {
		t.Errorf("%+v", q)
	}
}

// TestB9FiftyAnswersAtOnce is the field case over HTTP: half approve, half deny, one wins, and everybody is given that one.
func TestB9FiftyAnswersAtOnce(t *testing.T) {
	m := newManor(t)
	id := m.asked(`{"prompt":"Go?"}`).ID
	secrets := []string{m.person("@dana:example.org"), m.person("@sam:example.org")}
	values := []string{"approve", "deny"}
	bodies := make([]string, 50)
	var all sync.WaitGroup
	for i := range bodies {
		all.Go(func() {
			a := m.do("POST", answerPath(id), secrets[i%2], fmt.Sprintf(`{"value":%q}`, values[i/2%2]))
			if a.status != http.StatusOK {
				t.Errorf("%d %s", a.status, a.body)
			}
			q, err := schema.Decode[schema.Question](a.body)
			if err != nil || q.Answer == nil {
				t.Errorf("%v %s", err, a.body)
				return
			}
			bodies[i] = fmt.Sprint(*q.Answer.Value, q.Answer.Responder.ID, q.Answer.AnsweredAt)
		})
	}
	all.Wait()
	stored := m.question(m.get("/api/agent/questions/"+id), http.StatusOK).Answer
	for i, got := range bodies {
		if want := fmt.Sprint(*stored.Value, stored.Responder.ID, stored.AnsweredAt); got != want {
			t.Errorf("caller %d was given %s, stored is %s", i, got, want)
		}
	}
	for _, value := range values { // the winner's request again, and the loser's
		for _, secret := range secrets {
			q := m.question(m.do("POST", answerPath(id), secret, fmt.Sprintf(`{"value":%q}`, value)), http.StatusOK)
			if *q.Answer.Value != *stored.Value || q.Answer.Responder != stored.Responder && q.Answer.Responder.ID != stored.Responder.ID {
				t.Errorf("afterwards: %+v", q.Answer)
			}
		}
	}
	// Its posting comes first, and its closing after that.
	if owed := m.effects(); len(owed) != 1 || owed[0].Kind != bridge.EffectRender {
		t.Fatalf("owed: %+v", owed)
	} else if err := m.store.FinishEffect(t.Context(), owed[0].ID); err != nil {
		t.Fatal(err)
	}
	if owed := m.effects(); len(owed) != 1 || owed[0].Kind != bridge.EffectSettled {
		t.Errorf("owed: %+v", owed)
	} else if err := m.store.FinishEffect(t.Context(), owed[0].ID); err != nil {
		t.Fatal(err)
	}
	if owed := m.effects(); len(owed) != 0 {
		t.Errorf("more is owed: %+v", owed)
	}
	m.problem(m.do("POST", answerPath(id), secrets[0], `{"value":"perhaps"}`), http.StatusUnprocessableEntity, "invalid_option")
}

func TestAPersonsTokenAsksNothing(t *testing.T) {
	h := newHouse(t)
	h.problem(h.do("POST", opsQuestions, h.token(httpapi.TokenTerms{User: "@root:example.org"}), `{"prompt":"Go?"}`), http.StatusForbidden, "wrong_token_kind")
}
