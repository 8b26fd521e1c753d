package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/schema"
)

func certificateKey(b byte) (ed25519.PrivateKey, certificate.Key) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
	return key, certificate.NewKey(key.Public().(ed25519.PublicKey))
}

// approval is a certificate of something that was approved a minute ago and lapses in an hour.
func approval(t *testing.T, change func(*certificate.Payload)) []byte {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	p := certificate.Payload{
		CertificateID: "crt_1", Issuer: "https://q.example.org", QuestionID: "q_1", ElicitationID: "elc_1", Asker: "ci",
		Subject: certificate.Subject{
			ID: "op \x1b[31m\u202e", Digest: "sha256:9f", Schema: "v1", Revision: 3, ExpiresAt: new(now.Add(time.Hour)),
		},
		OptionID: "yes", Meaning: certificate.Approve, Grant: new("once"), Responder: "@alice:example.org", Room: "!r:example.org",
		EventID: new("$e"), Surface: "structured", ApprovedAt: now.Add(-time.Minute),
	}
	if change != nil {
		change(&p)
	}
	key, _ := certificateKey(1)
	raw, err := certificate.Sign(key, p)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func keyListOf(t *testing.T, keys ...certificate.Key) string {
	t.Helper()
	raw, err := json.Marshal(certificate.KeyList{Issuer: "https://q.example.org", Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestCertificateVerify(t *testing.T) {
	t.Setenv("QUESTION_SERVER", "")
	_, own := certificateKey(1)
	_, other := certificateKey(2)
	retired := own
	retired.CreatedAt, retired.RetiredAt = new(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), new(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	genuine := string(approval(t, nil))
	files := map[string]string{
		"c": genuine, "line": genuine + "\n", "changed": strings.Replace(genuine, "sha256:9f", "sha256:9e", 1), "huge": strings.Repeat("x", certificate.MaxBytes+1),
		"lapsed": string(approval(t, func(p *certificate.Payload) {
			p.ApprovedAt, p.Subject.ExpiresAt = p.ApprovedAt.Add(-2*time.Hour), new(p.ApprovedAt.Add(-time.Hour))
		})),
		"ever":   string(approval(t, func(p *certificate.Payload) { p.Subject.ExpiresAt, p.Grant, p.EventID = nil, nil, nil })),
		"future": string(approval(t, func(p *certificate.Payload) { p.ApprovedAt = p.ApprovedAt.Add(30 * time.Minute) })),
		"keys":   keyListOf(t, other, retired), "others": keyListOf(t, other), "html": "<html>",
	}
	key := "--key " + own.PublicKey
	for _, c := range []struct {
		name, args string
		want       want
	}{
		{"by a key", "c " + key, want{0, "Genuine. Approved by @alice:example.org at 20", ""}},
		{"what it is of", "c " + key, want{0, "\n  subject         op \\u{001B}[31m\\u{202E}\n  digest          sha256:9f\n  schema          v1\n  revision        3\n", ""}},
		{"once", "c " + key, want{0, "once: whoever acts on it must do so once only", ""}},
		{"without end or grant", "ever " + key, want{0, "lapses at    never\n  option       yes (approve)\n  grant        not said\n", ""}},
		{"by one of two", "c --key " + other.PublicKey + " " + key, want{0, "Genuine", ""}},
		{"by a list", "c --keys keys", want{0, own.ID + ", which signs no more since 2026-02-01 00:00:00Z\n", ""}},
		{"by both", "c --keys others " + key, want{0, "Genuine", ""}},
		{"from standard input", "- " + key, want{0, "Genuine", ""}},
		{"as expected", "c --digest sha256:9f --schema v1 --revision 3 --at-most 2m " + key, want{0, "Genuine", ""}},
		{"approved by a fast clock", "future --at-most 2m " + key, want{6, "Genuine", "not within 2m0s"}},

		{"another key", "c --key " + other.PublicKey, want{5, "", "question: not a genuine certificate: it is not signed by a key that is trusted here (hint: \"questiond key list\""}},
		{"another list", "c --keys others", want{5, "", "trusted here"}},
		{"changed", "changed " + key, want{5, "", "its signature is not the key's\n"}},
		{"one byte more", "line " + key, want{5, "", "not in its canonical form, to the byte (hint: \"question show ID --certificate FILE\""}},
		{"too large", "huge " + key, want{5, "", "larger than a certificate can be"}},
		{"no JSON", "html " + key, want{5, "", "not one JSON value"}},
		{"changed and not expected", "changed --digest x " + key, want{5, "", "its signature"}},

		{"another digest", "c --digest sha256:9e " + key, want{6, "Genuine", "question: genuine, but not accepted: the digest is sha256:9f, not sha256:9e\n"}},
		{"another subject", "c --subject-id op " + key, want{6, "Genuine", "the subject's id is op \\u{001B}[31m\\u{202E}, not op\n"}},
		{"another schema", "c --schema V1 " + key, want{6, "Genuine", "the schema is v1, not V1\n"}},
		{"another revision", "c --revision 0 " + key, want{6, "Genuine", "the revision is 3, not 0\n"}},
		{"two things", "c --revision 4 --digest x " + key, want{6, "Genuine", "not x\ngenuine, but not accepted: the revision"}},
		{"too old", "c --at-most 30s " + key, want{6, "Genuine", "not within 30s\n"}},
		{"lapsed", "lapsed " + key, want{6, "which is over\n", "genuine, but not accepted: the subject has lapsed at 20"}},
		{"lapsed, and only looked at", "lapsed --lapsed " + key, want{0, "which is over\n", ""}},

		{"no file", key, want{2, "", "one FILE is needed\n"}},
		{"a file that is not there", "none " + key, want{2, "", "cannot read none: no such file"}},
		{"no keys", "c", want{2, "", "no keys to trust: give --key, --keys or --server"}},
		{"no key list", "c --keys html", want{2, "", "cannot read html: it is not a list of keys\n"}},
		{"a key that is none", "c --key abc", want{2, "", "--key: a public key is 43 characters"}},
		{"two sources", "c --server http://127.0.0.1:1 " + key, want{2, "", "not both"}},
		{"an empty expectation", "c --digest= " + key, want{2, "", "--digest is empty\n"}},
		{"no time", "c --at-most 0s " + key, want{2, "", "--at-most must be"}},
		{"a server that is none", "c --server example.org", want{2, "", "is not an http or https URL"}},
		{"a server that is not there", "c --server http://127.0.0.1:1", want{1, "", "cannot get the keys: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"certificate", "verify"}, strings.Fields(c.args)...)
			c.want.check(t, call{args: args, stdin: genuine, files: files}.run(t))
		})
	}
	want{2, "", "a command is needed: verify"}.check(t, call{args: []string{"certificate"}}.run(t))
}

func TestCertificateVerifyJSON(t *testing.T) {
	t.Setenv("QUESTION_SERVER", "")
	_, own := certificateKey(1)
	genuine := approval(t, nil)
	files := map[string]string{"c": string(genuine), "changed": string(genuine) + " "}
	for args, c := range map[string]struct {
		code              int
		genuine, accepted bool
		because           certificate.Code
		reasons           int
	}{
		"c":              {0, true, true, "", 0},
		"c --revision 9": {6, true, false, "", 1},
		"changed":        {5, false, false, certificate.CodeNotCanonical, 1},
	} {
		got := call{args: append([]string{"certificate", "verify", "--json", "--key", own.PublicKey}, strings.Fields(args)...), files: files}.run(t)
		var r judgementJSON
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != c.code || got.err != "" {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
		if r.Genuine != c.genuine || r.Accepted != c.accepted || r.Code != c.because || len(r.Reasons) != c.reasons || (r.Payload != nil) != c.genuine {
			t.Errorf("%s: %s", args, got.out)
		}
		if c.genuine && (r.Payload.Subject.ID != "op \x1b[31m\u202e" || r.Key.ID != own.ID) {
			t.Errorf("%s: %s", args, got.out)
		}
	}
}

// The keys that a server publishes are trusted, and nothing that it points to.
func TestCertificateVerifyByServer(t *testing.T) {
	_, own := certificateKey(1)
	files := map[string]string{"c": string(approval(t, nil))}
	list := keyListOf(t, own)
	mux := http.NewServeMux()
	serve := func(prefix string, f http.HandlerFunc) { mux.HandleFunc("GET "+prefix+certificate.KeysPath, f) }
	serve("/bridge", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a token was sent")
		}
		_, _ = w.Write([]byte(list))
	})
	serve("/empty", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(keyListOf(t, []certificate.Key{}...)))
	})
	serve("/html", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	serve("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/bridge"+certificate.KeysPath, http.StatusFound)
	})
	serve("/long", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(list + strings.Repeat(" ", maxKeyList)))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("QUESTION_TOKEN", agentToken)
	for path, w := range map[string]want{
		"/bridge/": {0, "Genuine", ""},
		"/bridge":  {0, "Genuine", ""},
		"":         {1, "", "cannot get the keys: the server answered 404 Not Found\n"},
		"/moved":   {1, "", "cannot get the keys: the server answered 302 Found\n"},
		"/html":    {1, "", "cannot get the keys: it is not a list of keys\n"},
		"/long":    {1, "", "cannot get the keys: the list is too long\n"},
	} {
		t.Setenv("QUESTION_SERVER", "")
		w.check(t, call{args: []string{"certificate", "verify", "c", "--server", server.URL + path}, files: files}.run(t))
		t.Setenv("QUESTION_SERVER", server.URL+path)
		w.check(t, call{args: []string{"certificate", "verify", "c"}, files: files}.run(t))
	}
	// A variable does not come in the way of what the command line trusts.
	want{0, "Genuine", ""}.check(t, call{args: []string{"certificate", "verify", "c", "--key", own.PublicKey}, files: files}.run(t))
}

func TestShowCertificate(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	raw := approval(t, nil)
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&object); err != nil {
		t.Fatal(err)
	}
	yes := asked(t, api, func(q *schema.Question) { choose(q, "approve"); q.Answer.Certificate = object })
	no := asked(t, api, func(q *schema.Question) { choose(q, "deny") })
	open := asked(t, api, nil)
	got := call{args: []string{"show", yes, "--certificate", "-"}}.run(t)
	if got.code != 0 || got.out != string(raw) || got.err != "" {
		t.Errorf("got %+v, want %s", got, raw)
	}
	got = call{args: []string{"show", yes, "--certificate", "approval.json"}}.run(t)
	if kept, err := readUpTo(newRoot(), []string{"approval.json"}, certificate.MaxBytes); err != nil || !slices.Equal(kept, raw) || got.code != 0 || got.out != "" {
		t.Errorf("got %+v, kept %s, %v", got, kept, err)
	}
	want{0, "--certificate FILE writes it", ""}.check(t, call{args: []string{"show", yes}}.run(t))
	for _, id := range []string{no, open} {
		want{1, "", "question: the question has no certificate: only an approval of a subject has one\n"}.check(t, call{args: []string{"show", id, "--certificate", "-"}}.run(t))
	}
	want{2, "", "--certificate needs a FILE"}.check(t, call{args: []string{"show", yes, "--certificate="}}.run(t))
	want{2, "", "either --certificate or --json"}.check(t, call{args: []string{"show", yes, "--certificate", "-", "--json"}}.run(t))
	want{2, "", "cannot write none/x: no such file or directory\n"}.check(t, call{args: []string{"show", yes, "--certificate", "none/x"}}.run(t))
}
