package config

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func whsec(fill byte, n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(fill)), n)))
}

const oneHook = least + "webhooks: [{name: a, rooms: ['*'], url: 'https://h/', secrets: [%]}]\n"

func withSecrets(secrets string) string { return strings.Replace(oneHook, "%", secrets, 1) }

func TestSecretsOfWebhooks(t *testing.T) {
	env := map[string]string{"NEW": whsec('n', 32)}
	path := write(t, withSecrets("{env: NEW}, {file: old.secret}"))
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "old.secret"), []byte(whsec('o', 24)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Webhooks[0].Secrets; len(s) != 2 || s[0].Value() != env["NEW"] || s[1].Value() != whsec('o', 24) {
		t.Errorf("got %+v", s)
	}
}

// An empty secret is an error of the configuration (field case D6), and so is one that signs nothing worth the name.
func TestD6SecretsThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := map[string]string{
		"EMPTY": "", "PREFIX": "whsec_", "BARE": strings.TrimPrefix(whsec('b', 32), "whsec_"), "SHORT": whsec('s', 23),
		"LONG": whsec('l', 65), "TEXT": "whsec_not base64 at all", "GOOD": whsec('g', 32),
	}
	for secrets, want := range map[string]string{
		"":                                 "webhooks[0].secrets: must be one",
		"{}":                               "webhooks[0].secrets[0]: must have either file or env",
		"{file: x, env: GOOD}":             "webhooks[0].secrets[0]: must have either file or env",
		"{env: EMPTY}":                     "webhooks[0].secrets[0]: the environment variable is not set, or empty",
		"{env: GOOD}, {env: NONE}":         "webhooks[0].secrets[1]: the environment variable is not set, or empty",
		"{file: " + file("e", " \n") + "}": "webhooks[0].secrets[0]: the file is empty",
		"{file: " + folder + "/none}":      "webhooks[0].secrets[0]: the file cannot be read",
		"{env: PREFIX}":                    "webhooks[0].secrets[0]: must be whsec_",
		"{env: BARE}":                      "webhooks[0].secrets[0]: must be whsec_",
		"{env: SHORT}":                     "webhooks[0].secrets[0]: must be whsec_",
		"{env: LONG}":                      "webhooks[0].secrets[0]: must be whsec_",
		"{env: TEXT}":                      "webhooks[0].secrets[0]: must be whsec_",
		"{env: GOOD}, {env: GOOD}":         "webhooks[0].secrets[1]: must differ",
		"{env: GOOD}, {env: A}, {env: B}":  "webhooks[0].secrets: must be one, or two",
	} {
		_, err := Load(write(t, withSecrets(secrets)), func(name string) string { return env[name] })
		var faults Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", secrets, err, want)
			continue
		}
		for _, value := range env {
			if value != "" && value != "whsec_" && strings.Contains(err.Error(), value) {
				t.Errorf("%s: the fault shows the secret: %v", secrets, err)
			}
		}
	}
}

func TestFaultsOfWebhooks(t *testing.T) {
	good := func(name string) string { return map[string]string{"G": whsec('g', 32)}[name] }
	for text, want := range map[string]string{
		"webhooks: [{name: 'a b', rooms: [X], url: 'ftp://u:hunter2@h', secrets: [{env: G}], events: [answered]}]": "webhooks[0].name: must be 1 to 64 letters, digits or ._-\n" +
			"webhooks[0].rooms[0]: must be a code of rooms, a room id, an alias, or *\n" +
			"webhooks[0].url: must be an https:// address (http:// only where egress.allow lists the host) without a user or a fragment\n" +
			"webhooks[0].events[0]: must be one of " + strings.Join(WebhookEvents, ", "),
		"webhooks: [{name: a, url: 'https://h', secrets: [{env: G}]}]":                                                                               "webhooks[0].rooms: must name at least one room, or * for every room",
		"webhooks: [{name: a, rooms: ['*'], url: 'https://h', secrets: [{env: G}]}, {name: a, rooms: ['*'], url: 'https://h', secrets: [{env: G}]}]": "webhooks[1].name: must differ from webhooks[0].name",
		"egress: {allow: [10.0.0.0/33, 'x:80', 127.0.0, '*']}": "egress.allow[0]: must be a network like 10.1.0.0/16, an address, or a host name without a port\n" +
			"egress.allow[1]: must be a network like 10.1.0.0/16, an address, or a host name without a port\n" +
			"egress.allow[2]: must be a network like 10.1.0.0/16, an address, or a host name without a port\n" +
			"egress.allow[3]: must be a network like 10.1.0.0/16, an address, or a host name without a port",
	} {
		if _, err := Load(write(t, least+text), good); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := Load(write(t, least+"egress: {allow: [10.0.0.0/8, 'fd00::/8', '::1', 127.0.0.1, hooks.internal, localhost]}"), good); err != nil {
		t.Error(err)
	}
}
