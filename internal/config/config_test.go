package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// none is an environment without secrets.
func none(string) string { return "" }

// least is the shortest configuration that is right.
const least = `
homeserver: {url: "http://127.0.0.1:8008", domain: example.org}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string) Config {
	t.Helper()
	c, err := Load(write(t, text), none)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoadLeast(t *testing.T) {
	c := load(t, least)
	if c.BotID() != "@questions:example.org" || c.APIURL() != "http://127.0.0.1:29330" {
		t.Errorf("bot %s, API %s", c.BotID(), c.APIURL())
	}
	for what, servers := range map[string][]string{"invites": c.Join.From, "people who sign in": c.Auth.OpenID.Servers} {
		if len(servers) != 1 || servers[0] != "example.org" {
			t.Errorf("%s from %q, want the own server", what, servers)
		}
	}
	if c.Auth.OpenID.MayApprove {
		t.Error("whoever signs in may approve")
	}
}

func TestNobodySignsIn(t *testing.T) {
	if c := load(t, least+"auth: {openid: {servers: []}}"); c.Auth.OpenID.Servers == nil || len(c.Auth.OpenID.Servers) > 0 {
		t.Errorf("people sign in from %q, want nobody", c.Auth.OpenID.Servers)
	}
}

func TestJoinFromNobody(t *testing.T) {
	if c := load(t, least+"join: {from: []}"); len(c.Join.From) != 0 {
		t.Errorf("invites from %q, want nobody", c.Join.From)
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	path := write(t, least+`
database: {path: data/q.db}
appservice: {registration: /etc/registration.yaml}
logging: {writers: [{type: file, filename: q.log}]}
`)
	c, err := Load(path, none)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(path)
	for got, want := range map[string]string{
		c.Database.Path:               filepath.Join(folder, "data", "q.db"),
		c.Appservice.Registration:     "/etc/registration.yaml",
		c.Logging.Writers[0].Filename: filepath.Join(folder, "q.log"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSecretsOfTheEnvironmentGoFirst(t *testing.T) {
	env := map[string]string{EnvDatabaseURI: "postgres://env@localhost/q"}
	path := write(t, least+"database: {type: postgres, uri: 'postgres://file@localhost/q'}")
	c, err := Load(path, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if c.Database.URI != env[EnvDatabaseURI] {
		t.Errorf("got %s", c.Database.URI)
	}
}

func TestSavedIsLoadedAgain(t *testing.T) {
	c := Default()
	c.Homeserver = Homeserver{URL: "http://127.0.0.1:8008", Domain: "example.org"}
	c.Rooms = []Room{{Code: "OPS", Room: "!a:example.org"}}
	c.Join.From, c.Auth.OpenID.Servers = []string{}, []string{}
	c.Logging = LogToFile("q.log")
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := c.Save(path, "two\nlines"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	got, err := Load(path, none)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rooms[0] != c.Rooms[0] || got.Join.From == nil || len(got.Join.From) != 0 || *got.Logging.MinLevel != *c.Logging.MinLevel {
		t.Errorf("got %+v", got)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), none)
	var faults Faults
	if !errors.Is(err, os.ErrNotExist) || errors.As(err, &faults) {
		t.Errorf("got %v", err)
	}
}

func TestFaultsNeverShowValues(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"database: {type: postgres, uri: 'mysql://u:hunter2@h/d'}",
		"database: hunter2",
		"replies: {unthreaded: [hunter2]}",
		"workspace_admins: {power_level: hunter2}",
		"api: {public_url: 'http://u:hunter2@h'}",
	} {
		_, err := Load(write(t, least+text), none)
		if err == nil {
			t.Errorf("%s: no fault", text)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
