package dialect_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

func queryAsk(t *testing.T, edit func(*schema.QueryAsk)) *schema.QueryAsk {
	t.Helper()
	ask := &schema.QueryAsk{}
	if err := json.Unmarshal(examples(t, "../../fixtures/queries/examples.json", schema.ProtocolVersion+"/query")[0].Content, &ask.Query); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(ask)
	}
	return ask
}

func fromQuery(t *testing.T, edit func(*schema.QueryAsk)) (bridge.Question, error) {
	t.Helper()
	return dialect.FromQuery(queryAsk(t, edit), dialect.AskContext{
		Asker: "ci", AskedBy: "CI", Conversation: "!ops:ex.org", Now: time.Date(2026, 7, 30, 17, 0, 0, 0, time.UTC),
	})
}

// A query becomes a question with exactly its prompt and exactly its choices, in their order, and nothing else of it; what
// is posted of it holds no subject, no instructions and no address.
func TestAQueryIsAskedAsItIs(t *testing.T) {
	q, err := fromQuery(t, func(a *schema.QueryAsk) {
		a.Query.Response.Choices = []string{"declined", "approved"}
		a.Query.Delivery.Capability = "capability-of-this-query"
	})
	if err != nil {
		t.Fatal(err)
	}
	query := queryAsk(t, nil).Query
	options := q.Items[0].Options
	if q.Items[0].Prompt != query.Prompt || len(options) != 2 || options[0].Label != "declined" || options[0].ID != "declined" ||
		options[0].Meaning != bridge.Reject || options[1].Label != "approved" || options[1].Meaning != bridge.Approve {
		t.Errorf("asked %+v", q.Items)
	}
	if want := time.Date(2026, 7, 30, 19, 0, 0, 0, time.UTC); !q.ExpiresAt.Equal(want) {
		t.Errorf("expires at %s, want %s", q.ExpiresAt, want)
	}
	e, err := dialect.Elicitation(q, 0)
	if err != nil {
		t.Fatal(err)
	}
	event, err := e.Build(schema.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{query.Subject.ID, "pairwise", query.Instructions, "queries.example", "capability-of", query.QueryID} {
		for what, text := range map[string]string{"event": canonical(t, event), "question": canonical(t, dialect.ToQuestion(q))} {
			if strings.Contains(text, private) {
				t.Errorf("the %s holds %q: %s", what, private, text)
			}
		}
	}
}

// A continuation for a person has choices of its own, or takes text; it lives as long as it says, however long that is.
func TestAContinuationIsAskedAsItIs(t *testing.T) {
	q, err := fromQuery(t, func(a *schema.QueryAsk) {
		a.Query.Type, a.Query.Response.Choices, a.Query.ExpiresAt = "feedback", []string{"better", "no difference", "worse"}, "2036-07-30T19:00:00Z"
	})
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, o := range q.Items[0].Options {
		if labels = append(labels, o.Label); o.Meaning != bridge.Choose {
			t.Errorf("%s means %s", o.Label, o.Meaning)
		}
	}
	if !slices.Equal(labels, []string{"better", "no difference", "worse"}) || q.ExpiresAt.Year() != 2036 || !q.ForgetAfter.After(q.ExpiresAt) {
		t.Errorf("asked %q until %s, kept until %s", labels, q.ExpiresAt, q.ForgetAfter)
	}
	text := func(length int) func(*schema.QueryAsk) {
		return func(a *schema.QueryAsk) {
			a.Query.Type, a.Query.Response = "feedback", schema.ResponseFormat{Format: "text", MaxLength: length}
		}
	}
	if q, err = fromQuery(t, text(dialect.MaxQueryText)); err != nil || q.Items[0].Text.MaxLength != dialect.MaxQueryText || len(q.Items[0].Options) > 0 {
		t.Errorf("asked %+v, %v", q.Items, err)
	}
	_, err = fromQuery(t, text(dialect.MaxQueryText+1))
	var refused *schema.Refusal
	if !errors.As(err, &refused) || refused.Faults[0].Location != "/query/response/maxLength" || refused.Faults[0].Limit != dialect.MaxQueryText {
		t.Errorf("more text than a room is asked for: %v", err)
	}
}

// The same query is the same question, and a query that differs in anything is another one.
func TestQueriesAreToldApart(t *testing.T) {
	digests := map[string]string{}
	for name, edit := range map[string]func(*schema.QueryAsk){
		"the query":    nil,
		"a subject":    func(a *schema.QueryAsk) { a.Query.Subject.ID = "usr_pairwise_Q7d" },
		"an endpoint":  func(a *schema.QueryAsk) { a.Query.Delivery.Endpoint = "https://queries.example/response" },
		"a capability": func(a *schema.QueryAsk) { a.Query.Delivery.Capability = "capability-of-this-query" },
		"instructions": func(a *schema.QueryAsk) { a.Query.Instructions = "Ask." },
		"an expiry":    func(a *schema.QueryAsk) { a.Query.ExpiresAt = "2026-07-30T19:00:01Z" },
		"an order":     func(a *schema.QueryAsk) { slices.Reverse(a.Query.Response.Choices) },
		"a target":     func(a *schema.QueryAsk) { a.TargetUserID = "@dana:ex.org" },
	} {
		q, err := fromQuery(t, edit)
		again, errAgain := fromQuery(t, edit)
		if err != nil || errAgain != nil || q.Digest != again.Digest {
			t.Errorf("%s: asked twice it is %s and %s, %v", name, q.Digest, again.Digest, err)
		}
		if other, ok := digests[q.Digest]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		digests[q.Digest] = name
	}
}

func TestAnAnswerInTheWordsOfAQuery(t *testing.T) {
	typed := "as it was typed"
	a := dialect.FromQueryAnswer(bridge.Answer{Choice: bridge.Choice{Items: []bridge.ItemChoice{{Text: &typed}}}})
	b := dialect.FromQueryAnswer(bridge.Answer{Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"declined"}}}}})
	if *a.Text != typed || a.Choice != nil || *b.Choice != "declined" || b.Text != nil {
		t.Errorf("said %+v and %+v", a, b)
	}
}
