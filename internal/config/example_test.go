package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.mau.fi/zeroconfig"
	"go.yaml.in/yaml/v3"
)

var top = filepath.Join("..", "..")

// bare is what the lines of the example's examples begin with, unlike those of its prose.
var bare = regexp.MustCompile(`(?m)^#([^ #\n]|  )`)

// wholeExample is the example with its examples taken for settings.
func wholeExample(t *testing.T) []byte {
	t.Helper()
	return bare.ReplaceAll(readTop(t, "config.example.yaml"), []byte("$1"))
}

// Whoever copies the example and sets the homeserver has the defaults: no account of the example gets any right.
func TestExampleIsSafeToCopy(t *testing.T) {
	text := strings.ReplaceAll(string(readTop(t, "config.example.yaml")), "  domain: example.org", "  domain: my.example.com")
	c, err := Load(write(t, text), none)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Homeserver = Homeserver{URL: c.Homeserver.URL, Domain: "my.example.com"}
	want.Join.From, want.Auth.OpenID.Servers = []string{"my.example.com"}, []string{"my.example.com"}
	want.Appservice.Registration, want.Database.Path = c.Appservice.Registration, c.Database.Path
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

// The example is right, and shows the defaults wherever there are any.
func TestExampleShowsTheDefaults(t *testing.T) {
	c, faults := parse(wholeExample(t))
	if faults = append(faults, c.check()...); len(faults) > 0 {
		t.Fatal(faults)
	}
	want := Default()
	want.Homeserver, want.API.PublicURL, want.API.TrustedProxies = c.Homeserver, c.API.PublicURL, c.API.TrustedProxies
	want.Rooms, want.Agents, want.Carriers, want.Bots = c.Rooms, c.Agents, c.Carriers, c.Bots
	want.WorkspaceAdmins = c.WorkspaceAdmins
	want.Webhooks, want.Egress, want.Audit = c.Webhooks, c.Egress, c.Audit
	want.Encryption.PickleKey, want.Encryption.Password, want.Encryption.RoomTrust = c.Encryption.PickleKey, c.Encryption.Password, c.Encryption.RoomTrust
	want.Join.From, want.Auth.OpenID.Servers = []string{c.Homeserver.Domain}, []string{c.Homeserver.Domain}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

// Every setting is in the example, each with a comment above it or above its section.
func TestExampleIsComplete(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal(wholeExample(t), &doc); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	keys(doc.Content[0], "", shown)
	for _, field := range settings(reflect.TypeFor[Config](), "") {
		if !shown[field] {
			t.Errorf("config.example.yaml does not show %s", field)
		}
	}
}

func keys(n *yaml.Node, at string, into map[string]bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key := at + "." + n.Content[i].Value
			into[key] = true
			keys(n.Content[i+1], key, into)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			keys(item, at, into)
		}
	}
}

// settings lists the paths of a struct's fields as YAML names them. What is in logging is not ours.
func settings(t reflect.Type, at string) []string {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return settings(t.Elem(), at)
	case reflect.Struct:
	default:
		return nil
	}
	if t == reflect.TypeFor[zeroconfig.Config]() || t == reflect.TypeFor[Secret]() { // a secret has one of two places
		return nil
	}
	var paths []string
	for f := range t.Fields() {
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		paths = append(paths, at+"."+name)
		paths = append(paths, settings(f.Type, at+"."+name)...)
	}
	return paths
}

var tokens = regexp.MustCompile(`(?m)^(as_token|hs_token): .*$`)

// The example registration is what the command makes from the example configuration, without its tokens.
func TestExampleRegistration(t *testing.T) {
	c, _ := parse(readTop(t, "config.example.yaml"))
	made, err := c.NewRegistration().YAML()
	if err != nil {
		t.Fatal(err)
	}
	const note = "$1: <made by questiond registration>"
	want := tokens.ReplaceAll(made, []byte(note))
	if got := readTop(t, "registration.yaml"); !bytes.Equal(got, want) {
		t.Errorf("registration.yaml should be:\n%s", want)
	}
	if bytes.Equal(made, want) {
		t.Error("no token was made")
	}
}

// Nobody can run with the example's tokens, which everybody knows.
func TestExampleRegistrationIsRefused(t *testing.T) {
	c, _ := parse(readTop(t, "config.example.yaml"))
	c.Appservice.Registration = filepath.Join(top, "registration.yaml")
	_, err := c.LoadRegistration()
	if err == nil || !strings.Contains(err.Error(), "as_token") || !strings.Contains(err.Error(), "hs_token") {
		t.Errorf("got %v", err)
	}
}

func readTop(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
