package app

import (
	"fmt"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// soakKey is a property of everything that people send: which question it is about, and what it means. By this, and not
// by the bridge's reading, it is known what somebody said.
const soakKey = "question.test.soak"

// watch follows a room and lets people act on what they see in it.
func (c *chapter) watch(room string, w watch) {
	for c.watching.Err() == nil {
		e, err := w.Next(c.watching, func(e testserver.Event) bool { return e.Sender == bot && e.Type == "m.room.message" })
		if err != nil { // the homeserver is away
			c.rest(100 * time.Millisecond)
			continue
		}
		switch {
		case isQuestion(e):
			if a := c.byNumber(questionNumber(e.Field("question"))); a != nil && a.plan.room == room {
				a.seen.Do(func() { c.crowd.Go(func() { c.actOn(a, e) }) })
			}
		case e.Field(outcomeField) != nil:
			if a := c.byMessage(e.Relation().EventID); a != nil && a.plan.late != nil {
				a.over.Do(func() { c.crowd.Go(func() { c.act(a, *a.plan.late, e.Relation().EventID) }) })
			}
		}
	}
}

const outcomeField = "dev.superpipeline.question.outcome"

func isQuestion(e testserver.Event) bool {
	return e.Sender == bot && e.Field("suite_event_type") != nil && e.Relation().Type != "m.replace"
}

// questionNumber reads the number out of a prompt; 0 for what is none.
func questionNumber(prompt any) (n int) {
	text, _ := prompt.(string)
	_, _ = fmt.Sscanf(text, "Question %d:", &n)
	return n
}

func (c *chapter) actOn(a *asked, e testserver.Event) {
	c.mu.Lock()
	a.message = e.ID
	a.elicitation, _ = e.Field("elicitation_id").(string)
	c.mu.Unlock()
	for _, act := range a.plan.acts {
		c.crowd.Go(func() { c.act(a, act, e.ID) })
	}
}

// act does one thing about a question, whose event is message.
func (c *chapter) act(a *asked, what act, message string) {
	c.rest(what.pause)
	mark := map[string]any{"ask": a.plan.number, "means": a.plan.means(what, c.s.hub), "by": string(what.kind)}
	number := fmt.Sprint(what.option + 1)
	thread := map[string]any{
		"rel_type": "m.thread", "event_id": message, "is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": message},
	}
	say := func(body string, relation any, more ...any) string {
		content := map[string]any{"msgtype": "m.text", "body": body, soakKey: mark}
		if relation != nil {
			content["m.relates_to"] = relation
		}
		for i := 0; i < len(more); i += 2 {
			content[more[i].(string)] = more[i+1]
		}
		return c.send(what.by, a.plan.room, "m.room.message", content)
	}
	switch what.kind {
	case byNumber:
		say(number, thread)
	case byLabel:
		say(strings.ToUpper(label(a.plan.options[what.option])), map[string]any{"m.in_reply_to": map[string]any{"event_id": message}})
	case byReaction:
		c.send(what.by, a.plan.room, "m.reaction", map[string]any{soakKey: mark, "m.relates_to": map[string]any{
			"rel_type": "m.annotation", "event_id": message, "key": number + "\ufe0f\u20e3",
		}})
	case byEvent:
		say("My answer", map[string]any{"rel_type": "m.reference", "event_id": message},
			"suite_event_type", "dev.superpipeline.question.answer.v2", "elicitation_id", a.elicitation, "option_id", a.plan.options[what.option])
	case byEdit:
		means := mark["means"]
		mark["means"] = ""
		slip := say("hm, let me see", thread)
		mark["means"] = means
		say("* "+number, map[string]any{"rel_type": "m.replace", "event_id": slip},
			"m.new_content", map[string]any{"msgtype": "m.text", "body": number})
	case talk:
		say("I think we did that yesterday, all 2 of us", thread)
	case elsewhere:
		say(number, nil)
	case outOfRange:
		say("9", thread)
	}
}

// send sends until it gets through, as people do: what the homeserver took without saying so stands there twice then.
func (c *chapter) send(u *testserver.User, room, kind string, content map[string]any) string {
	for c.ctx.Err() == nil {
		if id, err := c.s.voices[u.ID].say(c.ctx, room, kind, content); err == nil {
			return id
		}
		c.rest(100 * time.Millisecond)
	}
	return ""
}

// rest lets some time pass, unless the chapter ends.
func (c *chapter) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}
