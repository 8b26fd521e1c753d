package dialect

import (
	"bytes"
	"encoding/json"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// ToQuestion gives a question as The Question Protocol 1.1, section 3, shows it, whatever dialect it was asked in. A v2
// question has its question as prompt, and card title and stage key as context; a set has its prompts in items.
func ToQuestion(q bridge.Question) schema.Question {
	out := schema.Question{
		ID: string(q.ID), Kind: "question", Context: orNil(q.Title), Options: []schema.QuestionOption{},
		ResponderScope: string(q.Scope), TargetUserID: orNil(string(q.Target)), ResolutionPolicy: "first",
		State: schema.State(q.State), Answer: toAnswer(q),
		ExpiresAt: timestamp(q.ExpiresAt), CreatedAt: timestamp(q.CreatedAt),
		CorrelationID: q.CorrelationID, ReplyTo: q.ReplyTo, Data: data(q),
		ApprovalRequestID: q.ApprovalRequestID, Dismissible: q.Dismissible,
		CancelledBy: string(q.CancelledBy), Delivery: toDelivery(q.Delivery), Warnings: q.Warnings,
	}
	if q.SettledAt != nil {
		at := timestamp(*q.SettledAt)
		out.ResolvedAt = &at
	}
	switch {
	case hasItems(q):
		out.Prompt = q.Prompt
		for _, item := range q.Items {
			out.Items = append(out.Items, toItem(q.Dialect, item))
		}
		if len(q.Items) == 1 && !isSet(q) {
			out.Prompt = q.Items[0].Prompt
		}
	case len(q.Items) == 1:
		it := toItem(q.Dialect, q.Items[0])
		out.Prompt, out.Options, out.TextInput = it.Prompt, it.Options, it.TextInput
	}
	if q.Dialect == bridge.V2 {
		addElicitation(&out, q)
	}
	return out
}

// hasItems says whether the question and its answer are shown as items: the document's own fields hold one choice of one
// prompt.
func hasItems(q bridge.Question) bool { return isSet(q) || q.Items[0].Multiple }

// addElicitation adds what only the content of a v2 question says.
func addElicitation(out *schema.Question, q bridge.Question) {
	e, err := Elicitation(q, 0)
	if err != nil {
		return // what is stored was valid when it was stored; the rest of the question is worth showing
	}
	out.Subject, out.Deadline = e.Subject, e.Deadline
	if e.StageKey != "" {
		context := e.StageKey
		if e.CardTitle != "" {
			context = e.CardTitle + " · " + e.StageKey
		}
		out.Context = &context
	}
}

// toItem shows an item. The option that stands for a typed answer is shown as the text_input that it was asked as.
func toItem(d bridge.Dialect, item bridge.Item) schema.QuestionItem {
	out := schema.QuestionItem{Header: item.Header, Prompt: item.Prompt, Multiple: item.Multiple, Options: []schema.QuestionOption{}}
	for _, o := range item.Options {
		if !o.Typed {
			out.Options = append(out.Options, toOption(d, o))
		}
	}
	if item.Text != nil {
		out.TextInput = &schema.TextInput{Placeholder: item.Text.Placeholder, MaxLength: item.Text.MaxLength}
	}
	return out
}

func toOption(d bridge.Dialect, o bridge.Option) schema.QuestionOption {
	style := schema.Style(o.Style)
	out := schema.QuestionOption{
		Value: string(o.ID), Label: o.Label, Style: style,
		Primary: style == schema.StylePrimary, Destructive: style == schema.StyleDanger,
	}
	if d == bridge.V2 {
		out.Meaning, out.NeedsComment, out.Input = schema.Meaning(o.Meaning), o.NeedsComment, inputTo(o.Input)
		out.Scope, out.Requires = string(o.Grant), o.Requires
	}
	return out
}

func toDelivery(d bridge.Delivery) *schema.Delivery {
	if d.State == "" {
		return nil
	}
	return &schema.Delivery{State: string(d.State), EventID: orNil(string(d.Message)), Reason: orNil(d.Reason), Detail: d.Detail()}
}

// timestamp writes an instant in UTC with whole seconds, cut and never rounded up: nothing is open longer than it says.
func timestamp(t time.Time) schema.Timestamp {
	return schema.Timestamp(t.UTC().Format("2006-01-02T15:04:05Z"))
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// data gives the asker's data back with the digits it came with.
func data(q bridge.Question) map[string]any {
	var out map[string]any
	if decodeNumbers(q.Data, &out) != nil {
		return nil
	}
	return out
}

func decodeNumbers(raw json.RawMessage, into *map[string]any) error {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}
