package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// Announce owes an announcement to the endpoints that name its event, in the transaction of ctx: the caller stores what
// it is about in the same one. Endpoints that name no events get those of the document alone.
func (f *Feature) Announce(ctx context.Context, a bridge.Announcement) error {
	place, err := f.place(ctx, a.Conversation)
	if err != nil {
		return err
	}
	var owed []bridge.WebhookDelivery
	for _, e := range f.Endpoints {
		if !e.wants(a.Event, place) {
			continue
		}
		body, err := announced(a, roomOf(place))
		if err != nil {
			return err
		}
		owed = append(owed, bridge.WebhookDelivery{
			ID: deliveryID(a.Event+" "+a.Key, e.Name), Endpoint: e.Name, Question: a.Question, Event: a.Event, Body: body, CreatedAt: f.Clock.Now(),
		})
	}
	if len(owed) == 0 {
		return nil
	}
	return f.Store.AddDeliveries(ctx, owed...)
}

// announced is the body: what the announcement says, within the frame that every event has.
func announced(a bridge.Announcement, room schema.WebhookRoom) ([]byte, error) {
	body := map[string]any{}
	for name, value := range a.Body {
		body[name] = value
	}
	body["event"], body["room"], body["timestamp"] = a.Event, room, a.At.UTC().Format("2006-01-02T15:04:05Z")
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a webhook event: %w", err)
	}
	return raw, nil
}

// place names a conversation; what happened in none has no names, and is for endpoints of every room.
func (f *Feature) place(ctx context.Context, conv bridge.ConversationID) (Place, error) {
	if conv == "" {
		return Place{}, nil
	}
	place, err := f.Rooms.Place(ctx, conv)
	if err != nil {
		return Place{}, fmt.Errorf("name the room for webhooks: %w", err)
	}
	return place, nil
}

func roomOf(p Place) schema.WebhookRoom {
	return schema.WebhookRoom{Name: orNil(p.Name), Code: orNil(p.Code)}
}
