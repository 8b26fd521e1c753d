package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Tokens that are made and revoked are in the audit log, without their secrets; where the log is a stream, the output of
// the command is its own. A log that cannot be opened makes no token.
func TestTokensAreAudited(t *testing.T) {
	path := folder(t, leastConfig+"\naudit: {file: audit.jsonl}\n")
	secret := strings.TrimSpace(call(t, "token", "add", "ci", "-c", path, "--rooms", "OPS").out)
	id := regexp.MustCompile(`tok_[a-z2-7]{12}`).FindString(call(t, "token", "list", "-c", path).out)
	call(t, "token", "add", "--user", "@alice:example.org", "-c", path).want(t, exitOK, "qu_", "of @alice:example.org")
	call(t, "token", "revoke", id, "-c", path).want(t, exitOK, "Revoked", "")
	call(t, "token", "revoke", "tok_none", "-c", path)
	lines := strings.Split(strings.TrimSpace(read(t, filepath.Join(filepath.Dir(path), "audit.jsonl"))), "\n")
	for i, want := range []string{
		`"action":"token_added","agent":"ci","via":"command","token_id":"` + id + `"}`,
		`"action":"token_added","user":"@alice:example.org","via":"command","token_id":"tok_`,
		`"action":"token_revoked","via":"command","token_id":"` + id + `"}`,
	} {
		if len(lines) != 3 || !strings.Contains(lines[i], want) || strings.Contains(lines[i], secret) {
			t.Errorf("line %d of %q lacks %s", i, lines, want)
		}
	}
	call(t, "forget", "@alice:example.org", "--dry-run", "-c", path).want(t, exitOK, "Left: the audit log", "")

	stream := folder(t, leastConfig+"\naudit: {file: stdout}\n")
	if added := call(t, "token", "add", "ci", "-c", stream, "--rooms", "OPS"); strings.Count(added.out, "\n") != 1 || strings.Contains(added.out, "action") {
		t.Errorf("the secret is not alone on stdout: %q", added.out)
	}
	broken := folder(t, leastConfig+"\naudit: {file: none/audit.jsonl}\n")
	call(t, "token", "add", "ci", "-c", broken, "--rooms", "OPS").want(t, exitFailed, "", "open the audit log")
	if list := call(t, "token", "list", "-c", broken); list.code != exitOK || strings.Contains(list.out, "tok_") {
		t.Errorf("a token was made: %q", list.out)
	}
}
