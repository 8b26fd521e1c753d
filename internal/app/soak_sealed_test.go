//go:build goolm

package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// TestSoakEncrypted kills the bridge in encrypted rooms, in which everybody speaks encrypted.
func TestSoakEncrypted(t *testing.T) { soakTest(t, sealed, killBridge) }

var sealed = manner{encrypted: true, configure: func(s *soak, cfg *config.Config, dir string) {
	key := filepath.Join(dir, "pickle.key")
	s.ok(os.WriteFile(key, []byte("a key for tests, which is long enough"), 0o600))
	cfg.Encryption.Enabled, cfg.Encryption.PickleKey = true, config.Secret{File: key}
}, voices: func(s *soak, dir string) map[string]voice {
	all := map[string]voice{}
	for _, u := range append(s.people[:len(s.people):len(s.people)], s.hub) {
		c, err := sealedclient.New(s.ctx, u, filepath.Join(dir, u.ID[1:6]+".db"))
		s.ok(err)
		s.t.Cleanup(func() { _ = c.Close() })
		all[u.ID] = sealedVoice{c}
	}
	return all
}}

type sealedVoice struct{ *sealedclient.Client }

func (v sealedVoice) enter(ctx context.Context, room string, everybody []string) error {
	return v.WaitForRoom(ctx, room, everybody...)
}

func (v sealedVoice) say(ctx context.Context, room, kind string, content map[string]any) (string, error) {
	if kind == "m.reaction" {
		return v.SendEvent(ctx, room, kind, content)
	}
	return v.Say(ctx, room, content)
}

func (v sealedVoice) watch(_ context.Context, room string) (watch, error) { return v.Follow(room), nil }

// read decrypts everything. A message that is not encrypted is an error: everybody encrypts here.
func (v sealedVoice) read(ctx context.Context, room string) ([]testserver.Event, error) {
	all, err := v.Messages(ctx, room)
	if err != nil {
		return nil, err
	}
	for i, e := range all {
		switch {
		case e.Type == "m.room.message" && string(e.Content) != "{}":
			return nil, fmt.Errorf("%s of %s came in clear: %s", e.ID, e.Sender, e.Content)
		case e.Type != "m.room.encrypted" || string(e.Content) == "{}":
			continue
		}
		if all[i] = v.Open(ctx, room, e, 0); all[i].Type == e.Type {
			return nil, fmt.Errorf("%s of %s cannot be read", e.ID, e.Sender)
		}
	}
	return all, nil
}
