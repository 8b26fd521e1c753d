//go:build goolm

package matrix

import (
	"context"
	"errors"
	"fmt"

	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/olm"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

var (
	errUnknownDevice = errors.New("it came from a device that its sender is not known to have")
	errForged        = errors.New("it says that it is ours, and is not")
)

// open implements [cipher]. Whose device is not known is asked for, once; everything else that is needed is in the
// database.
func (c *machine) open(ctx context.Context, e event) (opened event, err error) {
	err = c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
		var from device
		if opened, from, err = c.decrypt(ctx, m, e); !errors.Is(err, errUnknownDevice) {
			return err
		}
		if err := c.meet(ctx, m, from); err != nil {
			return err
		}
		opened, _, err = c.decrypt(ctx, m, e)
		return err
	})
	if errors.Is(err, errUnknownDevice) || errors.Is(err, errForged) {
		err = &errWorthless{err}
	}
	return opened, err
}

// decrypt reads an event, and says which device it is from.
func (c *machine) decrypt(ctx context.Context, m *crypto.OlmMachine, e event) (opened event, from device, err error) {
	outside := &mevent.Event{
		ID: id.EventID(e.ID), RoomID: id.RoomID(e.Room), Sender: id.UserID(e.Sender), Type: mevent.EventEncrypted,
		Timestamp: e.SentAt.UnixMilli(), Content: mevent.Content{VeryRaw: e.RawContent},
	}
	if err := outside.Content.ParseRaw(outside.Type); err != nil {
		return e, from, &errWorthless{err}
	}
	session := outside.Content.AsEncrypted().SessionID
	ctx, trace := recording(ctx)
	inside, err := m.DecryptMegolmEvent(ctx, outside)
	switch {
	case trace.failed != nil:
		return e, from, trace.failed
	case errors.Is(err, crypto.ErrNoSessionFound), errors.Is(err, crypto.ErrGroupSessionWithheld), errors.Is(err, olm.ErrUnknownMessageIndex):
		return e, from, &errLocked{string(session)}
	case err != nil && ctx.Err() != nil:
		return e, from, err
	case err != nil:
		return e, from, &errWorthless{err}
	}
	opened = e
	opened.Type, opened.RawContent, opened.Content = inside.Type.Type, inside.Content.VeryRaw, readObject(inside.Content.VeryRaw)
	opened.seal = &seal{crossSigned: inside.Mautrix.TrustState >= id.TrustStateCrossSignedTOFU}
	own := inside.Mautrix.TrustState == id.TrustStateVerified && inside.Mautrix.TrustSource == nil
	switch {
	case opened.Content == nil:
		return e, from, &errWorthless{errors.New("there is no content inside")}
	case bridge.UserID(e.Sender) == c.hs.bot && !own:
		return e, from, errForged
	case own:
		return opened, from, nil
	case inside.Mautrix.ForwardedKeys || inside.Mautrix.TrustSource == nil || !trusted(inside.Mautrix.TrustState):
		kept, err := m.CryptoStore.GetGroupSession(ctx, outside.RoomID, session)
		if err != nil || kept == nil {
			return e, from, fmt.Errorf("read a key again: %w", err)
		}
		return e, device{outside.Sender, kept.SenderKey}, errUnknownDevice
	}
	return opened, from, nil
}

// trusted is true of a device that its sender really has. mautrix's order of these is no order of trust.
func trusted(t id.TrustState) bool {
	return t == id.TrustStateUnset || t == id.TrustStateVerified ||
		t == id.TrustStateCrossSignedUntrusted || t == id.TrustStateCrossSignedTOFU || t == id.TrustStateCrossSignedVerified
}

// meet asks the homeserver for somebody's devices, where one of them turned up that we do not know; once for each.
func (c *machine) meet(ctx context.Context, m *crypto.OlmMachine, d device) error {
	if known, err := m.CryptoStore.FindDeviceByKey(ctx, d.user, d.key); err != nil || known != nil {
		return err
	}
	if _, asked := c.askedFor.Load(d); asked {
		return nil
	}
	ctx, trace := recording(ctx)
	if _, err := m.FetchKeys(ctx, []id.UserID{d.user}, true); err != nil {
		return fmt.Errorf("fetch the devices of a sender: %w", err)
	}
	if trace.failed == nil {
		c.askedFor.Store(d, true)
	}
	return trace.failed
}

// holds implements [cipher].
func (c *machine) holds(ctx context.Context, room bridge.ConversationID, session string) (held bool, err error) {
	err = c.use(ctx, func(ctx context.Context, m *crypto.OlmMachine) error {
		found, err := m.CryptoStore.GetGroupSession(ctx, id.RoomID(room), id.SessionID(session))
		held = found != nil
		if errors.Is(err, crypto.ErrGroupSessionWithheld) {
			err = nil
		}
		return err
	})
	return held, err
}
