// Package webhook tells endpoints how questions ended: it stores the exact bytes to send in the transaction that settles
// a question, and posts them afterwards, signed as Standard Webhooks says, until each endpoint has taken them or is given
// up. Its events are those of The Question Protocol 1.1, section 7, "Outgoing-webhook event".
package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
)

// Endpoint is one receiver, as the operator configured it.
type Endpoint struct {
	Name    string
	Rooms   []string // codes, room ids or aliases; EveryRoom for all
	URL     string
	Secrets []string // "whsec_" and a key in Base64; each event is signed with all of them
	Events  []string // the exact names of the events it wants; empty for those that tell how questions end
}

// EveryRoom in [Endpoint.Rooms] stands for all of them.
const EveryRoom = "*"

// Place is what a conversation is called.
type Place struct {
	Names []string // what an endpoint may name it by: its id, its codes, its aliases
	Name  string   // for people; "" when it has none
	Code  string   // from the configuration; "" when it has none
}

// Rooms knows what conversations are called.
type Rooms interface {
	// Place asks nobody outside: it is called inside the transaction that settles a question.
	Place(ctx context.Context, conv bridge.ConversationID) (Place, error)
}

// Deliveries keeps what is owed.
type Deliveries interface {
	// AddDeliveries stores deliveries as pending, in the transaction of ctx. An id that is known is an error.
	AddDeliveries(ctx context.Context, deliveries ...bridge.WebhookDelivery) error
}

// Feature owes every settled question to the endpoints that want it. It implements [bridge.Feature].
type Feature struct {
	Endpoints []Endpoint
	Rooms     Rooms
	Store     Deliveries
	Clock     bridge.Clock
}

// Settling implements [bridge.Feature].
func (f *Feature) Settling(ctx context.Context, q bridge.Question) error {
	place, err := f.place(ctx, q.Conversation)
	if err != nil {
		return err
	}
	event := dialect.ToWebhookEvent(q, roomOf(place))
	var owed []bridge.WebhookDelivery
	var body []byte
	for _, e := range f.Endpoints {
		if !e.wants(event.Event, place) {
			continue
		}
		if body == nil {
			if body, err = json.Marshal(event); err != nil {
				return fmt.Errorf("encode a webhook event: %w", err)
			}
		}
		owed = append(owed, bridge.WebhookDelivery{
			ID: deliveryID(string(q.ID), e.Name), Endpoint: e.Name, Question: q.ID, Event: event.Event, Body: body, CreatedAt: f.Clock.Now(),
		})
	}
	if len(owed) == 0 {
		return nil
	}
	return f.Store.AddDeliveries(ctx, owed...)
}

// ended are the events of the document, which tell how questions end.
var ended = map[string]bool{"question.answered": true, "question.expired": true, "question.cancelled": true}

func (e Endpoint) wants(event string, p Place) bool {
	if len(e.Events) == 0 && !ended[event] || len(e.Events) > 0 && !slices.Contains(e.Events, event) {
		return false
	}
	return slices.ContainsFunc(e.Rooms, func(room string) bool { return room == EveryRoom || slices.Contains(p.Names, room) })
}

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// deliveryID is made of what it is for, since a question settles once: a transaction that is run again owes the same.
func deliveryID(about, endpoint string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{about, endpoint}, "\x00")))
	return "msg_" + base32Lower.EncodeToString(sum[:16])
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
