package app

import (
	"context"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// manner is how people and the bridge speak in a soak test.
type manner struct {
	encrypted bool
	configure func(s *soak, cfg *config.Config, dir string)
	voices    func(s *soak, dir string) map[string]voice // by user id
}

// voice is how somebody takes part in rooms.
type voice interface {
	// enter returns when the person's client knows who is in a room.
	enter(ctx context.Context, room string, everybody []string) error
	say(ctx context.Context, room, kind string, content map[string]any) (id string, err error)
	watch(ctx context.Context, room string) (watch, error)
	// read gives everything in a room, oldest first, as it was meant.
	read(ctx context.Context, room string) ([]testserver.Event, error)
}

// watch follows a room.
type watch interface {
	Next(ctx context.Context, match func(testserver.Event) bool) (testserver.Event, error)
}

// inClear is the usual manner.
var inClear = manner{configure: func(*soak, *config.Config, string) {}, voices: func(s *soak, _ string) map[string]voice {
	all := map[string]voice{s.hub.ID: clearVoice{s.hub}}
	for _, u := range s.people {
		all[u.ID] = clearVoice{u}
	}
	return all
}}

type clearVoice struct{ *testserver.User }

func (clearVoice) enter(context.Context, string, []string) error { return nil }

func (v clearVoice) say(ctx context.Context, room, kind string, content map[string]any) (string, error) {
	return v.SendEvent(ctx, room, kind, content)
}

func (v clearVoice) watch(ctx context.Context, room string) (watch, error) { return v.Watch(ctx, room) }

func (v clearVoice) read(ctx context.Context, room string) ([]testserver.Event, error) {
	return v.Messages(ctx, room)
}
