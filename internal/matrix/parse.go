package matrix

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
)

// Parse implements [bridge.Channel]: what the interaction means for the step that the posting stands at. Which step it
// was made for, who made it, and whether they may, is the engine's to say.
func (s *Service) Parse(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading {
	g := progressOf(q, p)
	if len(q.Items) == 0 {
		return bridge.Ignored{}
	}
	r := reader{q: q, progress: g, item: q.Items[g.Step], exposed: in.Exposed}
	switch act := in.Act.(type) {
	case bridge.Said:
		if in.Exposed {
			return bridge.Ignored{}
		}
		return r.said(act)
	case bridge.Reacted:
		return r.reacted(act)
	case bridge.Submitted:
		if in.Exposed {
			return bridge.Ignored{}
		}
		return r.submitted(act)
	}
	return bridge.Ignored{}
}

type reader struct {
	q        bridge.Question
	progress progress
	item     bridge.Item
	exposed  bool
}

// said reads prose. Only the whole of it can be an answer. A hint is given for an attempt, never for talk.
func (r reader) said(act bridge.Said) bridge.Reading {
	found := bridge.Match(r.item.Options, act.Text)
	if _, none := found.(bridge.NoMatch); none && r.q.Dismissible && bridge.Fold(act.Text) == "dismiss" {
		return bridge.Dismissed{}
	}
	switch {
	case len(r.item.Options) == 0:
		return r.typed(act)
	case act.NotText:
		return bridge.Refused{Code: bridge.CodeNotText, Reason: "Only text can answer here. Please write " + r.howTo() + "."}
	}
	switch m := found.(type) {
	case bridge.OneMatch:
		return r.option(m, bridge.ViaReply)
	case bridge.Ambiguous:
		return r.ambiguous(m.Indexes)
	case bridge.OutOfRange:
		return bridge.Refused{Code: bridge.CodeOutOfRange, Reason: fmt.Sprintf("There is no option %s. Please write %s.", m.Number, r.howTo())}
	}
	if r.item.Multiple {
		return r.several(act.Text)
	}
	return bridge.Ignored{}
}

func (r reader) howTo() string {
	if r.item.Multiple {
		return "the numbers of your options, with commas between them"
	}
	if len(r.item.Options) == 2 {
		return "1 or 2, or an option's name"
	}
	return fmt.Sprintf("a number from 1 to %d, or an option's name", len(r.item.Options))
}

func (r reader) ambiguous(indexes []int) bridge.Reading {
	var numbers []string
	for _, i := range indexes {
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	way := "Please react with its number"
	if !r.reactable() {
		way = "Please write the option's id"
	}
	if r.labelsAreNoNumbers() {
		way = "Please write the number alone"
	}
	return bridge.Refused{Code: bridge.CodeAmbiguous, Reason: fmt.Sprintf("That could be option %s. %s.", strings.Join(numbers, " or "), way)}
}

// labelsAreNoNumbers is true where a lone number can only mean the number.
func (r reader) labelsAreNoNumbers() bool {
	for i := range r.item.Options {
		if m, ok := bridge.Match(r.item.Options, fmt.Sprint(i+1)).(bridge.OneMatch); !ok || m.Index != i {
			return false
		}
	}
	return true
}

// option reads that one option was named, maybe with what it asks for behind it.
func (r reader) option(m bridge.OneMatch, via bridge.Via) bridge.Reading {
	o := r.item.Options[m.Index]
	c := bridge.Choice{Via: via}
	switch {
	case o.Typed && m.Rest != nil:
		return r.pick(bridge.ItemChoice{Text: m.Rest}, c)
	case o.NeedsComment && m.Rest != nil:
		c.Comment = m.Rest
	case o.Input != nil && m.Rest != nil:
		c.Input = m.Rest
	case o.NeedsTyped(c):
		return bridge.Refused{Code: bridge.CodeInputMissing, Reason: fmt.Sprintf("Option %d needs some text from you. Please write both in one reply, like this: “%d: your text”.", m.Index+1, m.Index+1)}
	}
	return r.pick(bridge.ItemChoice{Selected: []bridge.OptionID{o.ID}}, c)
}

// several reads the options of a multiple choice from a list, in the order in which they were offered.
func (r reader) several(text string) bridge.Reading {
	parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",;\n，、；", c) })
	if len(parts) < 2 {
		return bridge.Ignored{}
	}
	chosen := map[int]bool{}
	for _, part := range parts {
		switch m := bridge.Match(r.item.Options, part).(type) {
		case bridge.OneMatch:
			if m.Rest != nil {
				return bridge.Ignored{}
			}
			chosen[m.Index] = true
		case bridge.OutOfRange:
			return bridge.Refused{Code: bridge.CodeOutOfRange, Reason: fmt.Sprintf("There is no option %s. Please write %s.", m.Number, r.howTo())}
		case bridge.Ambiguous:
			return r.ambiguous(m.Indexes)
		default:
			return bridge.Ignored{}
		}
	}
	var selected []bridge.OptionID
	for i, o := range r.item.Options {
		if chosen[i] {
			selected = append(selected, o.ID)
		}
	}
	return r.pick(bridge.ItemChoice{Selected: selected}, bridge.Choice{Via: bridge.ViaReply})
}

// typed reads the reply to a question that is answered by typing: the whole of it, as it is. Where only its carrier's
// board takes the answer, prose means nothing.
func (r reader) typed(act bridge.Said) bridge.Reading {
	switch {
	case r.item.Text == nil, r.q.Carried != nil && !r.q.Carried.FreeTextReplies:
		return bridge.Ignored{}
	case act.NotText:
		return bridge.Refused{Code: bridge.CodeNotText, Reason: "Only text can answer here."}
	}
	text := strings.TrimSpace(act.Text)
	if bridge.Fold(text) == "" {
		return bridge.Ignored{}
	}
	if n := r.item.Text.MaxLength; utf8.RuneCountInString(text) > n {
		return bridge.Refused{Code: bridge.CodeTextTooLong, Reason: fmt.Sprintf("That is longer than %d characters. Please answer in fewer.", n)}
	}
	return r.pick(bridge.ItemChoice{Text: &text}, bridge.Choice{Via: bridge.ViaReply})
}

// reacted reads a reaction: a keycap in any spelling, or an option's number, name or id. Every other reaction is just a
// reaction. In an encrypted room reactions travel in clear, so they choose nothing that matters there.
func (r reader) reacted(act bridge.Reacted) bridge.Reading {
	m, ok := bridge.Match(r.item.Options, act.Key).(bridge.OneMatch)
	if !ok || m.Rest != nil || r.item.Multiple {
		return bridge.Ignored{}
	}
	o := r.item.Options[m.Index]
	if r.exposed && (o.Meaning == bridge.Approve || o.Requires != "") {
		return bridge.Refused{Code: bridge.CodeUnsupported, Reason: "A reaction cannot choose this in an encrypted room. Please reply instead."}
	}
	return r.option(m, bridge.ViaReaction)
}

// submitted reads a structured answer to the current step.
func (r reader) submitted(act bridge.Submitted) bridge.Reading {
	refuse := func(reason string) bridge.Reading {
		return bridge.Refused{Code: bridge.CodeStructuredInvalid, Reason: reason}
	}
	if act.Invalid != "" {
		return refuse(act.Invalid)
	}
	if act.ElicitationID != stepID(r.q, r.progress.Step) {
		return refuse("The elicitation_id is not the one of the question that the answer refers to.")
	}
	c := bridge.Choice{Comment: act.Comment, Input: act.Input, Subject: act.Subject, Via: bridge.ViaStructured}
	if act.Text != nil {
		return r.pick(bridge.ItemChoice{Text: act.Text}, c)
	}
	if _, ok := r.item.Option(act.Option); !ok {
		return bridge.Refused{Code: bridge.CodeInvalidOption, Reason: "The question has no such option."}
	}
	return r.pick(bridge.ItemChoice{Selected: []bridge.OptionID{act.Option}}, c)
}

// stepID is the elicitation id of a step: the question's own for the first, then "<id>/2" and so on.
func stepID(q bridge.Question, step int) string {
	if step == 0 {
		return q.ElicitationID
	}
	return fmt.Sprintf("%s/%d", q.ElicitationID, step+1)
}

// pick answers the current step: the last one answers the question.
func (r reader) pick(item bridge.ItemChoice, c bridge.Choice) bridge.Reading {
	item.Header = r.item.Header
	c.Items = append(slices.Clone(r.progress.Picks), item)
	if len(c.Items) == len(r.q.Items) {
		return bridge.Chosen{Choice: c}
	}
	next := progress{Step: r.progress.Step + 1, Picks: c.Items}
	return bridge.Partial{Progress: next.encode(), Choice: c}
}

// reactable says whether the current step can be answered by a number reaction at all.
func (r reader) reactable() bool {
	return !r.item.Multiple && len(r.item.Options) >= 2 && len(r.item.Options) <= 9
}

// reactions are the options, from 1, that a keycap is put up for: answering with one needs nothing typed, and a reaction
// may choose it.
func (r reader) reactions() []int {
	if !r.reactable() {
		return nil
	}
	var numbers []int
	for i, o := range r.item.Options {
		typed := o.NeedsComment || o.Typed || o.Input != nil && o.Input.Required
		if !typed && o.Requires == "" && (r.q.Subject == nil || o.Meaning == bridge.Reject) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}
