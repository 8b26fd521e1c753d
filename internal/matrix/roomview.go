package matrix

import (
	"encoding/json"
	"math"

	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// view is a room's state at one moment.
type view struct {
	bot       bridge.UserID
	encrypted bool // seen once, for ever
	members   map[bridge.UserID]member
	create    *bridge.StateRecord
	powers    *bridge.StateRecord
	tombstone *bridge.StateRecord
	name      *bridge.StateRecord
	alias     *bridge.StateRecord
}

type member struct{ membership, displayName string }

// others counts the members besides the bot that have joined, or are invited too.
func (v view) others(invited bool) int {
	n := 0
	for user, m := range v.members {
		if user != v.bot && (m.membership == "join" || invited && m.membership == "invite") {
			n++
		}
	}
	return n
}

// replacement is the room that this one was closed for; ok is also true for a tombstone that names none.
func (v view) replacement() (room string, ok bool) {
	if v.tombstone == nil {
		return "", false
	}
	return readObject(v.tombstone.Content).string("replacement_room"), true
}

// power is a user's power level. Rights that are not written down plainly are none: a level that is no whole number
// grants nothing, and without power levels nobody has any. Creators have all power in the room versions that say so, and
// only in those; additional_creators means nothing elsewhere. (Field case A12.)
func (v view) power(user bridge.UserID) int64 {
	if v.powers == nil || v.create == nil {
		return math.MinInt64
	}
	create := readObject(v.create.Content)
	if version := id.RoomVersion(create.string("room_version")); version != "" && version.PrivilegedRoomCreators() && knownVersion(version) {
		if user == v.create.Sender {
			return math.MaxInt64
		}
		for _, raw := range create.list("additional_creators") {
			var creator string
			if json.Unmarshal(raw, &creator) == nil && bridge.UserID(creator) == user {
				return math.MaxInt64
			}
		}
	}
	levels := readObject(v.powers.Content)
	if levels == nil || levels.has("users") && levels.object("users") == nil {
		return math.MinInt64
	}
	if raw, listed := levels.object("users")[string(user)]; listed {
		if level, ok := readInteger(raw); ok {
			return level
		}
		return math.MinInt64
	}
	return level(levels, "users_default", 0)
}

// mayStateEvent says whether a user's power suffices to send a state event of the type.
func (v view) maySetState(user bridge.UserID, eventType string) bool {
	if v.powers == nil {
		return false
	}
	levels := readObject(v.powers.Content)
	needed := level(levels, "state_default", 50)
	if raw, listed := levels.object("events")[eventType]; listed {
		n, ok := readInteger(raw)
		if !ok {
			n = math.MaxInt64
		}
		needed = n
	}
	return v.power(user) >= needed
}

func level(levels object, name string, missing int64) int64 {
	if !levels.has(name) {
		return missing
	}
	if n, ok := levels.integer(name); ok {
		return n
	}
	if name == "users_default" {
		return math.MinInt64
	}
	return math.MaxInt64
}

// knownVersion is true of the room versions whose creators are known to have all power. A version that we have never
// heard of grants nothing by itself.
func knownVersion(v id.RoomVersion) bool { return v == id.RoomV12 || v == "org.matrix.hydra.11" }

// jsonEvent is an event as the client API gives it, which names no room.
type jsonEvent json.RawMessage

// UnmarshalJSON keeps the bytes.
func (j *jsonEvent) UnmarshalJSON(raw []byte) error {
	*j = append((*j)[:0], raw...)
	return nil
}

func (j jsonEvent) decode(room bridge.ConversationID) event {
	e, _ := decodeEvent(j.inRoom(room))
	return e
}

// inRoom writes the room into the event, which makes it look as if it had been pushed.
func (j jsonEvent) inRoom(room bridge.ConversationID) json.RawMessage {
	o := readObject(json.RawMessage(j))
	if o == nil {
		return json.RawMessage(j)
	}
	name, _ := json.Marshal(string(room))
	o["room_id"] = name
	raw, _ := json.Marshal(o)
	return raw
}
