package testserver

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// SyncOptions says what to sync.
type SyncOptions struct {
	Since   string        // the NextBatch of the sync before; empty for the present state
	Timeout time.Duration // how long the homeserver may wait for news; 0 for none, at most a minute
	Filter  string        // a filter as JSON, or the id of one
}

// SyncResponse is what /sync gives, as far as rooms go.
type SyncResponse struct {
	NextBatch string `json:"next_batch"`
	Rooms     struct {
		Join   map[string]RoomSync   `json:"join"`
		Leave  map[string]RoomSync   `json:"leave"`
		Invite map[string]InviteSync `json:"invite"`
	} `json:"rooms"`
}

// RoomSync is the news of one room.
type RoomSync struct {
	State    struct{ Events []Event } `json:"state"`
	Timeline struct {
		Events    []Event
		Limited   bool   // there are more events before these
		PrevBatch string `json:"prev_batch"`
	} `json:"timeline"`
}

// InviteSync is an invite: the stripped state of the room.
type InviteSync struct {
	State struct{ Events []Event } `json:"invite_state"`
}

// Sync asks for news once.
func (u *User) Sync(ctx context.Context, opts SyncOptions) (*SyncResponse, error) {
	query := url.Values{"timeout": {strconv.FormatInt(min(opts.Timeout, time.Minute).Milliseconds(), 10)}}
	if opts.Since != "" {
		query.Set("since", opts.Since)
	}
	if opts.Filter != "" {
		query.Set("filter", opts.Filter)
	}
	var news SyncResponse
	if err := u.Do(ctx, Request{Path: "/_matrix/client/v3/sync", Query: query}, &news); err != nil {
		return nil, fmt.Errorf("sync as %s: %w", u.ID, err)
	}
	return &news, nil
}
