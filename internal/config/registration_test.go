package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func registered(t *testing.T, env map[string]string) (Config, string) {
	t.Helper()
	c, err := Load(write(t, least), func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return c, c.Appservice.Registration
}

func TestRegistrationIsLoadedAgain(t *testing.T) {
	c, path := registered(t, nil)
	made := c.NewRegistration()
	if err := made.Save(path, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	got, err := c.LoadRegistration()
	if err != nil {
		t.Fatal(err)
	}
	if got.ASToken != made.ASToken || got.HSToken != made.HSToken || got.ASToken == got.HSToken || len(got.ASToken) < 43 {
		t.Errorf("got %+v, want %+v", got, made)
	}
	if err := made.Save(path, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("replaced a file that exists: %v", err)
	}
	if err := made.Save(path, true); err != nil {
		t.Error(err)
	}
}

// The namespace holds the bot and nobody else.
func TestRegistrationNamespace(t *testing.T) {
	c, _ := registered(t, nil)
	reg := c.NewRegistration()
	data, err := reg.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\nnamespaces:\n", "\nrate_limited: false\n", "\nsender_localpart: questions\n", "\nurl: http://127.0.0.1:29331\n"} {
		if !strings.Contains(string(data), part) {
			t.Errorf("the file lacks %q:\n%s", part, data)
		}
	}
	if len(reg.Namespaces.Users) != 1 || !reg.Namespaces.Users[0].Exclusive {
		t.Fatalf("got %+v", reg.Namespaces)
	}
	namespace := regexp.MustCompile(reg.Namespaces.Users[0].Regex)
	for id, want := range map[string]bool{
		"@questions:example.org":      true,
		"@questions2:example.org":     false,
		"@x@questions:example.org":    false,
		"@questions:exampleXorg":      false,
		"@questions:example.org.evil": false,
	} {
		if namespace.MatchString(id) != want {
			t.Errorf("%s: matched %v", id, !want)
		}
	}
}

func TestTokensOfTheEnvironment(t *testing.T) {
	as, hs := strings.Repeat("a", minToken), strings.Repeat("h", minToken)
	c, path := registered(t, map[string]string{EnvASToken: as, EnvHSToken: hs})
	reg, err := c.LoadRegistration()
	if err != nil {
		t.Fatal(err)
	}
	if reg.ASToken != as || reg.HSToken != hs || reg.ID != "question-bridge" {
		t.Errorf("without a file: %+v", reg)
	}
	if err := c.NewRegistration().Save(path, false); err != nil {
		t.Fatal(err)
	}
	if reg, err = c.LoadRegistration(); err != nil || reg.ASToken != as || reg.HSToken != hs {
		t.Errorf("over a file: %+v, %v", reg, err)
	}
}

func TestRegistrationFaults(t *testing.T) {
	long := strings.Repeat("x", minToken)
	tests := []struct{ name, text, want string }{
		{"another bridge's", "{id: other, url: 'http://h', sender_localpart: s, as_token: " + long + ", hs_token: y}",
			"registration: id: must equal appservice.id: run `questiond registration --force`, and give the new file to the homeserver\n" +
				"registration: sender_localpart: must equal appservice.bot.localpart: run `questiond registration --force`, and give the new file to the homeserver\n" +
				"registration: url: must equal appservice.url: run `questiond registration --force`, and give the new file to the homeserver\n" +
				"registration: hs_token: must be at least 32 letters, digits or ._~+/=- (also by QUESTION_HS_TOKEN)"},
		{"one token for both", "{id: question-bridge, url: 'http://127.0.0.1:29331', sender_localpart: questions, as_token: " + long + ", hs_token: " + long + "}",
			"registration: hs_token: must differ from as_token"},
		{"no YAML", "[", "read registration: did not find expected node content (line 1)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, path := registered(t, nil)
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := c.LoadRegistration()
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestNoRegistrationYet(t *testing.T) {
	c, _ := registered(t, nil)
	c.Appservice.Registration = filepath.Join(t.TempDir(), "none.yaml")
	_, err := c.LoadRegistration()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "questiond registration") {
		t.Errorf("got %v", err)
	}
}

// A registration asks for what encryption needs, where there is any.
func TestRegistrationOfDevices(t *testing.T) {
	c := Default()
	c.Homeserver.Domain = "example.org"
	for _, enabled := range []bool{false, true} {
		c.Encryption.Enabled = enabled
		data, err := c.NewRegistration().YAML()
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"receive_ephemeral", "de.sorunome.msc2409.push_ephemeral", "org.matrix.msc3202", "io.element.msc4190"} {
			if strings.Contains(string(data), "\n"+flag+": true\n") != enabled {
				t.Errorf("%s, with encryption %v", flag, enabled)
			}
		}
	}
}
