package matrix

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// Parse implements [bridge.Channel]: what the interaction means for the step that the posting stands at. Which step it
// was made for, who made it, and whether they may, is the engine's to say.
func (s *Service) Parse(in bridge.Interaction, q bridge.Question, p bridge.Posting) bridge.Reading {
	g := progressOf(q, p)
	if len(q.Items) == 0 {
		return bridge.Ignored{}
	}
	r := reader{q: q, progress: g, item: q.Items[g.Step], in: in, p: p}
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
	case bridge.Withdrew:
		return r.withdrew(act)
	}
	return bridge.Ignored{}
}

// reader reads one interaction for the step that is asked.
type reader struct {
	q        bridge.Question
	progress progress
	item     bridge.Item
	in       bridge.Interaction
	p        bridge.Posting
}

// said reads prose. Only the whole of it can be an answer. A hint is given for an attempt, never for talk.
func (r reader) said(act bridge.Said) bridge.Reading {
	if r.q.Rationed {
		return r.rationed(act)
	}
	found := bridge.Match(r.item.Options, act.Text)
	if reading := r.prompted(act, found); reading != nil {
		return reading
	}
	if _, none := found.(bridge.NoMatch); none && r.q.Dismissible && bridge.Fold(act.Text) == "dismiss" {
		return bridge.Dismissed{}
	}
	switch {
	case len(r.item.Options) == 0:
		return r.typed(act)
	case act.NotText:
		return bridge.Refused{Code: bridge.CodeNotText, Reason: texts.OnlyTextChooses(r.howTo())}
	}
	switch m := found.(type) {
	case bridge.OneMatch:
		return r.option(m, bridge.ViaReply)
	case bridge.Ambiguous:
		return r.ambiguous(m.Indexes)
	case bridge.OutOfRange:
		return bridge.Refused{Code: bridge.CodeOutOfRange, Reason: texts.NoSuchNumber(m.Number, r.howTo())}
	}
	if r.item.Multiple {
		return r.several(act.Text)
	}
	return bridge.Ignored{}
}

// rationed reads a reply to a question of the Question Queue. One that names no option ends it, whatever it says, as long
// as it is pending; a correction does so only where it declines.
func (r reader) rationed(act bridge.Said) bridge.Reading {
	if i, ok := bridge.Named(r.item.Options, act.Text); ok && !act.NotText {
		return r.option(bridge.OneMatch{Index: i}, bridge.ViaReply)
	}
	talk := act.NotText || !bridge.Deflects(act.Text)
	if talk && (r.q.State.Terminal() || act.Corrects != "") {
		return bridge.Ignored{}
	}
	return bridge.Dismissed{Reason: bridge.ReasonCooled, Talk: talk}
}

func (r reader) howTo() string { return texts.HowToChoose(len(r.item.Options), r.item.Multiple) }

func (r reader) ambiguous(indexes []int) bridge.Reading {
	var numbers []string
	for _, i := range indexes {
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	way := texts.ReactWithNumber
	if !r.reactable() {
		way = texts.WriteID
	}
	if r.labelsAreNoNumbers() {
		way = texts.WriteNumber
	}
	return bridge.Refused{Code: bridge.CodeAmbiguous, Reason: texts.CouldBe(numbers, way)}
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
	w := waiting{Option: r.item.Options[m.Index].ID, Chosen: r.in.ID}
	if said, ok := r.in.Act.(bridge.Said); ok {
		w.Original = said.Corrects
	}
	if m.Rest != nil {
		if err := w.take(r.item.Options[m.Index], *m.Rest); err != nil {
			return refusedBy(err)
		}
	}
	return r.chosen(r.item.Options[m.Index], w, via)
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
			return bridge.Refused{Code: bridge.CodeOutOfRange, Reason: texts.NoSuchNumber(m.Number, r.howTo())}
		case bridge.Ambiguous:
			return r.ambiguous(m.Indexes)
		default:
			return bridge.Ignored{}
		}
	}
	var selected []bridge.OptionID
	for i, o := range r.item.Options {
		switch {
		case !chosen[i]:
			continue
		case len(chosen) == 1:
			return r.option(bridge.OneMatch{Index: i}, bridge.ViaReply)
		case o.NeedsComment || o.Input != nil:
			return bridge.Refused{Code: bridge.CodeInvalidOption, Reason: texts.ChosenAlone(i + 1)}
		}
		selected = append(selected, o.ID)
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
		return bridge.Refused{Code: bridge.CodeNotText, Reason: texts.OnlyText}
	}
	text := strings.TrimSpace(act.Text)
	if bridge.Fold(text) == "" {
		return bridge.Ignored{}
	}
	if refused := r.refusesText(&text); refused != nil {
		return refused
	}
	return r.pick(bridge.ItemChoice{Text: &text}, bridge.Choice{Via: bridge.ViaReply})
}

// reacted reads a reaction: a keycap in any spelling, or an option's number, name or id. Every other reaction is just a
// reaction. In an encrypted room reactions travel in clear, so they choose nothing that matters there.
func (r reader) reacted(act bridge.Reacted) bridge.Reading {
	m, ok := bridge.Match(r.item.Options, act.Key).(bridge.OneMatch)
	_, toAside := r.p.AsideOf(act.To) // a number there would be a guess
	if !ok || m.Rest != nil || r.item.Multiple || toAside {
		return bridge.Ignored{}
	}
	o := r.item.Options[m.Index]
	if r.in.Exposed && (o.Meaning == bridge.Approve || o.Requires != "") {
		return bridge.Refused{Code: bridge.CodeUnsupported, Reason: texts.ReactionInTheClear}
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
		return refuse(texts.StructuredOtherID)
	}
	c := bridge.Choice{Comment: act.Comment, Input: act.Input, Subject: act.Subject, Via: bridge.ViaStructured}
	text := act.Text
	if text == nil {
		o, ok := r.item.Option(act.Option)
		if !ok {
			return bridge.Refused{Code: bridge.CodeInvalidOption, Reason: texts.NoSuchOption}
		}
		if !o.Typed {
			return r.pick(bridge.ItemChoice{Selected: []bridge.OptionID{act.Option}}, c)
		}
		text, c.Input = act.Input, nil // which is what the option stands for
	}
	if refused := r.refusesText(text); refused != nil {
		return refused
	}
	return r.pick(bridge.ItemChoice{Text: text}, c)
}

// refusesText says why a text is no answer to the step; nil when it is one. What is wrong in an early step of a set would
// otherwise be found when the last one is answered.
func (r reader) refusesText(text *string) bridge.Reading {
	switch {
	case r.item.Text == nil:
		return bridge.Refused{Code: bridge.CodeTextNotInvited, Reason: texts.TextNotInvited}
	case text == nil || bridge.Fold(*text) == "":
		return bridge.Refused{Code: bridge.CodeInputMissing, Reason: texts.EmptyText}
	case utf8.RuneCountInString(strings.TrimSpace(*text)) > r.item.Text.MaxLength:
		return bridge.Refused{Code: bridge.CodeTextTooLong, Reason: texts.TooLong(r.item.Text.MaxLength)}
	}
	return nil
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
		if !typed && o.Requires == "" && (r.q.Subject == nil || r.q.ByReply || o.Meaning == bridge.Reject) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}
