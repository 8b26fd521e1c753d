package matrix

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// waiting is one person who chose an option and has yet to type what it needs. It is no step: nobody else's answer waits
// for it, and it ends with the step.
type waiting struct {
	Option   bridge.OptionID        `json:"option"`
	Chosen   bridge.InteractionID   `json:"chosen"`             // what they did to choose it
	Original bridge.InteractionID   `json:"original,omitempty"` // the message that this corrected, if it was an edit
	Typed    []bridge.InteractionID `json:"typed,omitempty"`    // what gave the texts below, when they were asked for
	Input    *string                `json:"input,omitempty"`
	Comment  *string                `json:"comment,omitempty"`
}

// patience is how long a prompt waits for its text. After that, what the person writes is read like anybody's.
const patience = 15 * time.Minute

// The codes that only the channel gives.
const (
	codeInputTooLong  bridge.Code = "input_too_long"  // of what they were asked to type: told whatever they were told before
	codeInputOrOption bridge.Code = "input_or_option" // it could be what they were asked to type, or another choice
	codeInputOver     bridge.Code = "input_over"      // nothing waits for what they typed
)

// about is what the person is asked because of: the last thing that they did for it.
func (w waiting) about() bridge.InteractionID {
	if n := len(w.Typed); n > 0 {
		return w.Typed[n-1]
	}
	return w.Chosen
}

// because says whether the person waits because of something they did.
func (w waiting) because(of bridge.InteractionID) bool {
	return of != "" && (of == w.Chosen || of == w.Original) || slices.Contains(w.Typed, of)
}

// need is which text an option still needs; it is part of the keys that prompts are sent under.
type need string

const (
	needsNothing need = ""
	needsInput   need = "input"
	needsComment need = "comment"
)

// needs gives what is to be typed next for the option: first its input, then a comment.
func (w waiting) needs(o bridge.Option) need {
	switch {
	case o.Input != nil && o.Input.Required && w.Input == nil:
		return needsInput
	case o.NeedsComment && w.Comment == nil:
		return needsComment
	}
	return needsNothing
}

// take adds a text to what was typed for the option: what is needed next, or what may be given beside that.
func (w *waiting) take(o bridge.Option, text string) error {
	text = strings.TrimSpace(text)
	n := w.needs(o)
	switch blank := bridge.Fold(text) == ""; {
	case n == needsComment && blank:
		return &bridge.Error{Code: bridge.CodeCommentMissing, Reason: texts.CommentMissing}
	case blank:
		return &bridge.Error{Code: bridge.CodeInputMissing, Reason: texts.InputMissing}
	case n == needsComment && utf8.RuneCountInString(text) > bridge.MaxComment:
		return &bridge.Error{Code: bridge.CodeTextTooLong, Reason: texts.TooLong(bridge.MaxComment)}
	case n == needsComment, o.Input == nil:
		w.Comment = &text
		return nil
	}
	if err := o.Input.Accepts(&text); err != nil {
		return err
	}
	w.Input = &text
	return nil
}

// waits gives what the sender was asked to type on this step and the prompt, which is empty until it is posted; ok is
// false when nothing is waited for any more.
func (r reader) waits() (w waiting, o bridge.Option, prompt bridge.Aside, ok bool) {
	w, ok = r.progress.Waiting[r.in.Sender]
	if !ok {
		return w, o, prompt, false
	}
	prompt, posted := r.p.Aside(r.in.Sender, w.about())
	if o, ok = r.item.Option(w.Option); !ok || w.needs(o) == needsNothing {
		return w, o, prompt, false
	}
	return w, o, prompt, !posted || !r.in.SentAt.After(prompt.PostedAt.Add(patience))
}

// prompted reads what somebody says who was asked to type something, or who replies to such a request; nil for what is
// read like anybody's words. found is what the text names of the options.
func (r reader) prompted(act bridge.Said, found bridge.Matched) bridge.Reading {
	w, o, prompt, waits := r.waits()
	to, toAside := r.p.AsideOf(act.ReplyTo)
	if toAside && to.To == r.in.Sender {
		if !waits || to.ID != prompt.ID {
			return bridge.Refused{Code: codeInputOver, Reason: texts.NothingAsked}
		}
		return r.typedFor(w, o, act)
	}
	_, none := found.(bridge.NoMatch)
	switch {
	case !waits:
		return nil
	case none && strings.TrimSuffix(bridge.Fold(act.Text), ".") == "cancel":
		return bridge.Partial{Progress: r.progress.with(r.in.Sender, nil).encode(), Quiet: true, Choice: r.partly(o, w)}
	case act.Corrects != "" && slices.Contains(w.Typed, act.Corrects):
		return bridge.Ignored{} // a text that was taken stands
	case toAside, act.Thread == "" && act.ReplyTo == "", !r.in.After(prompt.Message):
		return nil
	}
	if m, ok := found.(bridge.OneMatch); ok && m.Rest != nil {
		if r.item.Options[m.Index].ID == o.ID {
			return r.typedFor(w, o, bridge.Said{Text: *m.Rest})
		}
		return nil
	}
	if r.isChoice(act.Text, found) {
		return bridge.Refused{Code: codeInputOrOption, Reason: texts.InputOrOption(r.number(o))}
	}
	return r.typedFor(w, o, act)
}

// isChoice says whether a text that a person was asked for could be a choice as well. A number that no option has is none.
func (r reader) isChoice(text string, found bridge.Matched) bool {
	switch found.(type) {
	case bridge.OneMatch, bridge.Ambiguous:
		return true
	case bridge.OutOfRange:
		return false
	}
	if r.q.Dismissible && bridge.Fold(text) == "dismiss" {
		return true
	}
	_, list := r.several(text).(bridge.Ignored)
	return r.item.Multiple && !list
}

// typedFor takes what somebody was asked to type. What it cannot be is said, and still waited for.
func (r reader) typedFor(w waiting, o bridge.Option, act bridge.Said) bridge.Reading {
	if act.NotText {
		return bridge.Refused{Code: bridge.CodeInputInvalid, Reason: texts.OnlyText}
	}
	w.Typed = append(slices.Clone(w.Typed), r.in.ID)
	if err := w.take(o, act.Text); err != nil {
		refused := refusedBy(err)
		if refused.Code == bridge.CodeTextTooLong {
			refused.Code = codeInputTooLong
		}
		return refused
	}
	return r.chosen(o, w, bridge.ViaReply)
}

// chosen answers the step with an option, or waits for what is still to be typed for it.
func (r reader) chosen(o bridge.Option, w waiting, via bridge.Via) bridge.Reading {
	if w.needs(o) != needsNothing {
		c := r.partly(o, w)
		c.Via = via
		return bridge.Partial{Progress: r.progress.with(r.in.Sender, &w).encode(), Quiet: true, Choice: c}
	}
	if o.Typed {
		return r.pick(bridge.ItemChoice{Text: w.Input}, bridge.Choice{Via: via})
	}
	c := bridge.Choice{Input: w.Input, Comment: w.Comment, Via: via}
	return r.pick(bridge.ItemChoice{Selected: []bridge.OptionID{o.ID}}, c)
}

// partly is what was chosen so far by somebody who has to type something.
func (r reader) partly(o bridge.Option, w waiting) bridge.Choice {
	item := bridge.ItemChoice{Header: r.item.Header, Selected: []bridge.OptionID{o.ID}}
	return bridge.Choice{Items: append(slices.Clone(r.progress.Picks), item), Input: w.Input, Comment: w.Comment, Via: bridge.ViaReply}
}

// withdrew takes somebody back to the options who redacted what they chose or typed.
func (r reader) withdrew(act bridge.Withdrew) bridge.Reading {
	for who, w := range r.progress.Waiting {
		if w.because(bridge.InteractionID(act.Original)) {
			return bridge.Partial{Progress: r.progress.with(who, nil).encode(), Quiet: true}
		}
	}
	return bridge.Ignored{}
}

// number is how an option is printed, from 1.
func (r reader) number(o bridge.Option) int {
	return 1 + slices.IndexFunc(r.item.Options, func(other bridge.Option) bool { return other.ID == o.ID })
}

func refusedBy(err error) bridge.Refused {
	var shown *bridge.Error
	if errors.As(err, &shown) {
		return bridge.Refused{Code: shown.Code, Reason: shown.Reason}
	}
	return bridge.Refused{Code: bridge.CodeInputInvalid, Reason: err.Error()}
}
