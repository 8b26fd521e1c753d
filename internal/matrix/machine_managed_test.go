//go:build goolm

package matrix

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
)

// keyServer is what a homeserver keeps of one user's keys, at the network's edge. It manages devices (MSC 4190) and has no
// login for application services, as such homeservers do, and asks nobody for a password.
type keyServer struct {
	mu           sync.Mutex
	devices      []string // that were made
	keys         map[string]any
	master, self any
	withoutID    []string // requests that do not say which device they are of
	passwords    bool     // were asked for, or sent
}

func (k *keyServer) answer(w http.ResponseWriter, r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/_matrix/client/v3/")
	raw, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(raw)))
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	reply := func(status int, v any) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
		return true
	}
	if ok && (strings.HasPrefix(path, "keys/") || strings.HasPrefix(path, "user/")) && len(k.devices) > 0 && r.URL.Query().Get("device_id") != k.devices[0] {
		k.withoutID = append(k.withoutID, path)
	}
	k.passwords = k.passwords || body["auth"] != nil
	switch {
	case path == "login":
		return reply(400, map[string]any{"errcode": "M_APPSERVICE_LOGIN_UNSUPPORTED", "error": "no"})
	case r.Method == http.MethodPut && strings.HasPrefix(path, "devices/"):
		k.devices = append(k.devices, strings.TrimPrefix(path, "devices/"))
		return reply(201, map[string]any{})
	case path == "keys/upload":
		if keys, ok := body["device_keys"].(map[string]any); ok {
			k.keys = keys
		}
		return reply(200, map[string]any{"one_time_key_counts": map[string]int{keyKind: 50}})
	case path == "keys/query":
		answer := map[string]any{"device_keys": map[string]any{bot: map[string]any{}}}
		if k.keys != nil {
			answer["device_keys"] = map[string]any{bot: map[string]any{k.devices[0]: k.keys}}
		}
		if k.master != nil {
			answer["master_keys"], answer["self_signing_keys"] = map[string]any{bot: k.master}, map[string]any{bot: k.self}
		}
		return reply(200, answer)
	case path == "keys/device_signing/upload":
		k.master, k.self = body["master_key"], body["self_signing_key"]
		return reply(200, map[string]any{})
	case path == "keys/signatures/upload":
		signed := body[bot].(map[string]any)[k.devices[0]].(map[string]any)
		for by, signature := range signed["signatures"].(map[string]any)[bot].(map[string]any) {
			k.keys["signatures"].(map[string]any)[bot].(map[string]any)[by] = signature
		}
		return reply(200, map[string]any{})
	case strings.HasPrefix(path, "user/"):
		return reply(200, map[string]any{})
	}
	return false
}

// A homeserver that manages the devices of application services: the bot's device is made there, is the same after a restart,
// and every request says that it is its own. Where no password is asked for, none is needed to sign it.
func TestManagedDevice(t *testing.T) {
	k := &keyServer{}
	r := newRig(t, nil)
	r.server.intercept(k.answer)
	cfg := r.cfg
	cfg.Encryption = &Encryption{Database: r.db.Database(), PickleKey: []byte("a key for tests"), Trust: TrustKnown}
	for range 2 {
		s, err := New(cfg, r.db, bridge.SystemClock{})
		noError(t, err)
		_, err = s.Connect(t.Context())
		noError(t, err)
		if c := s.cipher.(*machine); c.refused || string(c.cli.DeviceID) != k.devices[0] {
			t.Errorf("device %s of %v, refused: %v", c.cli.DeviceID, k.devices, c.refused)
		}
	}
	if len(k.devices) != 2 || k.devices[0] != k.devices[1] {
		t.Errorf("devices %v", k.devices)
	}
	if len(k.withoutID) > 0 || k.passwords {
		t.Errorf("as no device: %v; a password: %v", k.withoutID, k.passwords)
	}
	if n := len(k.keys["signatures"].(map[string]any)[bot].(map[string]any)); n != 2 {
		t.Errorf("the device has %d signatures", n)
	}
}
