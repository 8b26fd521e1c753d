package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/app"
)

func TestTokens(t *testing.T) {
	path := folder(t, leastConfig)
	added := call(t, "token", "add", "ci", "-c", path, "--rooms", "OPS,!abc", "--scopes", "ask,read:room,gate", "--expires", "90d")
	added.want(t, exitOK, "\n", "of agent ci; keep it")
	secret := strings.TrimSpace(added.out)
	if len(secret) < 40 || strings.ContainsAny(secret, " \n") {
		t.Fatalf("the secret is not alone on stdout: %q", added.out)
	}
	call(t, "token", "add", "other", "-c", path, "--rooms", "*").want(t, exitOK, "\n", "agents do not list other")

	list := call(t, "token", "list", "-c", path)
	list.want(t, exitOK, "ID", "")
	lines := strings.Split(strings.TrimSpace(list.out), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %q", list.out)
	}
	day := time.Now().Add(90 * 24 * time.Hour).UTC().Format("2006-01-02")
	for _, part := range []string{"ci", "valid", "OPS,!abc", "ask,read:room,gate", day} {
		if !strings.Contains(lines[1], part) {
			t.Errorf("%q lacks %q", lines[1], part)
		}
	}
	if !strings.Contains(lines[2], "ask,read,cancel") || strings.Contains(list.out, secret) {
		t.Errorf("got %q", list.out)
	}
	if strings.Contains(read(t, filepath.Join(filepath.Dir(path), "question-bridge.db")), secret) {
		t.Error("the secret is in the database")
	}

	id := strings.Fields(lines[1])[0]
	call(t, "token", "revoke", id, "-c", path).want(t, exitOK, "Revoked "+id, "")
	call(t, "token", "list", "-c", path).want(t, exitOK, "revoked", "")
	call(t, "token", "revoke", "t_none", "-c", path).want(t, exitFailed, "", `there is no token "t_none"`)
}

// TestTokensOfPeople are listed and revoked like those of agents.
func TestTokensOfPeople(t *testing.T) {
	path := folder(t, leastConfig)
	added := call(t, "token", "add", "--user", "@alice:example.org", "-c", path, "--expires", "90d")
	added.want(t, exitOK, "qu_", "of @alice:example.org; keep it")
	if strings.Contains(added.err, "agent") || strings.Count(added.out, "\n") != 1 {
		t.Errorf("got %q, %q", added.out, added.err)
	}
	list := call(t, "token", "list", "-c", path)
	list.want(t, exitOK, "ACTS AS", "")
	row := strings.Fields(strings.Split(list.out, "\n")[1])
	day := time.Now().Add(90 * 24 * time.Hour).UTC().Format("2006-01-02")
	if got := strings.Join(row[1:5], " "); got != "@alice:example.org valid - answer" || !strings.Contains(list.out, day) {
		t.Errorf("got %q", list.out)
	}
	call(t, "token", "revoke", row[0], "-c", path).want(t, exitOK, "Revoked "+row[0], "")
	call(t, "token", "list", "-c", path).want(t, exitOK, "revoked", "")
}

// TestSessionsAreListed among the tokens, told from them.
func TestSessionsAreListed(t *testing.T) {
	now := time.Now()
	until := now.Add(time.Minute)
	var out strings.Builder
	writeTokens(&out, []app.Token{
		{ID: "ses_1", User: "@alice:example.org", Session: true, CreatedAt: now, ExpiresAt: &until},
		{ID: "tok_1", User: "@alice:example.org", CreatedAt: now},
	}, now)
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[1], "answer (signed in)") || strings.Contains(lines[2], "signed in") {
		t.Errorf("got\n%s", &out)
	}
}

func TestGrantsThatAreRefused(t *testing.T) {
	path := folder(t, leastConfig)
	tests := []struct{ name, args, want string }{
		{"no rooms", "ci", "--rooms is needed"},
		{"an unknown code", "ci --rooms DEV", `--rooms: "DEV" is neither a code`},
		{"a code in another case", "ci --rooms ops", `--rooms: "ops" is neither a code`},
		{"an unknown scope", "ci --rooms OPS --scopes rule", `--scopes: "rule" is none of ask, read, read:room, cancel, queue, gate`},
		{"an agent with a slash", "a/b --rooms OPS", "AGENT must be"},
		{"no time", "ci --rooms OPS --expires soon", `--expires: "soon" is not a time`},
		{"a time that is over", "ci --rooms OPS --expires -1h", `--expires: "-1h" is not a time`},
		{"neither", "--expires 1d", "one AGENT is needed, or --user"},
		{"both", "ci --user @alice:example.org", "either an AGENT or --user"},
		{"a person without an id", "--user alice", "--user must be a user id"},
		{"nobody", "--user=", "--user is empty"},
		{"a person with rooms", "--user @alice:example.org --rooms OPS", "--rooms and --scopes are for an AGENT"},
		{"a person with scopes", "--user @alice:example.org --scopes read", "--rooms and --scopes are for an AGENT"},
		{"our own bot", "--user @questions:example.org", "which never answers"},
		{"no time at all", "ci --rooms OPS --expires 0d", `--expires: "0d" is not a time`},
		{"too many days", "ci --rooms OPS --expires 40000d", `--expires: "40000d" is not a time`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"token", "add", "-c", path}, strings.Fields(tt.args)...)
			call(t, args...).want(t, exitUsage, "", tt.want)
		})
	}
}

func TestLifetimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "90d": 90 * 24 * time.Hour, "12h": 12 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second,
	} {
		if got, err := parseLifetime(text); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
