//go:build goolm

package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix/crypto"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// valueReaders, followed by a room, keeps the session that encrypts there, and a digest of the devices that have its key.
const valueReaders = "readers/"

// seal implements [cipher]. One rule decides on new keys: a session goes on only while it was shared with exactly the
// devices that should read. So whoever joins, leaves, logs in or logs out makes a new one, however we hear of it.
func (c *machine) seal(ctx context.Context, s sealing) (sealed json.RawMessage, err error) {
	defer c.rooms.lock(s.room)()
	err = c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
		if err := c.share(ctx, m, s); err != nil {
			return fmt.Errorf("share a key: %w", err)
		}
		content, err := m.EncryptMegolmEvent(ctx, id.RoomID(s.room), mevent.NewEventType(s.kind), json.RawMessage(encode(s.content)))
		if err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
		sealed, err = json.Marshal(content)
		return err
	})
	return sealed, err
}

// encode writes a content that was read from JSON, or made of what JSON has.
func encode(content map[string]any) []byte {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err) // a program error
	}
	return raw
}

// share makes sure that the room's session can be read on every device of the readers, and on no other one.
func (c *machine) share(ctx context.Context, m *crypto.OlmMachine, s sealing) error {
	devices, err := c.devices(ctx, m, s.readers)
	if err != nil {
		return err
	}
	room, readers := id.RoomID(s.room), digest(devices)
	current, err := m.CryptoStore.GetOutboundGroupSession(ctx, room)
	if err != nil {
		return err
	}
	shared, err := c.store.Value(ctx, valueReaders+string(s.room))
	if err != nil {
		return err
	}
	if current != nil && current.Shared && !current.Expired() && shared == string(current.ID())+" "+readers {
		return nil
	}
	if current != nil {
		if err := m.CryptoStore.RemoveOutboundGroupSession(ctx, room); err != nil {
			return err
		}
	}
	if err := m.ShareGroupSession(ctx, room, userIDs(s.readers)); err != nil {
		return err
	}
	if current, err = m.CryptoStore.GetOutboundGroupSession(ctx, room); err != nil {
		return err
	}
	zerolog.Ctx(ctx).Debug().Str("room_id", string(s.room)).Str("session_id", string(current.ID())).Msg("A new key for a room")
	return c.store.SetValue(ctx, valueReaders+string(s.room), string(current.ID())+" "+readers)
}

// digest names a set of devices.
func digest(devices []*id.Device) string {
	var names []string
	for _, d := range devices {
		names = append(names, strings.Join([]string{string(d.UserID), string(d.DeviceID), string(d.IdentityKey), string(d.SigningKey)}, "\x00"))
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:])
}

// devices gives the devices of people, and asks the homeserver for those of whom it does not know them, or not any more.
// People whose own homeserver does not answer have none, or those that we knew.
func (c *machine) devices(ctx context.Context, m *crypto.OlmMachine, people []bridge.UserID) (all []*id.Device, err error) {
	outdated, err := m.CryptoStore.GetOutdatedTrackedUsers(ctx)
	if err != nil {
		return nil, err
	}
	var fetch []id.UserID
	known := map[id.UserID]map[id.DeviceID]*id.Device{}
	for _, who := range userIDs(people) {
		if known[who], err = m.CryptoStore.GetDevices(ctx, who); err != nil {
			return nil, err
		}
		if known[who] == nil || slices.Contains(outdated, who) {
			fetch = append(fetch, who)
		}
	}
	if len(fetch) > 0 {
		ctx, failures := recording(ctx)
		fetched, err := m.FetchKeys(ctx, fetch, true)
		if err == nil {
			err = failures.failed
		}
		if err != nil {
			return nil, fmt.Errorf("fetch device keys: %w", err)
		}
		for who, theirs := range fetched {
			known[who] = theirs
		}
	}
	for _, theirs := range known {
		for _, d := range theirs {
			if !d.Deleted {
				all = append(all, d)
			}
		}
	}
	return all, nil
}

// reaches implements [cipher].
func (c *machine) reaches(ctx context.Context, people []bridge.UserID) (map[bridge.UserID]bool, error) {
	reached := map[bridge.UserID]bool{}
	err := c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
		devices, err := c.devices(ctx, m, people)
		for _, d := range devices {
			reached[bridge.UserID(d.UserID)] = true
		}
		return err
	})
	return reached, err
}
