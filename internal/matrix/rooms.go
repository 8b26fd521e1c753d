package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// rooms is our own copy of the state of the rooms we are in. It is written in the order in which events came; where that
// order is in doubt, what the homeserver says now takes its place before the next decision.
type rooms struct {
	hs    *homeserver
	store Store
	locks roomLocks
	cache viewCache
}

// errNotJoined means that the bot is not in the room, so it may not know anything about it.
var errNotJoined = errors.New("the bot has not joined the room")

// view gives a room's state, from our copy unless that is in doubt or fresh is demanded. The error is errNotJoined when
// the homeserver does not let us see the room; every other one is temporary.
func (r *rooms) view(ctx context.Context, room bridge.ConversationID, fresh bool) (view, error) {
	unlock := r.locks.lock(room)
	defer unlock()
	known, doubtful, encrypted, err := r.store.Standing(ctx, room)
	if err != nil {
		return view{}, err
	}
	if v, ok := r.cache.get(room); ok && known && !doubtful && !fresh {
		v.encrypted = encrypted
		return v, nil
	}
	if fresh || !known || doubtful {
		if err := r.refresh(ctx, room); err != nil {
			if known && errors.Is(err, errNotJoined) { // what we know is over
				err = errors.Join(err, r.store.SetDoubtful(ctx, room))
			}
			return view{}, err
		}
	}
	v, err := r.load(ctx, room)
	if err == nil {
		r.cache.put(room, v)
	}
	return v, err
}

// load reads our copy. The caller holds the room's lock.
func (r *rooms) load(ctx context.Context, room bridge.ConversationID) (view, error) {
	v := view{bot: r.hs.bot, members: map[bridge.UserID]member{}}
	_, _, encrypted, err := r.store.Standing(ctx, room)
	if err != nil {
		return view{}, err
	}
	v.encrypted = encrypted
	members, err := r.store.StateOf(ctx, room, "m.room.member")
	if err != nil {
		return view{}, err
	}
	for _, m := range members {
		content := readObject(m.Content)
		v.members[bridge.UserID(m.Key)] = member{content.string("membership"), content.string("displayname")}
	}
	for eventType, into := range map[string]**bridge.StateRecord{
		"m.room.create": &v.create, "m.room.power_levels": &v.powers, "m.room.tombstone": &v.tombstone,
		"m.room.name": &v.name, "m.room.canonical_alias": &v.alias,
	} {
		records, err := r.store.StateOf(ctx, room, eventType)
		if err != nil {
			return view{}, err
		}
		for i := range records {
			if records[i].Key == "" {
				*into = &records[i]
			}
		}
	}
	if v.members[r.hs.bot].membership != "join" {
		return v, errNotJoined
	}
	return v, nil
}

// refresh puts what the homeserver says now in the place of our copy. State is believed only while the bot is joined by
// that very state: some homeservers answer with leftovers to somebody who was kicked. The caller holds the room's lock.
func (r *rooms) refresh(ctx context.Context, room bridge.ConversationID) error {
	r.cache.drop(room)
	var state []jsonEvent
	err := r.hs.call(ctx, http.MethodGet, mautrix.ClientURLPath{"v3", "rooms", string(room), "state"}, nil, nil, &state)
	if answered(err, http.StatusForbidden, http.StatusNotFound) {
		return errors.Join(errNotJoined, err)
	}
	if err != nil {
		return fmt.Errorf("read the room's state: %w", err)
	}
	var records []bridge.StateRecord
	joined, created, encrypted := false, false, false
	for _, raw := range state {
		e := raw.decode(room)
		if e.StateKey == nil || !keptState[e.Type] {
			continue
		}
		record := e.record()
		joined = joined || e.Type == "m.room.member" && record.Key == string(r.hs.bot) && e.Content.string("membership") == "join"
		created = created || e.Type == "m.room.create" && record.Key == ""
		encrypted = encrypted || e.Type == "m.room.encryption" && record.Key == ""
		records = append(records, record)
	}
	if !joined || !created {
		return errNotJoined
	}
	return r.store.Atomically(ctx, func(ctx context.Context) error {
		if encrypted {
			if err := r.store.SetEncrypted(ctx, room); err != nil {
				return err
			}
		}
		return r.store.ReplaceState(ctx, room, records)
	})
}

// apply writes a state event that came in into our copy, and runs also in the same transaction. An event older than what it would replace, or one that replaces something we never saw,
// leaves the room in doubt.
func (r *rooms) apply(ctx context.Context, e event, also func(ctx context.Context) error) error {
	room := bridge.ConversationID(e.Room)
	unlock := r.locks.lock(room)
	defer unlock()
	r.cache.drop(room)
	return r.store.Atomically(ctx, func(ctx context.Context) error {
		known, _, _, err := r.store.Standing(ctx, room)
		if err != nil {
			return err
		}
		if e.Type == "m.room.encryption" {
			if err := r.store.SetEncrypted(ctx, room); err != nil {
				return err
			}
		}
		old, err := r.stored(ctx, e)
		if err != nil {
			return err
		}
		switch {
		case old != nil && old.Event == bridge.InteractionID(e.ID):
		case old != nil && e.SentAt.Before(old.SentAt):
			err = r.store.SetDoubtful(ctx, room)
		default:
			if err = r.store.PutState(ctx, e.record()); err == nil && (!known || e.skips(old)) {
				err = r.store.SetDoubtful(ctx, room)
			}
		}
		if err != nil {
			return err
		}
		return also(ctx)
	})
}

func (r *rooms) stored(ctx context.Context, e event) (*bridge.StateRecord, error) {
	records, err := r.store.StateOf(ctx, bridge.ConversationID(e.Room), e.Type)
	if err != nil {
		return nil, err
	}
	for i := range records {
		if records[i].Key == *e.StateKey {
			return &records[i], nil
		}
	}
	return nil, nil
}

// skips is true when the event says that it replaces another one than the one we have.
func (e event) skips(old *bridge.StateRecord) bool {
	replaced := e.unsigned.string("replaces_state")
	return replaced != "" && (old == nil || string(old.Event) != replaced)
}

func (e event) record() bridge.StateRecord {
	return bridge.StateRecord{
		Conversation: bridge.ConversationID(e.Room), Type: e.Type, Key: *e.StateKey, Event: bridge.InteractionID(e.ID),
		Sender: bridge.UserID(e.Sender), SentAt: e.SentAt, Content: e.RawContent,
	}
}
