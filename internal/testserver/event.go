package testserver

import "encoding/json"

// Event is a room event as a client sees it.
type Event struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	RoomID   string          `json:"room_id"` // absent in what /sync gives
	Sender   string          `json:"sender"`
	StateKey *string         `json:"state_key"` // nil unless a state event
	Content  json.RawMessage `json:"content"`
	Redacts  string          `json:"redacts"`          // of a redaction
	SentAt   int64           `json:"origin_server_ts"` // milliseconds since 1970
	Unsigned json.RawMessage `json:"unsigned"`
}

// Relation is what an event says about the event it belongs to.
type Relation struct {
	Type        string `json:"rel_type"` // m.thread, io.element.thread, m.annotation, m.replace, m.reference, or empty
	EventID     string `json:"event_id"`
	Key         string `json:"key"` // of a reaction
	FallingBack bool   `json:"is_falling_back"`
	InReplyTo   struct {
		EventID string `json:"event_id"`
	} `json:"m.in_reply_to"`
}

type contentKeys struct {
	Body       string   `json:"body"`
	MsgType    string   `json:"msgtype"`
	Membership string   `json:"membership"`
	RelatesTo  Relation `json:"m.relates_to"`
	NewContent *struct {
		Body string `json:"body"`
	} `json:"m.new_content"`
}

// keys reads what of the content is well formed; the rest stays empty.
func (e Event) keys() contentKeys {
	var keys contentKeys
	_ = json.Unmarshal(e.Content, &keys)
	return keys
}

// Body is the message's text, or empty.
func (e Event) Body() string { return e.keys().Body }

// MsgType is the message's kind, like m.text or m.notice, or empty.
func (e Event) MsgType() string { return e.keys().MsgType }

// Membership is what a membership event sets, or empty.
func (e Event) Membership() string { return e.keys().Membership }

// Relation is what the event says about the event it belongs to; zero if nothing.
func (e Event) Relation() Relation { return e.keys().RelatesTo }

// NewBody is the text an edit puts in place of the old one, or empty.
func (e Event) NewBody() string {
	if content := e.keys().NewContent; content != nil {
		return content.Body
	}
	return ""
}

// Field returns the value at a path of keys in the content, as encoding/json decodes it, or nil.
func (e Event) Field(path ...string) any {
	var value any
	_ = json.Unmarshal(e.Content, &value)
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// Decode decodes the content into into.
func (e Event) Decode(into any) error { return json.Unmarshal(e.Content, into) }
