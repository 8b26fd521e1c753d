package dialect

import (
	"fmt"
	"slices"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// toAnswer gives the answer of an answered question: value and label, or text, or for a set and a multiple choice the
// items (The Question Protocol 1.1, section 4).
func toAnswer(q bridge.Question) *schema.Answer {
	a := q.Answer
	if a == nil || q.State != bridge.Answered {
		return nil
	}
	out := &schema.Answer{
		Responder:  schema.Responder{ID: string(a.By.ID), DisplayName: visible(a.By.DisplayName)},
		AnsweredAt: timestamp(a.At),
		Comment:    a.Comment, Input: a.Input, Via: string(a.Via), EventID: orNil(string(a.Event)),
	}
	if q.Dialect == bridge.V2 {
		out.Meaning = schema.Meaning(a.Meaning)
	}
	if g, ok := q.Granted(); ok {
		out.Grant = new(toGranted(g))
	}
	if decodeNumbers(a.Certificate, &out.Certificate) != nil {
		out.Certificate = nil // only a damaged database can hold another thing than JSON here
	}
	items := make([]schema.AnswerItem, 0, len(a.Items))
	for i, c := range a.Items {
		if i >= len(q.Items) {
			break
		}
		item, typed := toAnswerItem(q.Items[i], c, a, i)
		if typed && len(q.Items) == 1 && a.Input != nil {
			item.Text, out.Input = a.Input, nil
		}
		items = append(items, item)
	}
	switch {
	case hasItems(q):
		out.Items = items
	case len(items) == 1 && items[0].Text != nil:
		out.Text = items[0].Text
	case len(items) == 1 && len(items[0].Selected) == 1:
		out.Value, out.Label = &items[0].Selected[0], &items[0].Labels[0]
	}
	return out
}

// visible is a name as somebody gave it to themselves; nil where nobody could see it.
func visible(name string) *string {
	if bridge.Fold(name) == "" {
		return nil
	}
	return &name
}

// toAnswerItem gives what was chosen of one item. typed says that the option that stands for a typed answer was chosen,
// which is not shown: its text is.
func toAnswerItem(item bridge.Item, c bridge.ItemChoice, a *bridge.Answer, i int) (out schema.AnswerItem, typed bool) {
	out = schema.AnswerItem{Header: item.Header, Selected: []string{}, Labels: []string{}, Text: c.Text}
	for j, id := range c.Selected {
		o, _ := item.Option(id)
		if o.Typed {
			typed = true
			continue
		}
		label := o.Label
		if i < len(a.Labels) && j < len(a.Labels[i]) {
			label = a.Labels[i][j]
		}
		out.Selected, out.Labels = append(out.Selected, string(id)), append(out.Labels, label)
	}
	return out, typed
}

// Choice reads what a responder sent as a choice of the question's items, in their order. The error is a *bridge.Error:
// CodeInvalidOption for a value, header or number of items that the question does not have, CodeTextNotInvited for text
// where only options answer. Whether the choice is allowed is for [bridge.Question.Accepts] to say. The option that
// stands for a typed answer has no value on this surface: text chooses it. Its Via is the caller's to say, who knows how
// the responder signed in.
func Choice(body schema.AnswerBody, q bridge.Question) (bridge.Choice, error) {
	c := bridge.Choice{Comment: body.Comment, Input: body.Input, Items: make([]bridge.ItemChoice, len(q.Items))}
	if s := body.Subject; s != nil {
		ref := subjectRef(s.ID, s.Digest, s.Schema, s.Revision)
		c.Subject = &ref
	}
	if body.Items == nil {
		if len(q.Items) != 1 {
			return bridge.Choice{}, wrongOption("", "the question has several items, which are answered together by items")
		}
		var selected []string
		field := "/text"
		if body.Value != nil {
			selected, field = []string{*body.Value}, "/value"
		}
		var err error
		c.Items[0], err = itemChoice(q.Items[0], selected, body.Text, field)
		return c, err
	}
	if len(body.Items) != len(q.Items) {
		return bridge.Choice{}, wrongOption("/items", "every item of the question needs one answer")
	}
	for n, given := range body.Items {
		i := slices.IndexFunc(q.Items, func(item bridge.Item) bool { return item.Header == given.Header })
		if i < 0 {
			return bridge.Choice{}, wrongOption(fmt.Sprintf("/items/%d/header", n), "the question has no item with this header")
		}
		var err error
		if c.Items[i], err = itemChoice(q.Items[i], given.Selected, given.Text, fmt.Sprintf("/items/%d", n)); err != nil {
			return bridge.Choice{}, err
		}
	}
	return c, nil
}

func itemChoice(item bridge.Item, selected []string, text *string, field string) (bridge.ItemChoice, error) {
	c := bridge.ItemChoice{Header: item.Header, Text: text}
	if text != nil && item.Text == nil {
		return c, &bridge.Error{Code: bridge.CodeTextNotInvited, Field: field, Reason: "the question is answered with one of its options"}
	}
	for _, value := range selected {
		if o, ok := item.Option(bridge.OptionID(value)); !ok || o.Typed {
			return c, wrongOption(field, "the question has no such option")
		}
		c.Selected = append(c.Selected, bridge.OptionID(value))
	}
	return c, nil
}

func wrongOption(field, reason string) error {
	return &bridge.Error{Code: bridge.CodeInvalidOption, Field: field, Reason: reason}
}
