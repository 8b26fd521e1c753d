//go:build goolm

package matrix

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// published is what everybody can see of the bot's keys.
type published struct {
	Devices map[string]struct {
		Keys       map[string]string
		Signatures map[string]map[string]string
	}
	Master, Self struct{ Keys map[string]string }
}

// published asks the homeserver, as alice, for the bot's keys.
func (r *real) published() published {
	r.t.Helper()
	var got struct {
		Devices map[string]json.RawMessage `json:"device_keys"`
		Master  map[string]json.RawMessage `json:"master_keys"`
		Self    map[string]json.RawMessage `json:"self_signing_keys"`
	}
	noError(r.t, r.alice.Do(within(r.t), testserver.Request{
		Method: "POST", Path: "/_matrix/client/v3/keys/query", Body: map[string]any{"device_keys": map[string]any{string(r.Bot()): []string{}}},
	}, &got))
	var p published
	for _, part := range []struct {
		raw  json.RawMessage
		into any
	}{{got.Devices[string(r.Bot())], &p.Devices}, {got.Master[string(r.Bot())], &p.Master}, {got.Self[string(r.Bot())], &p.Self}} {
		if part.raw != nil {
			noError(r.t, json.Unmarshal(part.raw, part.into))
		}
	}
	return p
}

// signed says whether the bot's one device is signed by the identity that is published.
func (p published) signed(bot bridge.UserID) bool {
	for _, d := range p.Devices {
		for key := range p.Self.Keys {
			if d.Signatures[string(bot)][key] != "" {
				return len(p.Master.Keys) == 1
			}
		}
	}
	return false
}

// botPassword gives the bot a password, as its operator would.
func (r *real) botPassword(password string) {
	r.t.Helper()
	root, err := r.hs.Register(within(r.t), testserver.Account{Name: "root", Admin: true})
	noError(r.t, err)
	noError(r.t, root.ResetPassword(within(r.t), string(r.Bot()), password))
}

// again connects another bridge on the same database, as a restart does. It does not run.
func (r *real) again(change func(*Config)) *machine {
	r.t.Helper()
	r.stop()
	cfg := r.cfg
	encryption := *cfg.Encryption
	cfg.Encryption = &encryption
	change(&cfg)
	s, err := New(cfg, r.db, bridge.SystemClock{})
	noError(r.t, err)
	_, err = s.Connect(within(r.t))
	noError(r.t, err)
	return s.cipher.(*machine)
}

// The bot's identity signs its device where the homeserver lets it, which Dendrite does by the bot's password; it stays the
// same over restarts, is published once, and signs a device again that was deleted.
func TestSignedDevice(t *testing.T) {
	r, _ := startEncrypted(t)
	if p := r.published(); len(p.Devices) != 1 || len(p.Master.Keys) != 0 {
		t.Fatalf("published without a password: %+v", p)
	}
	var uploads []string
	see := func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/keys/device_signing/upload") || strings.HasSuffix(path, "/keys/signatures/upload") || strings.Contains(path, "/account_data/") {
			uploads = append(uploads, path)
		}
		return body
	}
	r.lie.Store(&see)
	r.botPassword("a password of the bot")
	password := func(c *Config) { c.Encryption.Password = "a password of the bot" }
	r.again(password)
	first := r.published()
	if !first.signed(r.Bot()) {
		t.Fatalf("not signed: %+v", first)
	}
	if len(uploads) == 0 {
		t.Fatal("nothing was seen to be uploaded")
	}
	uploads = nil
	r.again(password)
	c := r.again(func(*Config) {})
	if len(uploads) > 0 {
		t.Errorf("uploaded again: %q", uploads)
	}
	if again := r.published(); !again.signed(r.Bot()) || encoded(t, again) != encoded(t, first) {
		t.Errorf("it was %+v, and is %+v", first, again)
	}

	recovery, err := RecoveryKey(t.Context(), *r.cfg.Encryption, r.db)
	noError(t, err)
	key, meta, err := c.olm.SSSS.GetDefaultKeyData(within(t))
	noError(t, err)
	opened, err := meta.VerifyRecoveryKey(key, recovery)
	noError(t, err)
	noError(t, c.olm.FetchCrossSigningKeysFromSSSS(within(t), opened))
	stored, _, err := c.identity(t.Context())
	noError(t, err)
	if c.olm.CrossSigningKeys.MasterKey.PublicKey() != stored.MasterKey.PublicKey() {
		t.Error("the recovery key opens another identity")
	}

	noError(t, c.dev.call(within(t), "POST", []any{"v3", "logout"}, nil, struct{}{}, nil))
	noError(t, c.relogin(within(t), c.cli.AccessToken))
	if p := r.published(); !p.signed(r.Bot()) || encoded(t, p.Master) != encoded(t, first.Master) {
		t.Errorf("after the device was deleted: %+v", p)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	noError(t, err)
	return string(raw)
}

// A homeserver that takes no signing keys is done without, and one that does not answer is asked again.
func TestUnsignedDevice(t *testing.T) {
	r, alice := startEncrypted(t)
	room := r.sealedRoom()
	r.askSealed(room, alice, plain())
	c := r.cipher.(*machine)
	if !c.refused {
		t.Error("it was not noticed")
	}
	noError(t, c.relogin(within(t), c.cli.AccessToken))
	gone := func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/keys/device_signing/upload") {
			panic(http.ErrAbortHandler)
		}
		return body
	}
	r.lie.Store(&gone)
	defer r.lie.Store(nil)
	if err := c.crossSign(within(t)); err == nil || !unreachable(err) {
		t.Errorf("without an answer: %v", err)
	}
}

// A pickle key that does not fit, keys that are forgotten, and a database without any.
func TestStoredKeys(t *testing.T) {
	r, _ := startEncrypted(t)
	wrong := *r.cfg.Encryption
	wrong.PickleKey = []byte("another key for tests")
	if _, err := ReadDevice(t.Context(), wrong, r.db); !errors.Is(err, errPickle) {
		t.Errorf("a wrong pickle key: %v", err)
	}
	if _, err := RecoveryKey(t.Context(), wrong, r.db); !errors.Is(err, errPickle) {
		t.Errorf("a wrong pickle key: %v", err)
	}
	d, err := ReadDevice(t.Context(), *r.cfg.Encryption, r.db)
	noError(t, err)
	if _, there := r.published().Devices[d.ID]; !there || d.Key == "" {
		t.Errorf("the device is %+v", d)
	}
	noError(t, ForgetDevice(t.Context(), r.db))
	d, err = ReadDevice(t.Context(), wrong, r.db)
	noError(t, err)
	if d != (Device{}) {
		t.Errorf("forgotten, and still %+v", d)
	}
	empty, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: t.TempDir() + "/q.db"})
	noError(t, err)
	defer empty.Close()
	noError(t, ForgetDevice(t.Context(), empty))
}
