package dialect_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// A document that was sent and is cleared says what one says that is made of the cleared question: nothing of the person,
// and all the rest, each digit of the asker's data too.
func TestForget(t *testing.T) {
	const dana bridge.UserID = "@dana:example.org"
	for name, tt := range map[string]struct {
		ask    string
		choice bridge.Choice
	}{
		"an option": {optionsAndText, bridge.Choice{Comment: text("Dana says <&>"), Input: text("Dana's"), Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"b"}}}}},
		"typed":     {optionsAndText, bridge.Choice{Input: text("Dana types"), Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"_text"}}}}},
		"text":      {optionsAndText, bridge.Choice{Items: []bridge.ItemChoice{{Text: text("Dana types")}}}},
		"a set": {set, bridge.Choice{Items: []bridge.ItemChoice{
			{Selected: []bridge.OptionID{"eu", "us"}}, {Text: text("Dana's reason")}, {Selected: []bridge.OptionID{"a"}}}}},
		"a grant": {corpus(t, "subject-bound"), bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"always"}}}}},
		"to one person": {`{"prompt":"You?","responder_scope":"direct","target_user_id":"@dana:example.org","data":{"n":12345678901234567890.10}}`,
			bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"approve"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := answered(asked(t, tt.ask), tt.choice)
			if q.Dialect == bridge.V2 {
				q.Answer.Meaning, q.Answer.Grant = bridge.Approve, bridge.GrantAlways
			}
			q.Answer.Event, q.Answer.Certificate = "$dana", []byte(`{"payload":{"responder":"@dana:example.org"}}`)
			forgotten := q
			if !forgotten.Forget(dana) {
				t.Fatal("nothing to forget")
			}
			room := schema.WebhookRoom{Name: text("Ops")}
			for _, pair := range [][2]any{
				{dialect.ToQuestion(q), dialect.ToQuestion(forgotten)},
				{dialect.ToWebhookEvent(q, room), dialect.ToWebhookEvent(forgotten, room)},
			} {
				sent, err := json.Marshal(pair[0])
				if err != nil {
					t.Fatal(err)
				}
				cleared, changed := dialect.Forget(sent, dana)
				if !changed || strings.Contains(strings.ToLower(string(cleared)), "dana") {
					t.Errorf("%t: %s", changed, cleared)
				}
				want, _ := json.Marshal(pair[1])
				if got := decodedTree(t, cleared); !reflect.DeepEqual(got, decodedTree(t, want)) {
					t.Errorf("got  %s\nwant %s", cleared, want)
				}
				if again, changed := dialect.Forget(cleared, dana); changed || !bytes.Equal(again, cleared) {
					t.Errorf("again: %s", again)
				}
				if other, changed := dialect.Forget(sent, "@bob:example.org"); changed || !bytes.Equal(other, sent) {
					t.Errorf("for somebody else: %s", other)
				}
			}
		})
	}
	revoked := `{"event":"grant.revoked","grant":{"by":"@dana:example.org","revoked_by":"@bob:example.org","scope":"run"}}`
	for who, want := range map[bridge.UserID]string{
		dana: strings.Replace(revoked, string(dana), "forgotten", 1), "@bob:example.org": strings.Replace(revoked, "@bob:example.org", "forgotten", 1), "@eve:example.org": revoked,
	} {
		if got, changed := dialect.Forget([]byte(revoked), who); string(got) != want || changed != (want != revoked) {
			t.Errorf("without %s it is %s", who, got)
		}
	}
	for _, other := range []string{"", "no JSON", `[]`, `{"answer":null}`, `{"answer":{"responder":"@dana:example.org"}}`} {
		if got, changed := dialect.Forget([]byte(other), dana); changed || string(got) != other {
			t.Errorf("%s became %s", other, got)
		}
	}
	if got, _ := dialect.Forget([]byte("{\"target_user_id\":\"@dana:example.org\"}\n"), dana); string(got) != "{\"target_user_id\":\"forgotten\"}\n" {
		t.Errorf("the end of the line: %q", got)
	}
}

func decodedTree(t *testing.T, raw []byte) (tree any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// Whom a query that follows is about is forgotten with it.
func TestForgetInANextQuery(t *testing.T) {
	sent := []byte(`{"event":"question.next_query","next_query":{"prompt":"How?","subject":{"id":"@dana:example.org","idScope":"local","kind":"user"}}}`)
	cleared, changed := dialect.Forget(sent, "@dana:example.org")
	if want := strings.Replace(string(sent), "@dana:example.org", "forgotten", 1); !changed || string(cleared) != want {
		t.Errorf("%t: %s", changed, cleared)
	}
	if _, changed := dialect.Forget(sent, "@bob:example.org"); changed {
		t.Error("somebody else is forgotten")
	}
}
