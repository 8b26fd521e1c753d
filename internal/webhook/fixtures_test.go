package webhook

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/fixtures"
)

// events are the webhook events of the fixtures, by the names of their cases.
func events(t *testing.T) map[string]string {
	t.Helper()
	raw, err := fixtures.FS.ReadFile("webhook/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string]struct {
		Valid []struct {
			Case    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range corpus["question-protocol-1.1/webhook-event"].Valid {
		found[c.Case] = string(c.Content)
	}
	return found
}

// TestFixtures: what is sent is, case by case, what the fixtures have, and has all that the document's own event has.
func TestFixtures(t *testing.T) {
	want := events(t)
	at := time.Date(2026, 6, 27, 10, 31, 4, 5e8, time.UTC)
	corr := "rel-2.4"
	ended := func(state bridge.State, change func(*bridge.Question)) bridge.Question {
		q := bridge.Question{
			ID: "q_k3q5wz7abcdefghijklmnopqrs", Conversation: room, Dialect: bridge.Core, CorrelationID: &corr, Data: []byte(`{"pipeline":"deploy"}`),
			Items:     []bridge.Item{{Prompt: "Where?", Options: []bridge.Option{{ID: "prod", Label: "Production"}}, Text: &bridge.TextInput{}}},
			CreatedAt: at, SettledAt: &at, State: state, Delivery: bridge.Delivery{State: bridge.Posted, Message: "$question"},
		}
		if state == bridge.Answered {
			q.Answer = &bridge.Answer{
				Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"prod"}}}, Via: bridge.ViaReply},
				Labels: [][]string{{"Production"}}, By: bridge.Responder{ID: "@alice:example.org", DisplayName: "Alice"}, At: at, Event: "$reply",
			}
		}
		if change != nil {
			change(&q)
		}
		return q
	}
	by := func(who bridge.CancelledBy) func(*bridge.Question) {
		return func(q *bridge.Question) { q.CancelledBy = who }
	}
	typed, branch := "Waiting for QA", "main"
	for name, q := range map[string]bridge.Question{
		"answered":           ended(bridge.Answered, nil),
		"answered by typing": ended(bridge.Answered, func(q *bridge.Question) { q.Answer.Items = []bridge.ItemChoice{{Text: &typed}} }),
		"answered outside of the room": ended(bridge.Answered, func(q *bridge.Question) {
			q.Answer.Via, q.Answer.Event, q.Answer.By.DisplayName = bridge.ViaAPI, "", ""
		}),
		"a set is answered": ended(bridge.Answered, func(q *bridge.Question) {
			q.Items = []bridge.Item{{Header: "Tests", Options: []bridge.Option{{ID: "run", Label: "Run them"}}}, {Header: "Branch", Text: &bridge.TextInput{}}}
			q.Answer.Items, q.Answer.Labels = []bridge.ItemChoice{{Selected: []bridge.OptionID{"run"}}, {Text: &branch}}, [][]string{{"Run them"}, {}}
		}),
		"expired": ended(bridge.Expired, nil),
		"expired, and nobody could have seen it": ended(bridge.Expired, func(q *bridge.Question) {
			q.Delivery = bridge.Delivery{State: bridge.Queued, Reason: bridge.ReasonNobody}
		}),
		"cancelled by its asker":         ended(bridge.Cancelled, by(bridge.ByAsker)),
		"dismissed by a responder":       ended(bridge.Cancelled, by(bridge.ByResponder)),
		"superseded by a newer question": ended(bridge.Cancelled, by(bridge.Superseded)),
		"a room without a name and a code, and an asker who gave nothing": ended(bridge.Answered, func(q *bridge.Question) {
			q.CorrelationID, q.Data, q.Conversation = nil, nil, "!nameless:example.org"
		}),
	} {
		if got := sent(t, q); !reflect.DeepEqual(got, tree(t, want[name])) {
			t.Errorf("%s\n sent %v\n not  %v", name, got, tree(t, want[name]))
		}
	}
	if document := tree(t, want["the document's event"]); !covers(sent(t, ended(bridge.Answered, nil)), document) {
		t.Errorf("the document's event has more than what is sent: %v", document)
	}
}

// kept takes what is to be sent.
type kept struct{ body string }

func (k *kept) AddDeliveries(_ context.Context, d ...bridge.WebhookDelivery) error {
	k.body = string(d[0].Body)
	return nil
}

// sent is the event that endpoints are sent of a question.
func sent(t *testing.T, q bridge.Question) any {
	t.Helper()
	var k kept
	f := Feature{
		Endpoints: []Endpoint{{Name: "a", Rooms: []string{EveryRoom}}}, Rooms: places{room: {Name: "Ops", Code: "OPS"}}, Store: &k, Clock: bridge.SystemClock{},
	}
	if err := f.Settling(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return tree(t, k.body)
}

func tree(t *testing.T, raw string) (tree any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), &tree); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return tree
}

// covers says whether a value has every property of an example, each of the same type.
func covers(value, example any) bool {
	object, ok := example.(map[string]any)
	if !ok {
		return reflect.TypeOf(value) == reflect.TypeOf(example)
	}
	of, ok := value.(map[string]any)
	for name, inner := range object {
		if has, there := of[name]; !ok || !there || !covers(has, inner) {
			return false
		}
	}
	return ok
}

// The first event of the fixtures is the published example as it stands in the document (section 7).
func TestTheDocumentsEventStandsInTheFixtures(t *testing.T) {
	const published = `{ "event": "question.answered", "question_id": "q_8t2k…", "room": { "name": "Ops", "code": "OPS123" }, "state": "answered",
		"answer": { "value": "prod", "label": "Production", "text": null, "responder": { "id": "u_…", "display_name": "Federica" },
		"answered_at": "2026-06-27T10:31:04Z" }, "correlation_id": "rel-2.4", "reply_to": null, "data": { "pipeline": "deploy" },
		"timestamp": "2026-06-27T10:31:04Z" }`
	if got := tree(t, events(t)["the document's event"]); !reflect.DeepEqual(got, tree(t, published)) {
		t.Errorf("the fixtures have %v", got)
	}
}
