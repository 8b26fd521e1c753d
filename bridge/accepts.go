package bridge

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Permits says whether the person may answer the question at all, whatever they choose. The error is a *Error with
// CodeNotEligible and a reason that may be told to them.
func (q Question) Permits(who UserID, r Rights) error {
	switch {
	case r.Unreadable:
		return refusal(CodeNotEligible, "The room's state cannot be read right now, so nobody's rights can be checked. Please try again later.")
	case !r.Member:
		return refusal(CodeNotEligible, "Only people who have joined this room can answer.")
	case r.Machine:
		return refusal(CodeNotEligible, "Bots and relays cannot answer.")
	case r.IsAsker:
		return refusal(CodeNotEligible, "The asker cannot answer its own question.")
	case q.Scope == Direct && who != q.Target:
		return refusal(CodeNotEligible, "Only %s can answer this question.", q.Target)
	}
	return nil
}

// Accepts says what an answer must keep, on every surface: known options, as many as the item allows, text where it is
// invited and no longer than allowed. It returns the answer as it will be stored, with labels and meaning; By, At and
// Event are the caller's to fill. The error is a *Error whose reason may be told to the person; the question stays
// pending. Lengths are in code points, after trimming white space.
func (q Question) Accepts(c Choice, r Rights, now time.Time) (Answer, error) {
	if len(c.Items) != len(q.Items) {
		return Answer{}, refusal(CodeInvalidOption, "Every part of the question needs an answer.")
	}
	a := Answer{Choice: c}
	a.Choice.Items = make([]ItemChoice, len(c.Items))
	for i, item := range q.Items {
		chosen, labels, err := item.accepts(c.Items[i])
		if err != nil {
			return Answer{}, err
		}
		chosen.Header = item.Header
		a.Choice.Items[i] = chosen
		a.Labels = append(a.Labels, labels)
	}
	if option, ok := q.soleOption(c); ok {
		if err := q.allows(option, c, r, now); err != nil {
			return Answer{}, err
		}
		a.Meaning, a.Grant = option.Meaning, option.Grant
	} else if q.Subject != nil {
		return Answer{}, refusal(CodeUnsupported, "A question about an exact operation takes one of its options.")
	}
	return a, nil
}

// soleOption is the one option of a question that is neither a set nor a multiple choice.
func (q Question) soleOption(c Choice) (Option, bool) {
	if len(q.Items) != 1 || q.Items[0].Multiple || len(c.Items[0].Selected) != 1 {
		return Option{}, false
	}
	return q.Items[0].Option(c.Items[0].Selected[0])
}

// allows applies the rules that hang on what the chosen option does.
func (q Question) allows(o Option, c Choice, _ Rights, _ time.Time) error {
	switch {
	case o.Meaning == Reject && o.Requires == "" && !o.takesInput():
		return nil // rejecting always works
	case q.Subject != nil && o.Meaning != Reject:
		return refusal(CodeUnsupported, "This approves an exact operation, which cannot be answered here yet. It can only be declined here.")
	case o.Requires != "":
		return refusal(CodeUnsupported, "Only workspace owners and admins can choose this, which cannot be checked here yet.")
	case o.takesInput():
		return refusal(CodeUnsupported, "This option needs something typed, which cannot be taken here yet.")
	}
	return nil
}

func (o Option) takesInput() bool { return o.NeedsComment || (o.Input != nil && o.Input.Required) }

// Option finds an option by its id, exactly.
func (i Item) Option(id OptionID) (Option, bool) {
	for _, o := range i.Options {
		if o.ID == id {
			return o, true
		}
	}
	return Option{}, false
}

func (i Item) accepts(c ItemChoice) (ItemChoice, []string, error) {
	if c.Text != nil {
		if len(c.Selected) > 0 {
			return c, nil, refusal(CodeInvalidOption, "An answer is an option or a text, not both.")
		}
		text, err := i.acceptsText(*c.Text)
		return ItemChoice{Text: &text}, nil, err
	}
	if len(c.Selected) == 0 || len(c.Selected) > 1 && !i.Multiple {
		return c, nil, refusal(CodeInvalidOption, "Choose one option.")
	}
	var labels []string
	seen := map[OptionID]bool{}
	for _, id := range c.Selected {
		o, ok := i.Option(id)
		if !ok {
			return c, nil, refusal(CodeInvalidOption, "The question has no such option.")
		}
		if seen[id] {
			return c, nil, refusal(CodeInvalidOption, "An option can be chosen once.")
		}
		seen[id] = true
		labels = append(labels, o.Label)
	}
	return ItemChoice{Selected: c.Selected}, labels, nil
}

func (i Item) acceptsText(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case i.Text == nil:
		return "", refusal(CodeTextNotInvited, "This question is answered with one of its options.")
	case text == "":
		return "", refusal(CodeInputMissing, "The answer is empty.")
	case utf8.RuneCountInString(text) > i.Text.MaxLength:
		return "", refusal(CodeTextTooLong, "The answer is longer than %d characters.", i.Text.MaxLength)
	}
	return text, nil
}
