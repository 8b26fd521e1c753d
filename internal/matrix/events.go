package matrix

import (
	"encoding/json"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/schema"
)

// The suite event types of messages that are ours to read or write, and our keys in the content of what we send.
const (
	answerType = "dev.superpipeline.question.answer.v2"
	outcomeKey = "dev.superpipeline.question.outcome"
	sendKey    = "dev.superpipeline.question.send"
)

// event is a pushed event, decoded as far as every event can be.
type event struct {
	envelope
	SentAt   time.Time
	Content  object // never nil
	unsigned object
	seal     *seal // of an event that came encrypted, once it is opened; nil for one in clear
}

// decodeEvent reads an event. ok is false for what is no event at all; the content may still be anything.
func decodeEvent(raw json.RawMessage) (e event, ok bool) {
	outside, ok := readEnvelope(raw)
	if !ok {
		return event{envelope: outside}, false
	}
	e = event{envelope: outside, Content: readObject(outside.RawContent), unsigned: readObject(outside.unsigned)}
	if ms, isNumber := readInteger(outside.sentAt); isNumber {
		e.SentAt = time.UnixMilli(ms).UTC()
	}
	return e, e.Content != nil
}

// pruned is true of an event whose content was redacted away before we saw it.
func (e event) pruned() bool { return len(e.Content) == 0 || e.unsigned.has("redacted_because") }

// redaction gives the event that a redaction takes away: named at the top, in newer rooms in the content. Two names
// that differ name nothing. (Field case A10.)
func (e event) redaction() (target string, ok bool) {
	inside := e.Content.string("redacts")
	switch {
	case e.Type != "m.room.redaction", e.redacts != "" && inside != "" && e.redacts != inside:
		return "", false
	case inside != "":
		return inside, true
	}
	return e.redacts, e.redacts != ""
}

// interaction reads what somebody did, if it is anything that could concern a question. Notices never do: whoever
// answers a notice builds a loop. It is pure, and no input makes it fail. Conversation-wide facts (who may, whether the
// room is encrypted) are not its business.
func (e event) interaction(bot string) (in bridge.Interaction, ok bool) {
	in = bridge.Interaction{
		ID: bridge.InteractionID(e.ID), Conversation: bridge.ConversationID(e.Room), Sender: bridge.UserID(e.Sender), SentAt: e.SentAt,
		Encrypted: e.seal != nil,
	}
	if e.StateKey != nil {
		return in, false
	}
	switch e.Type {
	case "m.room.message":
		if e.pruned() {
			return in, false
		}
		in.Act = e.message(bot)
	case "m.reaction":
		if r := readRelation(e.Content); !repeats(e.RawContent) && r.kind == annotating && r.key != "" && len(r.key) <= maxID {
			in.Act = bridge.Reacted{To: bridge.MessageID(r.target), Key: r.key}
		}
	case "m.room.redaction":
		if target, named := e.redaction(); named {
			in.Act = bridge.Withdrew{Original: bridge.MessageID(target)}
		}
	}
	return in, in.Act != nil
}

func (e event) message(bot string) bridge.Act {
	// Homeservers keep one of two equal names (Dendrite: the last). Where one passes both on, what we would read need not be
	// what people are shown, so it is no answer. (Field case C5.)
	twice := repeats(e.RawContent)
	if e.Content.string("suite_event_type") == answerType {
		return submitted(e.Content, twice)
	}
	if twice || e.Content.has("suite_event_type") || e.Content.has(outcomeKey) || e.Content.string("msgtype") == "m.notice" {
		return nil
	}
	r := readRelation(e.Content)
	switch r.kind {
	case replacing:
		return edited(e.Content, r, bot)
	case unrelated, threaded, replying:
	default:
		return nil
	}
	said := bridge.Said{ReplyTo: bridge.MessageID(r.replyTo)}
	if r.kind == threaded {
		said.Thread = bridge.MessageID(r.target)
	}
	if _, hasBody := e.Content.text("body"); !hasBody || e.Content.string("msgtype") != "m.text" {
		said.NotText = true
		return said
	}
	said.Text = spoken(e.Content, bot, r.quoted)
	return said
}

// edited reads a correction: only what the message is to say from now on counts, never the "* " body for clients that
// know no edits. (Field case A5.)
func edited(content object, r relation, bot string) bridge.Act {
	now := content.object("m.new_content")
	if now == nil || r.replyTo != "" || now.string("msgtype") != "m.text" || now.has("suite_event_type") {
		return nil
	}
	if _, hasBody := now.text("body"); !hasBody {
		return nil
	}
	return bridge.Edited{Original: bridge.InteractionID(r.target), Text: spoken(now, bot, false)}
}

// submitted reads a structured answer. What is wrong with it is said in Invalid, as long as it points at anything that
// it could be an answer to. (DESIGN, "Structured answer".)
func submitted(content object, twice bool) bridge.Act {
	r := readRelation(content)
	s := bridge.Submitted{To: bridge.MessageID(r.target)}
	if s.To == "" {
		s.To = bridge.MessageID(r.replyTo)
	}
	if s.To == "" || content.string("msgtype") == "m.notice" || r.kind == replacing || r.kind == annotating {
		return nil
	}
	wrong := func(reason string) bridge.Act {
		return bridge.Submitted{To: s.To, Invalid: reason}
	}
	if twice {
		return wrong(texts.StructuredTwice)
	}
	if r.kind != referring || r.replyTo != "" || r.quoted || content.has("m.new_content") {
		return wrong(texts.StructuredRelation)
	}
	id := content.string("elicitation_id")
	if id == "" {
		return wrong(texts.StructuredNoID)
	}
	s.ElicitationID = id
	for name, into := range map[string]**string{"text": &s.Text, "comment": &s.Comment, "input": &s.Input} {
		if !given(content, name) {
			continue
		}
		text, ok := content.text(name)
		if !ok {
			return wrong(texts.StructuredNoText(name))
		}
		*into = &text
	}
	if given(content, "option_id") {
		if s.Option = bridge.OptionID(content.string("option_id")); s.Option == "" {
			return wrong(texts.StructuredOption)
		}
	}
	if (s.Option == "") == (s.Text == nil) {
		return wrong(texts.StructuredEither)
	}
	if given(content, "subject") {
		if s.Subject = subjectRef(content.object("subject")); s.Subject == nil {
			return wrong(texts.StructuredSubject)
		}
	}
	return s
}

func given(content object, name string) bool {
	raw, ok := content[name]
	return ok && string(raw) != "null"
}

func subjectRef(o object) *bridge.SubjectRef {
	var ref bridge.SubjectRef
	for name, into := range map[string]*string{"id": &ref.ID, "digest": &ref.Digest, "schema": &ref.Schema} {
		if *into = o.string(name); *into == "" {
			return nil
		}
	}
	revision, ok := o.integer("revision")
	if !ok {
		return nil
	}
	ref.Revision = revision
	return &ref
}

// isQuestion is true of a message that carries a question.v2.
func (e event) isQuestion() bool {
	return e.Type == "m.room.message" && e.StateKey == nil && e.Content.string("suite_event_type") == schema.EventType
}
