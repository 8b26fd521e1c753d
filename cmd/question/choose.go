package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// choice is an answer before it is given.
type choice struct {
	body     schema.AnswerBody
	shown    string // what is chosen, for a person to read
	approves bool
}

// part is one thing that a question asks: the whole question, or an item of it.
type part struct {
	header   string
	options  []schema.QuestionOption
	text     *schema.TextInput
	multiple bool
}

func partsOf(q *client.Question) []part {
	if len(q.Items) == 0 {
		return []part{{options: q.Options, text: q.TextInput}}
	}
	parts := make([]part, len(q.Items))
	for i, item := range q.Items {
		parts[i] = part{item.Header, item.Options, item.TextInput, item.Multiple}
	}
	return parts
}

// picked is the answer to one part: options, or a text.
type picked struct {
	options []schema.QuestionOption
	text    *string
}

// choose makes an answer of the command line, and of what is typed where that leaves it open.
func (a *answerer) choose(ctx context.Context, q *client.Question, options []string) (choice, error) {
	parts := partsOf(q)
	answers := make([]picked, len(parts))
	var err error
	switch {
	case a.given("text") && len(parts) > 1:
		return choice{}, fmt.Errorf("--text: the question has %d parts, and needs one OPTION for each", len(parts))
	case a.given("text") && parts[0].text == nil:
		return choice{}, errors.New("--text: the question is answered with one of its options")
	case a.given("text"):
		answers[0] = picked{text: &a.text}
	case len(options) > 0 && len(options) != len(parts):
		return choice{}, fmt.Errorf("the question needs %s, and %d are given", counted(len(parts)), len(options))
	case len(options) > 0:
		for i, p := range parts {
			if answers[i], err = p.read(options[i], len(p.options) == 0); err != nil {
				return choice{}, err
			}
		}
	default:
		for i, p := range parts {
			if answers[i], err = a.askFor(ctx, p, len(parts) > 1); err != nil {
				return choice{}, err
			}
		}
	}
	return a.complete(ctx, q, parts, answers)
}

func counted(parts int) string {
	if parts == 1 {
		return "one OPTION"
	}
	return fmt.Sprintf("one OPTION for each of its %d parts", parts)
}

// askFor asks for the answer to one part until it is one.
func (a *answerer) askFor(ctx context.Context, p part, named bool) (picked, error) {
	ask := "\nYour answer: "
	if named {
		ask = "\n" + oneLine(p.header) + ": "
	}
	for {
		said, err := a.typed.ask(ctx, ask)
		switch {
		case err != nil:
			return picked{}, err
		case said == "":
			return picked{}, exitf(exitFailed, "not answered: the question stays pending")
		}
		answer, err := p.read(said, true)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintf(a.cmd.ErrOrStderr(), "question: %s\n", err)
	}
}

// read finds what is meant as the bridge finds it in a reply. What names no option is the text that is invited, if the
// caller allows that.
func (p part) read(said string, orText bool) (picked, error) {
	options := make([]bridge.Option, len(p.options))
	for i, o := range p.options {
		options[i] = bridge.Option{ID: bridge.OptionID(o.Value), Label: o.Label}
	}
	names := []string{said}
	if _, whole := bridge.Match(options, said).(bridge.OneMatch); p.multiple && !whole {
		names = strings.Split(said, ",")
	}
	var found []schema.QuestionOption
	for _, name := range names {
		switch m := bridge.Match(options, name).(type) {
		case bridge.OneMatch:
			found = append(found, p.options[m.Index])
		case bridge.Ambiguous:
			return picked{}, fmt.Errorf("%q names more than one option", oneLine(said))
		case bridge.OutOfRange:
			if len(options) > 0 {
				return picked{}, fmt.Errorf("there is no option %s", oneLine(m.Number))
			}
		}
	}
	switch {
	case len(found) == len(names):
		return picked{options: found}, nil
	case p.text != nil && orText:
		return picked{text: &said}, nil
	case p.text != nil:
		return picked{}, fmt.Errorf("%q is none of the options; text is given by --text", oneLine(said))
	default:
		return picked{}, fmt.Errorf("%q is none of the options", oneLine(said))
	}
}

// complete adds what stands beside the options: the subject as it was shown, a comment and an input.
func (a *answerer) complete(ctx context.Context, q *client.Question, parts []part, answers []picked) (choice, error) {
	c := choice{body: schema.AnswerBody{Subject: client.SubjectOf(q)}}
	var shown []string
	var chosen []schema.QuestionOption
	for i, answer := range answers {
		chosen = append(chosen, answer.options...)
		if len(q.Items) > 0 {
			item := schema.AnswerBodyItem{Header: parts[i].header, Text: answer.text}
			for _, o := range answer.options {
				item.Selected = append(item.Selected, o.Value)
			}
			c.body.Items = append(c.body.Items, item)
		} else if answer.text != nil {
			c.body.Text = answer.text
		} else {
			c.body.Value = &answer.options[0].Value
		}
		if answer.text != nil {
			shown = append(shown, fmt.Sprintf("the text “%s”", oneLine(*answer.text)))
		}
		for _, o := range answer.options {
			shown = append(shown, fmt.Sprintf("“%s”", oneLine(optionSummary([]schema.QuestionOption{o}))))
		}
	}
	c.approves = slices.ContainsFunc(chosen, func(o schema.QuestionOption) bool { return o.Meaning == schema.Approve })
	if err := a.beside(ctx, &c, chosen); err != nil {
		return choice{}, err
	}
	c.shown = strings.Join(shown, ", ")
	if c.body.Comment != nil {
		c.shown += fmt.Sprintf(", the comment “%s”", oneLine(*c.body.Comment))
	}
	if c.body.Input != nil {
		c.shown += fmt.Sprintf(", the input “%s”", oneLine(*c.body.Input))
	}
	return c, nil
}

// beside adds the comment and the input, and asks for those that an option needs.
func (a *answerer) beside(ctx context.Context, c *choice, chosen []schema.QuestionOption) (err error) {
	if a.given("comment") {
		c.body.Comment = &a.comment
	}
	if a.given("input") {
		c.body.Input = &a.input
	}
	for _, o := range chosen {
		if o.NeedsComment && c.body.Comment == nil {
			if c.body.Comment, err = a.needed(ctx, "comment", "Comment"); err != nil {
				return err
			}
		}
		if o.Input != nil && o.Input.Required && c.body.Input == nil {
			if c.body.Input, err = a.needed(ctx, "input", oneLine(o.Input.Label)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *answerer) needed(ctx context.Context, flag, name string) (*string, error) {
	if a.yes || a.typed == nil {
		return nil, fmt.Errorf("this option needs --%s", flag)
	}
	said, err := a.typed.ask(ctx, name+": ")
	if err == nil && said == "" {
		err = exitf(exitFailed, "not answered: the question stays pending")
	}
	return &said, err
}

// stands says whether the answer that a question has is exactly the one that this person gave.
func stands(q *client.Question, given schema.AnswerBody) bool {
	a := q.Answer
	if q.Viewer == "" || a.Responder.ID != q.Viewer || !same(a.Value, given.Value) || !same(a.Text, given.Text) ||
		!same(a.Comment, given.Comment) || !same(a.Input, given.Input) || len(a.Items) != len(given.Items) {
		return false
	}
	return slices.EqualFunc(a.Items, given.Items, func(has schema.AnswerItem, gave schema.AnswerBodyItem) bool {
		return has.Header == gave.Header && slices.Equal(has.Selected, gave.Selected) && same(has.Text, gave.Text)
	})
}

// same compares as the server keeps it: without white space around it, and empty as nothing.
func same(a, b *string) bool {
	plain := func(s *string) string {
		if s == nil {
			return ""
		}
		return strings.TrimSpace(*s)
	}
	return plain(a) == plain(b)
}
