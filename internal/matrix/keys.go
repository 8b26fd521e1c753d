package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// keysLane is where messages between devices wait in the inbox: in order, apart from every room.
const keysLane bridge.ConversationID = "keys"

// keyKind is the kind of one-time keys that we have.
const keyKind = "signed_curve25519"

// keepKeys takes what concerns encryption: it is stored, and then seen to.
func (s *Service) keepKeys(ctx context.Context, engine Engine, news deviceNews) error {
	if err := s.storeKeys(ctx, news); err != nil {
		return err
	}
	return s.heedKeys(ctx, engine, news)
}

// storeKeys stores whose devices changed, before what those say.
func (s *Service) storeKeys(ctx context.Context, news deviceNews) error {
	if err := s.cipher.outdated(ctx, news.DeviceLists.Changed); err != nil {
		return err
	}
	if batch := s.deviceMessages(news.ToDevice.Events); len(batch) > 0 {
		added, err := s.store.StoreEvents(ctx, batch)
		if err != nil {
			return err
		}
		if added > 0 {
			s.arrived()
		}
	}
	return nil
}

// heedKeys keeps enough one-time keys on the homeserver, and looks again at what waits for somebody's device.
func (s *Service) heedKeys(ctx context.Context, engine Engine, news deviceNews) error {
	if count, told := news.KeyCounts[keyKind]; told {
		if err := s.cipher.supply(ctx, count); err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not upload one-time keys") // the next answer says it again
		}
	}
	for _, who := range news.DeviceLists.Changed { // somebody may be able to read now
		rooms, err := s.store.RoomsOf(ctx, who)
		if err != nil {
			return err
		}
		for _, room := range rooms {
			if err := engine.Changed(ctx, room); err != nil {
				return err
			}
		}
	}
	return nil
}

// deviceMessages makes inbox rows of messages between devices. They have no id; one that comes twice, by sync and pushed,
// has the same content.
func (s *Service) deviceMessages(messages []json.RawMessage) (batch []bridge.Incoming) {
	for _, raw := range messages {
		o := readObject(raw)
		if o == nil || len(raw) > maxDeviceMessage {
			continue
		}
		content, err := schema.CanonicalJSON(o.object("content"))
		if err != nil {
			continue
		}
		sum := sha256.Sum256([]byte(o.string("sender") + "\n" + o.string("type") + "\n" + string(content)))
		batch = append(batch, bridge.Incoming{
			InboxEvent: bridge.InboxEvent{
				ID: bridge.InteractionID("key:" + hex.EncodeToString(sum[:])), Conversation: keysLane, ReceivedAt: s.clock.Now(), Raw: raw,
			},
			Always: true,
		})
	}
	return batch
}

// maxDeviceMessage is what homeservers allow, in bytes.
const maxDeviceMessage = 65536

// key takes one message between devices; what waited for a key in it is handled again.
func (w *worker) key(ctx context.Context, ev bridge.InboxEvent) error {
	if w.s.cipher == nil {
		return w.s.store.FinishInteraction(ctx, ev.ID)
	}
	sessions, err := w.s.cipher.take(ctx, ev)
	if errors.Is(err, errNotBegun) {
		return &bridge.ErrRetry{After: time.Second, Err: err}
	}
	if err != nil {
		return err
	}
	for _, came := range sessions {
		n, err := w.s.store.UnlockEvents(ctx, came.room, came.id, w.s.clock.Now())
		if err != nil {
			return err
		}
		if n > 0 {
			w.s.arrived()
		}
	}
	return nil
}
