package testserver

import (
	"context"
	"fmt"
	"net/http"
)

// Invite invites somebody.
func (u *User) Invite(ctx context.Context, roomID, userID string) error {
	return u.membership(ctx, roomID, "invite", map[string]any{"user_id": userID})
}

// Kick makes somebody leave, or takes back an invite.
func (u *User) Kick(ctx context.Context, roomID, userID string) error {
	return u.membership(ctx, roomID, "kick", map[string]any{"user_id": userID})
}

// Ban makes somebody leave and keeps them out.
func (u *User) Ban(ctx context.Context, roomID, userID string) error {
	return u.membership(ctx, roomID, "ban", map[string]any{"user_id": userID})
}

// Leave leaves a room, or declines an invite.
func (u *User) Leave(ctx context.Context, roomID string) error {
	return u.membership(ctx, roomID, "leave", struct{}{})
}

func (u *User) membership(ctx context.Context, roomID, change string, body any) error {
	err := u.Do(ctx, Request{Method: http.MethodPost, Path: roomPath(roomID, change), Body: body}, nil)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", change, roomID, err)
	}
	return nil
}

// Members returns the membership of everybody the room knows: "join", "invite", "leave" or "ban".
func (u *User) Members(ctx context.Context, roomID string) (map[string]string, error) {
	var got struct{ Chunk []Event }
	if err := u.Do(ctx, Request{Path: roomPath(roomID, "members")}, &got); err != nil {
		return nil, fmt.Errorf("members of %s: %w", roomID, err)
	}
	members := make(map[string]string, len(got.Chunk))
	for _, event := range got.Chunk {
		if event.StateKey != nil {
			members[*event.StateKey] = event.Membership()
		}
	}
	return members, nil
}
