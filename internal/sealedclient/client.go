//go:build goolm

package sealedclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/cryptohelper"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/internal/testserver"
)

// Client is somebody logged in with a device that encrypts. Its methods may be called from several goroutines.
type Client struct {
	*testserver.User
	cli    *mautrix.Client
	crypto *cryptohelper.CryptoHelper
	stop   context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex
	heard  chan struct{} // closed and replaced with every event
	events []Event
	sealed int // events that could not be decrypted
}

// Event is a room event as it was meant: of an encrypted one, what was inside.
type Event struct {
	testserver.Event
	Encrypted bool
}

// New makes a client of a user and keeps its keys in a file. Without the file, their device must be new. It sees events from
// now on; what it says in the rooms that they are in already is encrypted where those are.
func New(ctx context.Context, u *testserver.User, file string) (*Client, error) {
	cli, err := mautrix.NewClient(u.Server.URL, id.UserID(u.ID), u.AccessToken)
	if err != nil {
		return nil, err
	}
	cli.DeviceID = id.DeviceID(u.DeviceID)
	db, err := dbutil.NewWithDialect("file:"+file+"?_txlock=immediate", "sqlite3-fk-wal")
	if err != nil {
		return nil, err
	}
	m := &Client{User: u, cli: cli, ended: make(chan struct{}), heard: make(chan struct{})}
	if m.crypto, err = cryptohelper.NewCryptoHelper(cli, []byte("a key for tests"), db); err != nil {
		return nil, err
	}
	if err := m.crypto.Init(ctx); err != nil {
		return nil, fmt.Errorf("start encryption of %s: %w", u.ID, errors.Join(err, m.crypto.Close()))
	}
	cli.Crypto = m.crypto
	// mautrix keeps what this gives, without a lock, when it first decrypts something: so not while the sync does that too.
	if _, err := m.crypto.Machine().GetOwnCrossSigningPublicKeys(ctx); err != nil {
		return nil, errors.Join(err, m.crypto.Close())
	}
	if err := m.readRooms(ctx); err != nil {
		return nil, errors.Join(err, m.crypto.Close())
	}
	m.crypto.DecryptErrorCallback = func(*event.Event, error) { m.note(nil) }
	syncer := cli.Syncer.(*mautrix.DefaultSyncer)
	syncer.OnEvent(func(_ context.Context, e *event.Event) {
		if e.Type != event.EventEncrypted && e.StateKey == nil || e.Type == event.StateEncryption || e.Type == event.StateMember {
			m.note(e)
		}
	})
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	go func() {
		defer close(m.ended)
		_ = cli.SyncWithContext(background)
	}()
	return m, nil
}

// readRooms takes up who is in the rooms and which are encrypted, before a sync says so.
func (m *Client) readRooms(ctx context.Context) error {
	joined, err := m.cli.JoinedRooms(ctx)
	if err != nil {
		return fmt.Errorf("list the rooms of %s: %w", m.ID, err)
	}
	for _, room := range joined.JoinedRooms {
		if _, err := m.cli.State(ctx, room); err != nil {
			return fmt.Errorf("read the room %s: %w", room, err)
		}
	}
	return nil
}

// Close ends the client.
func (m *Client) Close() error {
	m.stop()
	<-m.ended
	return m.crypto.Close()
}

func (m *Client) note(e *event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e == nil {
		m.sealed++
	} else {
		m.events = append(m.events, meant(e))
	}
	close(m.heard)
	m.heard = make(chan struct{})
}

func meant(e *event.Event) Event {
	content, _ := json.Marshal(&e.Content)
	return Event{testserver.Event{
		ID: string(e.ID), Type: e.Type.Type, RoomID: string(e.RoomID), Sender: string(e.Sender), Content: content, SentAt: e.Timestamp,
	}, e.Mautrix.WasEncrypted}
}

// Open decrypts an event of a room that came by another way, and gives it with what was inside. Its key is waited for that
// long; without the key, and of an event that is not encrypted, it gives the event as it is.
func (m *Client) Open(ctx context.Context, room string, e testserver.Event, patience time.Duration) testserver.Event {
	if e.Type != event.EventEncrypted.Type {
		return e
	}
	sealed := &event.Event{
		ID: id.EventID(e.ID), Type: event.EventEncrypted, RoomID: id.RoomID(room), Sender: id.UserID(e.Sender), Timestamp: e.SentAt,
	}
	if json.Unmarshal(e.Content, &sealed.Content) != nil || sealed.Content.ParseRaw(sealed.Type) != nil {
		return e
	}
	opened, err := m.crypto.Decrypt(ctx, sealed)
	if c := sealed.Content.AsEncrypted(); errors.Is(err, cryptohelper.NoSessionFound) && m.crypto.WaitForSession(ctx, sealed.RoomID, c.SenderKey, c.SessionID, patience) {
		opened, err = m.crypto.Decrypt(ctx, sealed)
	}
	if err != nil {
		return e
	}
	return meant(opened).Event
}

// Unreadable counts the events that could not be decrypted.
func (m *Client) Unreadable() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sealed
}

// Feed follows a room.
type Feed struct {
	client *Client
	room   string
	seen   int
}

// Follow follows a room from what came last.
func (m *Client) Follow(room string) *Feed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Feed{client: m, room: room, seen: len(m.events)}
}

// Next gives the next event that match says yes to, passing over the others, and waits for it until ctx ends.
func (f *Feed) Next(ctx context.Context, match func(testserver.Event) bool) (testserver.Event, error) {
	for {
		f.client.mu.Lock()
		heard, events := f.client.heard, f.client.events
		f.client.mu.Unlock()
		for f.seen < len(events) {
			e := events[f.seen]
			f.seen++
			if e.RoomID == f.room && match(e.Event) {
				return e.Event, nil
			}
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return testserver.Event{}, ctx.Err()
		}
	}
}

// WaitFor gives the first event of a room, since the client was made, that match says yes to.
func (m *Client) WaitFor(ctx context.Context, room string, match func(Event) bool) (Event, error) {
	for seen := 0; ; {
		m.mu.Lock()
		heard, events := m.heard, m.events
		m.mu.Unlock()
		for ; seen < len(events); seen++ {
			if events[seen].RoomID == room && match(events[seen]) {
				return events[seen], nil
			}
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("%s waits for an event in %s, having seen %d: %w", m.ID, room, len(events), ctx.Err())
		}
	}
}

// WaitForRoom returns when the client knows that a room is encrypted, and that people have joined it: who is not known to
// have gets no key.
func (m *Client) WaitForRoom(ctx context.Context, room string, people ...string) error {
	for {
		m.mu.Lock()
		heard := m.heard
		m.mu.Unlock()
		known, err := m.cli.StateStore.IsEncrypted(ctx, id.RoomID(room))
		for _, who := range people {
			known = known && err == nil && m.cli.StateStore.IsInRoom(ctx, id.RoomID(room), id.UserID(who))
		}
		if known || err != nil {
			return err
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return fmt.Errorf("%s waits for people in %s: %w", m.ID, room, ctx.Err())
		}
	}
}

// Say sends a message, encrypted where the room is, and returns its id.
func (m *Client) Say(ctx context.Context, room string, content map[string]any) (string, error) {
	sent, err := m.cli.SendMessageEvent(ctx, id.RoomID(room), event.EventMessage, &event.Content{Raw: content})
	if err != nil {
		return "", fmt.Errorf("%s says something: %w", m.ID, err)
	}
	return string(sent.EventID), nil
}

// Send sends a plain text message.
func (m *Client) Send(ctx context.Context, room, text string) (string, error) {
	return m.Say(ctx, room, map[string]any{"msgtype": "m.text", "body": text})
}

// ThreadReply sends a message in the thread below root.
func (m *Client) ThreadReply(ctx context.Context, room, root, text string) (string, error) {
	return m.Say(ctx, room, map[string]any{"msgtype": "m.text", "body": text, "m.relates_to": map[string]any{
		"rel_type": "m.thread", "event_id": root, "is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": root},
	}})
}
