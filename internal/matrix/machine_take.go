//go:build goolm

package matrix

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix/crypto"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// take implements [cipher]. What a message brings is stored in the transaction that marks it as handled: all of it, once.
// So a crash at any moment loses no key.
func (c *machine) take(ctx context.Context, ev bridge.InboxEvent) ([]session, error) {
	if err := c.hasBegun(); err != nil {
		return nil, err
	}
	var e mevent.Event
	err := json.Unmarshal(ev.Raw, &e)
	if e.Type.Class = mevent.ToDeviceEventType; err == nil {
		err = e.Content.ParseRaw(e.Type)
	}
	if err != nil {
		zerolog.Ctx(ctx).Warn().Str("type", e.Type.Type).Msg("A message between devices does not decode")
		return nil, c.store.FinishInteraction(ctx, ev.ID)
	}
	switch content := e.Content.Parsed.(type) {
	case *mevent.EncryptedEventContent:
		err := c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
			return c.meet(ctx, m, device{e.Sender, content.SenderKey})
		})
		if err != nil {
			return nil, err
		}
	case *mevent.RoomKeyRequestEventContent:
		err := c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
			m.HandleRoomKeyRequest(ctx, e.Sender, content)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return nil, c.store.FinishInteraction(ctx, ev.ID)
	case *mevent.RoomKeyWithheldEventContent:
	default:
		return nil, c.store.FinishInteraction(ctx, ev.ID)
	}
	return c.handle(ctx, &e, ev.ID)
}

// handle lets the machine handle a message in one transaction. Where that is not committed, the machine is made anew of
// what is stored: it keeps in memory what it believes to be there.
func (c *machine) handle(ctx context.Context, e *mevent.Event, name bridge.InteractionID) ([]session, error) {
	c.mu.Lock()
	ctx, trace := recording(quiet(ctx))
	tries := 0
	err := c.store.Atomically(ctx, func(ctx context.Context) error {
		if tries++; tries > 1 {
			if err := c.reload(ctx); err != nil {
				return err
			}
			trace.failed, trace.sessions, trace.wedged = nil, nil, nil
		}
		c.olm.HandleToDeviceEvent(ctx, e)
		if trace.failed != nil {
			return fmt.Errorf("handle a message between devices: %w", trace.failed)
		}
		return c.store.FinishInteraction(ctx, name)
	})
	if err != nil {
		if failed := c.reload(context.WithoutCancel(ctx)); failed != nil {
			zerolog.Ctx(ctx).Error().Err(failed).Msg("Could not read the keys again")
		}
		c.mu.Unlock()
		return nil, err
	}
	c.mu.Unlock()
	c.unwedge(ctx, trace.wedged)
	return trace.sessions, nil
}

func (c *machine) reload(ctx context.Context) error {
	keys := newKeyStore(c.cfg, c.store)
	keys.DeviceID = c.cli.DeviceID
	return c.load(ctx, keys)
}

// unwedge begins new sessions with devices whose messages cannot be decrypted. Where that fails, their next message asks
// for it again.
func (c *machine) unwedge(ctx context.Context, devices []device) {
	for _, d := range devices {
		zerolog.Ctx(ctx).Warn().Str("user", string(d.user)).Msg("A message between devices could not be decrypted; beginning a new session")
		_ = c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
			m.UnwedgeDevice(ctx, d.user, id.SenderKey(d.key))
			return nil
		})
	}
}
