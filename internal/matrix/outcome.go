package matrix

import (
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/schema"
)

// outcomeOf is how a question ended, as its carrier and every other program reads it. A property that does not apply is
// null. A set or a multiple choice has items besides.
func outcomeOf(q bridge.Question, p bridge.Posting) map[string]any {
	o := map[string]any{
		"elicitation_id": q.ElicitationID, "question_event_id": string(p.Messages[0].ID), "board_id": readObject(q.Content).string("board_id"),
		"state": string(q.State), "option_id": nil, "text": nil, "comment": nil, "input": nil,
		"answer_event_id": nil, "decided_by": nil, "decided_at": nil, "reason": nil,
	}
	if q.SettledAt != nil {
		o["decided_at"] = q.SettledAt.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	switch {
	case q.Reason != "":
		o["reason"] = q.Reason
	case q.CancelledBy != "":
		o["reason"] = "cancelled_by_" + string(q.CancelledBy)
	}
	if q.DismissedBy != "" {
		o["decided_by"] = string(q.DismissedBy)
	}
	a := q.Answer
	if a == nil {
		return o
	}
	o["decided_by"], o["comment"], o["input"] = string(a.By.ID), optional(a.Comment), optional(a.Input)
	o["decided_at"] = a.At.UTC().Format("2006-01-02T15:04:05.000Z")
	if a.Event != "" {
		o["answer_event_id"] = string(a.Event)
	}
	if len(a.Items) == 1 && !q.Items[0].Multiple {
		o["text"] = optional(a.Items[0].Text)
		if len(a.Items[0].Selected) == 1 {
			o["option_id"] = string(a.Items[0].Selected[0])
		}
		return o
	}
	var items []map[string]any
	for _, item := range a.Items {
		selected := []string{}
		for _, id := range item.Selected {
			selected = append(selected, string(id))
		}
		items = append(items, map[string]any{"header": item.Header, "selected": selected, "text": optional(item.Text)})
	}
	o["items"] = items
	return o
}

func optional(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// shownText is how much of a typed answer a notice repeats, in characters. The outcome has all of it.
const shownText = 300

// outcomeSentence says to people how a question ended; who is how its responder is named to them.
func outcomeSentence(q bridge.Question, who string) string {
	switch {
	case q.Answer != nil:
		return texts.Answered(answerText(q), who)
	case q.State == bridge.Expired:
		return texts.Expired
	case q.Rationed && rationedEnds[q.Reason] != "":
		return rationedEnds[q.Reason]
	case q.CancelledBy == bridge.ByResponder:
		return texts.Dismissed
	case q.CancelledBy == bridge.Superseded:
		return texts.Superseded
	case q.Reason == bridge.ReasonEdited:
		return texts.Edited
	}
	return texts.Withdrawn
}

// rationedEnds says why a question of the Question Queue was cancelled.
var rationedEnds = map[string]string{
	bridge.ReasonCooled: texts.Cooled, bridge.ReasonElsewhere: texts.Elsewhere, bridge.ReasonIgnored: texts.Ignored, bridge.ReasonGone: texts.Gone,
}

// lateSentence tells somebody who comes too late how the question ended.
func lateSentence(q bridge.Question, who string) string {
	if q.Answer != nil {
		return texts.AlreadyAnswered(answerText(q), who)
	}
	return outcomeSentence(q, who)
}

// responderName is how people in the room are told who answered.
func responderName(v view, q bridge.Question) string {
	if q.Answer == nil {
		return ""
	}
	return v.shortName(q.Answer.By)
}

func answerText(q bridge.Question) string {
	var parts []string
	for i, item := range q.Answer.Items {
		part := ""
		switch {
		case item.Text != nil:
			part = "“" + clipped(*item.Text) + "”"
		case i < len(q.Answer.Labels):
			var labels []string
			for _, l := range q.Answer.Labels[i] {
				labels = append(labels, schema.ShownLine(l))
			}
			part = strings.Join(labels, ", ")
		}
		if len(q.Answer.Items) > 1 && item.Header != "" {
			part = schema.ShownLine(item.Header) + ": " + part
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, "; ")
	for _, more := range []*string{q.Answer.Input, q.Answer.Comment} {
		if more != nil {
			text += " — “" + clipped(*more) + "”"
		}
	}
	return text
}

func clipped(s string) string {
	s = schema.ShownLine(s)
	if runes := []rune(s); len(runes) > shownText {
		return string(runes[:shownText]) + "…"
	}
	return s
}
