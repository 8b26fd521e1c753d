package testserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// Send sends a plain text message and returns its event id.
func (u *User) Send(ctx context.Context, roomID, text string) (string, error) {
	return u.SendEvent(ctx, roomID, "m.room.message", textContent(text))
}

// SendEvent sends an event with any content and returns its id.
func (u *User) SendEvent(ctx context.Context, roomID, eventType string, content any) (string, error) {
	id, err := u.put(ctx, roomPath(roomID, "send", eventType, rand.Text()), content)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", roomID, err)
	}
	return id, nil
}

// Reply sends a rich reply without the old quote, and returns its event id.
func (u *User) Reply(ctx context.Context, roomID, eventID, text string) (string, error) {
	return u.sendRelated(ctx, roomID, text, map[string]any{"m.in_reply_to": map[string]any{"event_id": eventID}})
}

// ThreadReply sends a message in the thread below root, and returns its event id.
func (u *User) ThreadReply(ctx context.Context, roomID, root, text string) (string, error) {
	return u.sendRelated(ctx, roomID, text, map[string]any{
		"rel_type":        "m.thread",
		"event_id":        root,
		"is_falling_back": true,
		"m.in_reply_to":   map[string]any{"event_id": root},
	})
}

func (u *User) sendRelated(ctx context.Context, roomID, text string, relation any) (string, error) {
	content := textContent(text)
	content["m.relates_to"] = relation
	return u.SendEvent(ctx, roomID, "m.room.message", content)
}

// Edit replaces the text of an own message and returns the edit's event id.
func (u *User) Edit(ctx context.Context, roomID, eventID, text string) (string, error) {
	content := textContent("* " + text)
	content["m.new_content"] = textContent(text)
	content["m.relates_to"] = map[string]any{"rel_type": "m.replace", "event_id": eventID}
	return u.SendEvent(ctx, roomID, "m.room.message", content)
}

// React reacts to an event and returns the reaction's event id.
func (u *User) React(ctx context.Context, roomID, eventID, key string) (string, error) {
	return u.SendEvent(ctx, roomID, "m.reaction", map[string]any{
		"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": eventID, "key": key},
	})
}

// Redact removes an event's content and returns the redaction's event id.
func (u *User) Redact(ctx context.Context, roomID, eventID string) (string, error) {
	id, err := u.put(ctx, roomPath(roomID, "redact", eventID, rand.Text()), struct{}{})
	if err != nil {
		return "", fmt.Errorf("redact %s: %w", eventID, err)
	}
	return id, nil
}

// Event returns one event of a room.
func (u *User) Event(ctx context.Context, roomID, eventID string) (Event, error) {
	var event Event
	if err := u.Do(ctx, Request{Path: roomPath(roomID, "event", eventID)}, &event); err != nil {
		return Event{}, fmt.Errorf("read event %s: %w", eventID, err)
	}
	return event, nil
}

// Messages returns every event of a room that this user may see, oldest first. A homeserver shows a new event here a
// moment after its send returned: to wait for one, use WaitFor.
func (u *User) Messages(ctx context.Context, roomID string) ([]Event, error) {
	return u.before(ctx, roomID, "", func(Event) bool { return false })
}

// before returns the events before a token, oldest first, back to the one that known says yes to, without it.
func (u *User) before(ctx context.Context, roomID, from string, known func(Event) bool) ([]Event, error) {
	var events []Event // newest first
	for {
		// In large pages, because Dendrite passes over events between two that stand at the same depth as the last one
		// of a page. It allows the parameter limit 100 at most, and that of the filter any number.
		query := url.Values{"dir": {"b"}, "filter": {`{"limit":10000}`}}
		if from != "" {
			query.Set("from", from)
		}
		var page struct {
			Chunk []Event
			End   string
		}
		if err := u.Do(ctx, Request{Path: roomPath(roomID, "messages"), Query: query}, &page); err != nil {
			return nil, fmt.Errorf("read messages of %s: %w", roomID, err)
		}
		reached := slices.IndexFunc(page.Chunk, known)
		if reached >= 0 {
			page.Chunk = page.Chunk[:reached]
		}
		events = append(events, page.Chunk...)
		if reached >= 0 || len(page.Chunk) == 0 || page.End == "" || page.End == from {
			slices.Reverse(events)
			return events, nil
		}
		from = page.End
	}
}

func textContent(text string) map[string]any {
	return map[string]any{"msgtype": "m.text", "body": text}
}

func (u *User) put(ctx context.Context, path string, content any) (string, error) {
	var sent struct {
		EventID string `json:"event_id"`
	}
	if err := u.Do(ctx, Request{Method: http.MethodPut, Path: path, Body: content}, &sent); err != nil {
		return "", err
	}
	return sent.EventID, nil
}
