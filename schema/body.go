package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// The fallback body is built once as blocks and then written as text or as HTML, so the two cannot say different
// things. Everything in a block that came from outside has been through shownLine or shownText.
type block interface{ isBlock() }

// prose is one paragraph.
type prose []span

type span struct {
	text string
	kind spanKind
	href string // for a link
}

type spanKind int

const (
	plain spanKind = iota
	code
	link
	strong // in HTML alone
)

// numbered is the list of options, one line each.
type numbered []Listed

// named is one preview field, or a link, whose target is shown and not linked.
type named struct{ label, value string }

// fenced is one preview text, printed as it is.
type fenced struct{ label, text string }

func (prose) isBlock()    {}
func (numbered) isBlock() {}
func (named) isBlock()    {}
func (fenced) isBlock()   {}

// Listed is an option as the body prints it.
type Listed struct {
	Number int    // from 1, in the order of the options; a number left out is not given to another option
	Label  string // on one line, invisible characters made visible; the id where the label is blank
	Option Option
}

// Listed gives the options that the body prints, with their numbers. Options of meaning approve are left out while the
// subject is incomplete, because nobody may choose them.
func (e *Elicitation) Listed() []Listed {
	incomplete := e.Incomplete()
	var out []Listed
	for i, o := range e.Options {
		if incomplete && o.Meaning == Approve {
			continue
		}
		out = append(out, Listed{Number: i + 1, Label: shownLine(o.Name()), Option: o})
	}
	return out
}

func (e *Elicitation) blocks() []block {
	switch {
	case e.IsApprovalRequest():
		return e.approvalBlocks()
	case e.isRoomQuestion():
		return e.roomBlocks()
	default:
		return e.cardBlocks()
	}
}

func (e *Elicitation) isRoomQuestion() bool { return e.BoardID == "" && e.ApprovalRequestID == "" }

const (
	declineCard       = "This approves an exact operation. Approve it in an updated app, which shows what it does, or on the board. A reply here can only decline it."
	incomplete        = "The preview is incomplete, so this cannot be approved here."
	declineIncomplete = incomplete + " A reply here can only decline it."
	denyRequest       = "Only workspace owners and admins can allow this. Allow it in an updated app, which shows exactly what it does. A reply here can only deny it."
	approveCard       = "This approves an exact operation, and all of it is shown above: "
	allowRequest      = "Only workspace owners and admins can allow this, and all of it is shown above: "
	denyIncomplete    = incomplete + " A reply here can only deny it."
)

// cardBlocks is the body of a question that stands on a board.
func (e *Elicitation) cardBlocks() []block {
	blocks := append([]block{e.cardHead("is waiting")}, e.askedBlocks()...)
	closing := "Reply with the number, or the option's name."
	if len(e.Listed()) == 0 {
		closing = "Answer this one on the board."
	}
	blocks = append(blocks, e.withLink(closing))
	return append(blocks, e.subjectBlocks()...)
}

func (e *Elicitation) cardHead(waits string) prose {
	head := prose{{text: "An agent " + waits + " on you"}}
	if !isBlank(e.CardTitle) {
		head = append(head, span{text: ` — "` + shownLine(e.CardTitle) + `"`})
	}
	if !isBlank(e.StageKey) {
		head = append(head, span{text: " at stage "}, span{text: shownLine(e.StageKey), kind: code})
	}
	return append(head, span{text: "."})
}

// approvalBlocks is the body of an approval request, which prints the preview and links nowhere.
func (e *Elicitation) approvalBlocks() []block {
	blocks := []block{approvalHead("is waiting")}
	blocks = append(blocks, e.promptBlocks()...)
	blocks = append(blocks, e.previewBlocks()...)
	blocks = append(blocks, e.optionBlocks()...)
	if e.ShowsSubject() {
		return append(blocks, e.approvable(allowRequest, "allow or deny"))
	}
	return append(blocks, e.closing(denyRequest, denyIncomplete))
}

func approvalHead(waits string) prose {
	return prose{{text: "A SuperToolkit approval request " + waits + " on a workspace owner or admin."}}
}

// roomBlocks is the body of a question that has neither board nor approval request: one built from the core protocol,
// or one whose sender has no board. It can be answered in the thread.
func (e *Elicitation) roomBlocks() []block {
	blocks := append([]block{e.roomHead("asks")}, e.askedBlocks()...)
	switch {
	case len(e.Listed()) > 1 && e.Multiple:
		blocks = append(blocks, e.withLink("Reply in this thread with the numbers or the names of your options, with commas between them."))
	case len(e.Listed()) > 0 && e.MaySkip:
		blocks = append(blocks, e.withLink(`Reply in this thread with the number or the option's name, or with "skip".`))
	case len(e.Listed()) > 0:
		blocks = append(blocks, e.withLink("Reply in this thread with the number or the option's name."))
	case e.FreeText != nil:
		blocks = append(blocks, e.withLink(fmt.Sprintf("Reply in this thread with your answer (up to %s).", count(e.FreeText.MaxLength, "character"))))
	}
	return append(blocks, e.subjectBlocks()...)
}

func (e *Elicitation) roomHead(asks string) prose {
	asker, whom := "An agent", "the room"
	if !isBlank(e.AskedBy) {
		asker = shownLine(e.AskedBy)
	}
	if e.ResponderScope == "direct" {
		whom = "you"
	}
	head := asker + " " + asks + " " + whom
	if !isBlank(e.CardTitle) && e.CardTitle != DefaultCardTitle {
		head += ` — "` + shownLine(e.CardTitle) + `"`
	}
	return prose{{text: head + "."}}
}

// DefaultCardTitle is the card_title of a core question that has no context; bodies do not print it.
const DefaultCardTitle = "Question"

// askedBlocks is what an open question asks, with its subject where the body shows that.
func (e *Elicitation) askedBlocks() []block {
	if !e.ShowsSubject() {
		return e.questionBlocks()
	}
	return append(append(e.promptBlocks(), e.previewBlocks()...), e.optionBlocks()...)
}

func (e *Elicitation) previewBlocks() (blocks []block) {
	if e.Subject != nil {
		for _, item := range e.Subject.Preview {
			blocks = append(blocks, item.block())
		}
	}
	return blocks
}

func (e *Elicitation) questionBlocks() []block {
	return append(e.promptBlocks(), e.optionBlocks()...)
}

func (e *Elicitation) promptBlocks() []block {
	if isBlank(e.Question) {
		return nil
	}
	return []block{prose{{text: shownText(e.Question)}}}
}

func (e *Elicitation) optionBlocks() []block {
	if listed := e.Listed(); len(listed) > 0 {
		return []block{numbered(listed)}
	}
	return nil
}

func (e *Elicitation) subjectBlocks() []block {
	switch {
	case e.Subject == nil:
		return nil
	case e.ShowsSubject():
		return []block{e.approvable(approveCard, "approve or decline")}
	}
	return []block{e.closing(declineCard, declineIncomplete)}
}

// approvable names the subject that is shown above, and says that a reply can approve it.
func (e *Elicitation) approvable(shown, verbs string) block {
	can := " A reply here can " + verbs + " it."
	if !slices.ContainsFunc(e.Options, func(o Option) bool { return o.Meaning == Approve }) {
		can = " A reply here can choose any of the options."
	}
	return prose{
		{text: shown + "subject "}, {text: shownLine(e.Subject.ID), kind: code},
		{text: fmt.Sprintf(", revision %d, digest ", e.Subject.Revision)}, {text: shownLine(e.Subject.Digest), kind: code}, {text: "." + can},
	}
}

// closing says what a reply can do about the subject; about one that is not fully shown and that no option declines,
// nothing.
func (e *Elicitation) closing(whole, partly string) block {
	switch {
	case !e.Incomplete():
		return prose{{text: whole}}
	case len(e.Listed()) == 0:
		return prose{{text: incomplete}}
	default:
		return prose{{text: partly}}
	}
}

func (e *Elicitation) withLink(sentence string) block {
	p := prose{{text: sentence}}
	if href, ok := linkTarget(e.DeepLink); ok {
		p = append(p, span{text: " "}, span{text: "Open the card", kind: link, href: href})
	}
	return p
}

func (p PreviewItem) block() block {
	label := ""
	if !isBlank(p.Label) {
		label = shownLine(p.Label)
	}
	switch p.Type {
	case "text":
		return fenced{label, shownText(p.Text)}
	case "link":
		return named{label, shownLine(p.URL)}
	default:
		return named{label, shownLine(p.Value)}
	}
}

// linkTarget makes a deep link safe to stand inside a Markdown link and an href. Only http and https links that name a
// host are used at all.
func linkTarget(deepLink string) (string, bool) {
	if !isWebAddress(deepLink) {
		return "", false
	}
	var b strings.Builder
	for _, r := range deepLink {
		if r == ' ' || strings.ContainsRune("()<>\"\\`", r) || isBreak(r) || isHidden(r) || unicode.Is(unicode.Variation_Selector, r) {
			b.WriteString(percentEncode(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String(), isWebAddress(b.String()) // its host may not bear encoding
}

func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func percentEncode(r rune) string {
	var b strings.Builder
	for _, c := range []byte(string(r)) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
