package schema

import "strings"

// SettledBody renders the body of a question that is over, as text and as HTML: the outcome, which stands out, then who
// asked, the question and its options as they were listed. It has neither the preview nor a word about how to answer.
func (e *Elicitation) SettledBody(outcome string) (text, html string) {
	blocks := []block{prose{{text: shownText(outcome), kind: strong}}, e.pastHead()}
	return render(append(blocks, e.questionBlocks()...))
}

// pastHead is the first paragraph of the body, told of a question that nobody waits for any more.
func (e *Elicitation) pastHead() block {
	switch {
	case e.IsApprovalRequest():
		return approvalHead("was waiting")
	case e.isRoomQuestion():
		return e.roomHead("asked")
	default:
		return e.cardHead("was waiting")
	}
}

// Sentence renders text of ours, with what people wrote inside, as a body of one paragraph.
func Sentence(s string) (text, html string) {
	return render([]block{prose{{text: shownText(s)}}})
}

// ShownLine makes outside text fit to stand within a line: nothing in it breaks the line, hides, or turns the text
// around it.
func ShownLine(s string) string { return shownLine(s) }

func render(blocks []block) (text, html string) {
	var paragraphs []string
	var out strings.Builder
	for _, b := range blocks {
		paragraphs = append(paragraphs, textOf(b))
		writeHTML(&out, b)
	}
	return strings.Join(paragraphs, "\n\n"), out.String()
}
