package dialect_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

const set = `{"prompt":"Before the release","items":[{"header":"Region","prompt":"Where?","options":[{"value":"eu","label":"EU"},{"value":"us","label":"US"}],"multiple":true},
	{"header":"Reason","prompt":"Why?","text_input":{}},{"header":"Mode","prompt":"How?","options":["a","b"],"text_input":{}}]}`

const optionsAndText = `{"prompt":"Which?","options":[{"value":"a","label":"A"},{"value":"b","label":"B"}],"text_input":{}}`

func TestAnswers(t *testing.T) {
	v2 := corpus(t, "subject-bound")
	tests := []struct {
		name, ask string
		choice    bridge.Choice
		labels    [][]string
		want      string
	}{
		{"an option", optionsAndText, bridge.Choice{Via: bridge.ViaReply, Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"b"}}}}, [][]string{{"B"}},
			`{"value":"b","label":"B","text":null,"responder":R,"answered_at":"2026-11-01T09:01:00Z","via":"reply"}`},
		{"its label where none was stored", optionsAndText, bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"b"}}}}, nil,
			`{"value":"b","label":"B","text":null,"responder":R,"answered_at":"2026-11-01T09:01:00Z"}`},
		{"text", optionsAndText, bridge.Choice{Items: []bridge.ItemChoice{{Text: text("flaky")}}}, nil,
			`{"value":null,"label":null,"text":"flaky","responder":R,"answered_at":"2026-11-01T09:01:00Z"}`},
		{"the typed option is text", optionsAndText, bridge.Choice{Input: text("flaky"), Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"_text"}}}}, [][]string{{"Something else"}},
			`{"value":null,"label":null,"text":"flaky","responder":R,"answered_at":"2026-11-01T09:01:00Z"}`},
		{"a set", set, bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"eu", "us"}}, {Text: text("because")}, {Selected: []bridge.OptionID{"a"}}}}, [][]string{{"EU", "US"}, nil, {"a"}},
			`{"value":null,"label":null,"text":null,"responder":R,"answered_at":"2026-11-01T09:01:00Z","items":[{"header":"Region","selected":["eu","us"],"labels":["EU","US"],"text":null},
			{"header":"Reason","selected":[],"labels":[],"text":"because"},{"header":"Mode","selected":["a"],"labels":["a"],"text":null}]}`},
		{"comment and input", optionsAndText, bridge.Choice{Comment: text("c"), Input: text("i"), Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"b"}}}}, nil,
			`{"value":"b","label":"B","text":null,"responder":R,"answered_at":"2026-11-01T09:01:00Z","comment":"c","input":"i"}`},
		{"of an exact operation", v2, bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"always"}}}}, [][]string{{"Always allow"}},
			`{"value":"always","label":"Always allow","text":null,"responder":R,"answered_at":"2026-11-01T09:01:00Z","meaning":"approve","event_id":"$e",
			"grant":{"scope":"always","option":"always","run_id":"run_12","by":"@dana:example.org","until":"2026-11-07T10:30:00Z",
			"subject":{"id":"8f9a0d0e-4b2a-4c1e-9c55-1a2b3c4d5e6f","digest":"0588c96c7eff47e1a83d9fc1d0ecda3cc3b72e559a5c402bb9da29d9851dbceb","revision":1,"schema":"salaam-operation/v1"}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := answered(asked(t, tt.ask), tt.choice, tt.labels...)
			if q.Dialect == bridge.V2 {
				q.Answer.Meaning, q.Answer.Grant, q.Answer.Event = bridge.Approve, bridge.GrantAlways, "$e"
			}
			document := dialect.ToQuestion(q)
			raw, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := schema.Decode[schema.Question](raw); err != nil {
				t.Fatalf("not a valid question: %v\n%s", err, raw)
			}
			var want map[string]any
			if err := json.Unmarshal(jsonWith(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if got := canonical(t, document.Answer); got != canonical(t, want) {
				t.Errorf("got  %s\nwant %s", got, canonical(t, want))
			}
			event := dialect.ToWebhookEvent(q, schema.WebhookRoom{Code: text("OPS")})
			raw, err = json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := schema.Decode[schema.WebhookEvent](raw); err != nil {
				t.Fatalf("not a valid webhook event: %v\n%s", err, raw)
			}
			if event.Event != "question.answered" || event.Timestamp != "2026-11-01T09:01:00Z" || !reflect.DeepEqual(event.Answer, document.Answer) {
				t.Errorf("event %+v", event)
			}
		})
	}
}

// TestB2SilenceIsNoAnswer checks that neither expiry nor cancelling shows an answer.
func TestB2SilenceIsNoAnswer(t *testing.T) {
	at := now.Add(time.Hour)
	for _, state := range []bridge.State{bridge.Expired, bridge.Cancelled} {
		q := asked(t, `{"prompt":"Go?","correlation_id":"c","reply_to":"r","data":{"n":1.0}}`)
		q.State, q.SettledAt = state, &at
		if state == bridge.Cancelled {
			q.CancelledBy = bridge.ByAsker
		}
		document := dialect.ToQuestion(q)
		if document.Answer != nil || document.ResolvedAt == nil || string(document.State) != string(state) || document.CancelledBy != string(q.CancelledBy) {
			t.Errorf("%+v", document)
		}
		raw, err := json.Marshal(dialect.ToEnvelope(q))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Decode[schema.AnswerEnvelope](raw); err != nil {
			t.Errorf("not a valid envelope: %v\n%s", err, raw)
		}
		raw, _ = json.Marshal(dialect.ToWebhookEvent(q, schema.WebhookRoom{}))
		if e, err := schema.Decode[schema.WebhookEvent](raw); err != nil || e.Event != "question."+string(state) || *e.CorrelationID != "c" || *e.ReplyTo != "r" {
			t.Errorf("%v %s", err, raw)
		}
	}
}

func TestChoice(t *testing.T) {
	subject := corpus(t, "subject-bound")
	tests := []struct {
		name, ask, body string
		want            []bridge.ItemChoice
		code            bridge.Code
		field           string
	}{
		{"a value", optionsAndText, `{"value":"b"}`, []bridge.ItemChoice{{Selected: []bridge.OptionID{"b"}}}, "", ""},
		{"a text", optionsAndText, `{"text":"x"}`, []bridge.ItemChoice{{Text: text("x")}}, "", ""},
		{"an unknown value", optionsAndText, `{"value":"c"}`, nil, bridge.CodeInvalidOption, "/value"},
		{"a value in another case", optionsAndText, `{"value":"B"}`, nil, bridge.CodeInvalidOption, "/value"},
		{"the typed option's own id", optionsAndText, `{"value":"_text"}`, nil, bridge.CodeInvalidOption, "/value"},
		{"text where none is invited", `{"prompt":"Go?"}`, `{"text":"x"}`, nil, bridge.CodeTextNotInvited, "/text"},
		{"a set by one value", set, `{"value":"eu"}`, nil, bridge.CodeInvalidOption, ""},
		{"a set, in any order", set, `{"items":[{"header":"Mode","text":"x"},{"header":"Region","selected":["us","eu"]},{"header":"Reason","text":"y"}]}`,
			[]bridge.ItemChoice{{Header: "Region", Selected: []bridge.OptionID{"us", "eu"}}, {Header: "Reason", Text: text("y")}, {Header: "Mode", Text: text("x")}}, "", ""},
		{"a set with an item missing", set, `{"items":[{"header":"Mode","text":"x"}]}`, nil, bridge.CodeInvalidOption, "/items"},
		{"a set with a wrong header", set, `{"items":[{"header":"Mode","text":"x"},{"header":"region","text":"y"},{"header":"Reason","text":"y"}]}`, nil, bridge.CodeInvalidOption, "/items/1/header"},
		{"an unknown value in a set", set, `{"items":[{"header":"Mode","text":"x"},{"header":"Region","selected":["mars"]},{"header":"Reason","text":"y"}]}`, nil, bridge.CodeInvalidOption, "/items/1"},
		{"with a subject", subject, `{"value":"approve","comment":"c","input":"i","subject":{"id":"s","digest":"d","schema":"v","revision":3}}`, []bridge.ItemChoice{{Selected: []bridge.OptionID{"approve"}}}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, err := schema.Decode[schema.AnswerBody]([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := dialect.Choice(*body, asked(t, tt.ask))
			if code := bridge.CodeOf(err); code != tt.code {
				t.Fatalf("code %q, %v", code, err)
			}
			if tt.code != "" {
				if e := err.(*bridge.Error); e.Field != tt.field {
					t.Errorf("field %q", e.Field)
				}
				return
			}
			if !reflect.DeepEqual(got.Items, tt.want) || got.Via != "" {
				t.Errorf("%+v", got)
			}
			if body.Subject != nil && (got.Subject == nil || *got.Subject != bridge.SubjectRef{ID: "s", Digest: "d", Schema: "v", Revision: 3} || *got.Comment != "c" || *got.Input != "i") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A name that nobody could see is none, on every surface that shows an answer.
func TestNamesOfResponders(t *testing.T) {
	q := answered(asked(t, optionsAndText), bridge.Choice{Items: []bridge.ItemChoice{{Text: text("flaky")}}})
	for name, want := range map[string]*string{
		"Dana": text("Dana"), " Dana <b>": text(" Dana <b>"), "": nil, " \t\n": nil, "\u200b\u2060": nil, "\u202e": nil,
	} {
		q.Answer.By.DisplayName = name
		for surface, a := range map[string]*schema.Answer{"question": dialect.ToQuestion(q).Answer, "envelope": dialect.ToEnvelope(q).Answer} {
			if got := a.Responder; !reflect.DeepEqual(got.DisplayName, want) || got.ID != "@dana:example.org" {
				t.Errorf("%s: %q is shown as %v", surface, name, got)
			}
		}
	}
}
