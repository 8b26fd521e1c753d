package testserver

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	configFile = "dendrite.yaml"
	keyFile    = "matrix_key.pem"
	lockName   = "dendrite.lock"
	logFile    = "dendrite.log"
)

// writeConfig writes the homeserver's configuration into its data directory, as JSON, which is also YAML.
//
// Every path in it is relative, and the homeserver runs in the data directory: Dendrite passes a database's path on to
// SQLite unescaped, where a `?` or `#` in the directory's name would cut it short, and no escape survives.
func (s *Server) writeConfig() error {
	database := func(name string) map[string]any {
		return map[string]any{"connection_string": "file:" + name + ".db"}
	}
	component := func(name string) map[string]any {
		return map[string]any{"database": database(name)}
	}
	config := map[string]any{
		"version": 2,
		"global": map[string]any{
			"server_name": s.Name,
			"private_key": keyFile,
			// The endpoint that says whose an OpenID token is belongs to the federation API.
			"disable_federation": false,
			"jetstream":          map[string]any{"storage_path": "./jetstream"},
		},
		"app_service_api": map[string]any{"config_files": s.registrations},
		"client_api": map[string]any{
			"registration_disabled":      true,
			"guests_disabled":            true,
			"registration_shared_secret": s.secret,
			"rate_limiting":              map[string]any{"enabled": false},
		},
		"federation_api": component("federationapi"),
		"key_server":     component("keyserver"),
		"media_api":      map[string]any{"base_path": "./media", "database": database("mediaapi")},
		"mscs":           component("mscs"),
		"relay_api":      component("relayapi"),
		"room_server":    component("roomserver"),
		"sync_api":       component("syncapi"),
		"user_api": map[string]any{
			"bcrypt_cost":      4,
			"account_database": database("userapi"),
			"device_database":  database("userdev"),
		},
		"logging": []any{map[string]any{"type": "std", "level": "info"}},
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encode homeserver configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.DataDir, configFile), data, 0o600); err != nil {
		return fmt.Errorf("write homeserver configuration: %w", err)
	}
	return nil
}

// signingKey reads the homeserver's signing key, or makes it on the first start, and returns its public half.
func signingKey(path string) (ed25519.PublicKey, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = newSigningKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("homeserver signing key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || len(block.Bytes) != ed25519.SeedSize {
		return nil, fmt.Errorf("homeserver signing key: %s does not hold one", path)
	}
	return ed25519.NewKeyFromSeed(block.Bytes).Public().(ed25519.PublicKey), nil
}

func newSigningKey(path string) ([]byte, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, err
	}
	data := pem.EncodeToMemory(&pem.Block{
		Type:    "MATRIX PRIVATE KEY",
		Headers: map[string]string{"Key-ID": "ed25519:" + rand.Text()[:6]},
		Bytes:   seed,
	})
	return data, os.WriteFile(path, data, 0o600)
}
