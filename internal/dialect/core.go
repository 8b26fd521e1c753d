package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// setCore takes over a core ask: one item, or a set of them.
func setCore(q *bridge.Question, ask *schema.CoreAsk) error {
	q.Dialect, q.ElicitationID, q.Title, q.Dismissible = bridge.Core, string(q.ID), ask.Context, ask.Dismissible
	if len(ask.Items) == 0 {
		options := ask.Options
		if len(options) == 0 && ask.TextInput == nil {
			options = schema.DefaultOptions()
		}
		q.Items = []bridge.Item{coreItem(schema.AskItem{Prompt: ask.Prompt, Options: options, TextInput: ask.TextInput})}
	} else {
		q.Prompt = ask.Prompt
		for _, item := range ask.Items {
			q.Items = append(q.Items, coreItem(item))
		}
	}
	for i := range q.Items {
		if err := checkBuilds(*q, i); err != nil {
			return err
		}
	}
	return nil
}

// checkBuilds refuses a step that could not be posted, with a location in the ask.
func checkBuilds(q bridge.Question, item int) error {
	e, err := Elicitation(q, item)
	if err != nil {
		return err
	}
	_, err = e.Build(schema.BuildOptions{})
	var refused *schema.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	return relocate(refused, func(location string) string { return askLocation(q, item, location) })
}

func coreItem(item schema.AskItem) bridge.Item {
	out := bridge.Item{Header: item.Header, Prompt: item.Prompt, Multiple: item.Multiple}
	for _, o := range item.Options {
		out.Options = append(out.Options, bridge.Option{
			ID: bridge.OptionID(o.Value), Label: o.Label, Meaning: coreMeaning(o.Value), Style: string(o.Style),
		})
	}
	if item.TextInput != nil {
		out.Text = &bridge.TextInput{Placeholder: item.TextInput.Placeholder, MaxLength: item.TextInput.MaxLength}
		if out.Text.MaxLength == 0 {
			out.Text.MaxLength = schema.DefaultTextLength
		}
		if len(out.Options) > 0 {
			out.Options = append(out.Options, typedOption(out))
		}
	}
	return out
}

func coreMeaning(value string) bridge.Meaning {
	switch value {
	case "approve":
		return bridge.Approve
	case "deny":
		return bridge.Reject
	default:
		return bridge.Choose
	}
}

const (
	typedID        = "_text"
	typedLabel     = "Something else"
	typedElseLabel = "Something else (type it)" // where one of the asker's options is called typedLabel
)

// typedOption stands for the typed answer beside options, because question.v2 has free text only without any (DESIGN
// section 7, "Posting").
func typedOption(item bridge.Item) bridge.Option {
	o := bridge.Option{
		ID: typedID, Label: typedLabel, Meaning: bridge.Choose, Style: string(schema.StyleDefault), Typed: true,
		Input: &bridge.Input{Kind: "text", Label: item.Text.Placeholder, Required: true, MaxLength: item.Text.MaxLength},
	}
	called := func(p bridge.Option) bool { return bridge.Fold(p.Label) == bridge.Fold(typedLabel) }
	if slices.ContainsFunc(item.Options, called) {
		o.Label = typedElseLabel
	}
	for taken := true; taken; {
		if _, taken = item.Option(o.ID); taken {
			o.ID += "_"
		}
	}
	return o
}

// isSet says whether a core question was asked as items, which always have a header.
func isSet(q bridge.Question) bool { return len(q.Items) != 1 || q.Items[0].Header != "" }

// askLocation finds in a core ask what a location in the event of one of its items was made from. What the asker did not
// write points at the whole ask.
func askLocation(q bridge.Question, item int, location string) string {
	it, at := q.Items[item], ""
	if isSet(q) {
		at = "/items/" + strconv.Itoa(item)
	}
	switch tokens := strings.Split(location, "/"); {
	case location == "/question":
		return at + "/prompt"
	case location == "/card_title" && strings.ContainsRune(it.Header, 0):
		return at + "/header"
	case location == "/card_title" && q.Title == "" && isSet(q):
		return "/prompt"
	case location == "/card_title":
		return "/context"
	case strings.HasPrefix(location, "/free_text"):
		return at + "/text_input"
	case len(tokens) > 3 && tokens[1] == "options":
		i, err := strconv.Atoi(tokens[2])
		switch {
		case err != nil || i < 0 || i >= len(it.Options):
			return at + "/options"
		case it.Options[i].Typed:
			return at + "/text_input/placeholder"
		case string(it.Options[i].ID) == it.Options[i].Label: // a bare string, perhaps
			return fmt.Sprintf("%s/options/%d", at, i)
		case tokens[3] == "id":
			return fmt.Sprintf("%s/options/%d/value", at, i)
		default:
			return fmt.Sprintf("%s/options/%d/label", at, i)
		}
	default:
		return ""
	}
}
