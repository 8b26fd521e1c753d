package bridge

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge/texts"
)

// Permits says whether the person may answer the question at all, whatever they choose. The error is a *Error with
// CodeNotEligible and a reason that may be told to them.
func (q Question) Permits(who UserID, r Rights) error {
	switch {
	case r.Unreadable:
		return refusal(CodeNotEligible, texts.RoomUnreadable)
	case !r.Member:
		return refusal(CodeNotEligible, texts.NotAMember)
	case r.Machine:
		return refusal(CodeNotEligible, texts.Machine)
	case r.IsAsker:
		return refusal(CodeNotEligible, texts.OwnQuestion)
	case q.Scope == Direct && who != q.Target:
		return refusal(CodeNotEligible, texts.OnlyTarget(string(q.Target)))
	}
	return nil
}

// MaxComment bounds a comment, in code points.
const MaxComment = 4000

// Accepts says what an answer must keep, on every surface: known options, as many as the item allows, what an option asks
// to be typed, text where it is invited and no longer than allowed, and everything that [Question.Allows] says. It
// returns the answer as it will be stored, with labels and meaning; By, At, Event and Certificate are the caller's to
// fill. The error is a *Error whose reason may be told to the person; the question stays pending. Lengths are in code
// points, after trimming white space.
func (q Question) Accepts(c Choice, r Rights, now time.Time) (Answer, error) {
	if len(c.Items) != len(q.Items) {
		return Answer{}, refusal(CodeInvalidOption, texts.EveryItem)
	}
	c = q.withTyped(c)
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
	if err := q.Allows(c, r, now); err != nil {
		return Answer{}, err
	}
	var err error
	if a.Comment, a.Input, err = q.acceptsBeside(c); err != nil {
		return Answer{}, err
	}
	if option, ok := q.soleOption(c); ok {
		a.Meaning, a.Grant = option.Meaning, option.Grant
	}
	return a, nil
}

// Approves says whether the answer approves the question's subject: then there is a certificate of it.
func (q Question) Approves(a Answer) bool { return q.Subject != nil && a.Meaning == Approve }

// withTyped makes the text of an answer that chose the option which stands for one.
func (q Question) withTyped(c Choice) Choice {
	if len(q.Items) != 1 || len(c.Items[0].Selected) != 1 || c.Items[0].Text != nil || c.Input == nil {
		return c
	}
	if o, ok := q.Items[0].Option(c.Items[0].Selected[0]); ok && o.Typed {
		c.Items = []ItemChoice{{Header: c.Items[0].Header, Text: c.Input}}
		c.Input = nil
	}
	return c
}

// soleOption is the one option of a question that is neither a set nor a multiple choice; about a subject, only one can
// be chosen anyway.
func (q Question) soleOption(c Choice) (Option, bool) {
	if len(q.Items) != 1 || q.Items[0].Multiple && q.Subject == nil || len(c.Items[0].Selected) != 1 {
		return Option{}, false
	}
	return q.Items[0].Option(c.Items[0].Selected[0])
}

// chosen gives the options that the choice selects, as far as it goes and where they exist.
func (q Question) chosen(c Choice) (options []Option) {
	for i := range min(len(c.Items), len(q.Items)) {
		for _, id := range c.Items[i].Selected {
			if o, ok := q.Items[i].Option(id); ok {
				options = append(options, o)
			}
		}
	}
	return options
}

// weighty is true of a choice that approves, or that only admins may make.
func (q Question) weighty(c Choice) bool {
	return slices.ContainsFunc(q.chosen(c), func(o Option) bool { return o.Meaning == Approve || o.Requires != "" })
}

// Allows says whether the person may choose what they chose so far, which may be less than an answer: what only admins
// may choose, what the subject demands of everything that does not decline it (question.v2, "subject"; DESIGN
// "Answering a question that has a subject"), and what takes more than a weak proof of who they are. Declining needs no
// subject, and no rule about the subject blocks it.
func (q Question) Allows(c Choice, r Rights, now time.Time) error {
	options := q.chosen(c)
	for _, o := range options {
		if o.Requires != "" && !r.WorkspaceAdmin {
			return refusal(CodeAdminsOnly, texts.AdminsOnly)
		}
	}
	if err := q.allowsAbout(c, options, now); err != nil {
		return err
	}
	for _, o := range options { // last: whatever else refuses it, another way of signing in would not help
		if r.Weak && (o.Requires != "" || o.Meaning == Approve && q.Subject != nil) {
			return refusal(CodeWeakSignIn, texts.WeakSignIn(string(q.ID)))
		}
	}
	return nil
}

// allowsAbout says what the question's subject demands of the options that were chosen.
func (q Question) allowsAbout(c Choice, options []Option, now time.Time) error {
	if q.Subject != nil && len(options) > 1 {
		return refusal(CodeInvalidOption, texts.ChooseOne)
	}
	for _, o := range options {
		if o.Meaning == Approve && q.Delivery.Reason == ReasonRedacted {
			return refusal(CodeQuestionRemoved, texts.QuestionRemoved)
		}
	}
	if q.Subject == nil || len(options) == 1 && options[0].Meaning == Reject {
		return nil
	}
	if len(options) == 1 && options[0].Meaning == Approve {
		if err := q.Subject.approvable(now); err != nil {
			return err
		}
	}
	return q.bindsTo(c)
}

// approvable says whether anybody could approve the subject now.
func (s Subject) approvable(now time.Time) error {
	switch {
	case !s.Complete:
		return refusal(CodePreviewIncomplete, texts.PreviewIncomplete)
	case s.LapsesAt != nil && !now.Before(*s.LapsesAt):
		return refusal(CodeSubjectLapsed, texts.SubjectLapsed)
	}
	return nil
}

// bindsTo says whether the choice is tied to exactly the question's subject: it names all of it, or it is a reply to a
// body of ours that shows all of it.
func (q Question) bindsTo(c Choice) error {
	prose := c.Via == ViaReply || c.Via == ViaReaction
	switch {
	case prose && !q.ByReply:
		return refusal(CodeNotByReply, texts.NotByReply(string(q.ID)))
	case prose:
		return nil
	case c.Subject == nil:
		return refusal(CodeSubjectMismatch, texts.SubjectMissing)
	case *c.Subject != q.Subject.SubjectRef:
		return refusal(CodeSubjectMismatch, texts.SubjectMismatch)
	}
	return nil
}

// acceptsBeside checks the comment and the input that stand beside an option.
func (q Question) acceptsBeside(c Choice) (comment, input *string, err error) {
	comment, input = trimmed(c.Comment), trimmed(c.Input)
	options := q.chosen(c)
	if comment != nil && utf8.RuneCountInString(*comment) > MaxComment {
		return nil, nil, refusal(CodeTextTooLong, texts.TooLong(MaxComment))
	}
	if comment == nil && slices.ContainsFunc(options, func(o Option) bool { return o.NeedsComment }) {
		return nil, nil, refusal(CodeCommentMissing, texts.CommentMissing)
	}
	takes := slices.IndexFunc(options, func(o Option) bool { return o.Input != nil })
	switch {
	case takes < 0 && input != nil:
		return nil, nil, refusal(CodeInputNotInvited, texts.InputNotInvited)
	case takes < 0:
		return comment, nil, nil
	case len(options) > 1:
		return nil, nil, refusal(CodeInvalidOption, texts.ChooseAlone)
	}
	return comment, input, options[takes].Input.Accepts(input)
}

// trimmed is the text without white space around it; nil for nothing.
func trimmed(text *string) *string {
	if text == nil {
		return nil
	}
	t := strings.TrimSpace(*text)
	if t == "" {
		return nil
	}
	return &t
}

// Accepts says whether the trimmed text, or nil for none, is what the input asks for. The error is a *Error.
func (in Input) Accepts(text *string) error {
	switch {
	case text == nil && in.Required:
		return refusal(CodeInputMissing, texts.InputMissing)
	case text == nil:
		return nil
	case utf8.RuneCountInString(*text) > in.MaxLength:
		return refusal(CodeTextTooLong, texts.TooLong(in.MaxLength))
	case in.Kind == InputURL && !isWebAddress(*text):
		return refusal(CodeInputInvalid, texts.NoWebAddress)
	}
	return nil
}

// isWebAddress is true of an absolute http or https URL that names a host and has nothing in it that only looks like
// part of one.
func isWebAddress(text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"\\^`{|}", r) }) || Fold(text) == "" {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == ""
}

// NeedsTyped says whether choosing the option takes something typed that is not there yet.
func (o Option) NeedsTyped(c Choice) bool {
	return o.NeedsComment && trimmed(c.Comment) == nil || o.Input != nil && o.Input.Required && trimmed(c.Input) == nil
}

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
			return c, nil, refusal(CodeInvalidOption, texts.OptionOrText)
		}
		text, err := i.acceptsText(*c.Text)
		return ItemChoice{Text: &text}, nil, err
	}
	if len(c.Selected) == 0 || len(c.Selected) > 1 && !i.Multiple {
		return c, nil, refusal(CodeInvalidOption, texts.ChooseOne)
	}
	var labels []string
	seen := map[OptionID]bool{}
	for _, id := range c.Selected {
		o, ok := i.Option(id)
		if !ok {
			return c, nil, refusal(CodeInvalidOption, texts.NoSuchOption)
		}
		if seen[id] {
			return c, nil, refusal(CodeInvalidOption, texts.OptionOnce)
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
		return "", refusal(CodeTextNotInvited, texts.TextNotInvited)
	case text == "":
		return "", refusal(CodeInputMissing, texts.EmptyText)
	case utf8.RuneCountInString(text) > i.Text.MaxLength:
		return "", refusal(CodeTextTooLong, texts.TooLong(i.Text.MaxLength))
	}
	return text, nil
}
