package testserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Room says what room to create. The zero value is a private room that only its creator is in.
type Room struct {
	Name    string
	Topic   string
	Alias   string // the localpart of an alias: "ops" for #ops:question.test
	Version string // the homeserver's default if empty
	Public  bool   // anybody may join
	Invite  []string
	State   []State
	Powers  map[string]int // power levels of users beside the creator, who has 100 unless it is in here too
	// Encrypted turns encryption on, for clients that can; messages sent from here stay in clear.
	Encrypted bool
}

// State is a state event to set.
type State struct {
	Type    string `json:"type"`
	Key     string `json:"state_key"`
	Content any    `json:"content"`
}

// CreateRoom creates a room and returns its id.
func (u *User) CreateRoom(ctx context.Context, room Room) (string, error) {
	preset := "private_chat"
	if room.Public {
		preset = "public_chat"
	}
	body := map[string]any{"preset": preset}
	for key, value := range map[string]string{
		"name": room.Name, "topic": room.Topic, "room_alias_name": room.Alias, "room_version": room.Version,
	} {
		if value != "" {
			body[key] = value
		}
	}
	if len(room.Invite) > 0 {
		body["invite"] = room.Invite
	}
	state := append([]State{}, room.State...)
	if room.Encrypted {
		state = append(state, State{Type: "m.room.encryption", Content: map[string]any{"algorithm": "m.megolm.v1.aes-sha2"}})
	}
	if len(state) > 0 {
		body["initial_state"] = state
	}
	if room.Powers != nil {
		body["power_level_content_override"] = map[string]any{"users": room.Powers}
	}
	var created struct {
		RoomID string `json:"room_id"`
	}
	err := u.Do(ctx, Request{Method: http.MethodPost, Path: "/_matrix/client/v3/createRoom", Body: body}, &created)
	if err != nil {
		return "", fmt.Errorf("create room: %w", err)
	}
	return created.RoomID, nil
}

// Join joins a room by id or alias and returns its id.
func (u *User) Join(ctx context.Context, roomOrAlias string) (string, error) {
	var joined struct {
		RoomID string `json:"room_id"`
	}
	err := u.Do(ctx, Request{
		Method: http.MethodPost, Path: Path("_matrix", "client", "v3", "join", roomOrAlias), Body: struct{}{},
	}, &joined)
	if err != nil {
		return "", fmt.Errorf("join %s: %w", roomOrAlias, err)
	}
	return joined.RoomID, nil
}

// State returns the content of the room's state event of this type and key. A missing one is an *APIError with code
// M_NOT_FOUND.
func (u *User) State(ctx context.Context, roomID, eventType, key string) (json.RawMessage, error) {
	var content json.RawMessage
	if err := u.Do(ctx, Request{Path: roomPath(roomID, "state", eventType, key)}, &content); err != nil {
		return nil, fmt.Errorf("read state of %s: %w", roomID, err)
	}
	return content, nil
}

// SetState sets a state event and returns its id. Setting what already stands sends nothing and returns the id of the
// event that stands, also to those who may not set it.
func (u *User) SetState(ctx context.Context, roomID string, state State) (string, error) {
	id, err := u.put(ctx, roomPath(roomID, "state", state.Type, state.Key), state.Content)
	if err != nil {
		return "", fmt.Errorf("set state of %s: %w", roomID, err)
	}
	return id, nil
}

// SetPower changes one user's power level in a room.
func (u *User) SetPower(ctx context.Context, roomID, userID string, level int) error {
	const eventType = "m.room.power_levels"
	content, err := u.State(ctx, roomID, eventType, "")
	if err != nil {
		return err
	}
	var levels map[string]any
	if err := json.Unmarshal(content, &levels); err != nil {
		return fmt.Errorf("power levels of %s: %w", roomID, err)
	}
	users, _ := levels["users"].(map[string]any)
	if users == nil {
		users = map[string]any{}
	}
	users[userID] = level
	levels["users"] = users
	_, err = u.SetState(ctx, roomID, State{Type: eventType, Content: levels})
	return err
}

// CreateAlias gives a room another address; alias is whole, like #ops:question.test.
func (u *User) CreateAlias(ctx context.Context, alias, roomID string) error {
	err := u.Do(ctx, Request{
		Method: http.MethodPut,
		Path:   Path("_matrix", "client", "v3", "directory", "room", alias),
		Body:   map[string]any{"room_id": roomID},
	}, nil)
	if err != nil {
		return fmt.Errorf("create alias %s: %w", alias, err)
	}
	return nil
}

// Upgrade replaces a room by one of another version and returns the new room's id. Only this user is in the new one.
func (u *User) Upgrade(ctx context.Context, roomID, version string) (string, error) {
	var got struct {
		RoomID string `json:"replacement_room"`
	}
	err := u.Do(ctx, Request{
		Method: http.MethodPost, Path: roomPath(roomID, "upgrade"), Body: map[string]any{"new_version": version},
	}, &got)
	if err != nil {
		return "", fmt.Errorf("upgrade %s: %w", roomID, err)
	}
	return got.RoomID, nil
}

func roomPath(roomID string, rest ...string) string {
	return Path(append([]string{"_matrix", "client", "v3", "rooms", roomID}, rest...)...)
}
