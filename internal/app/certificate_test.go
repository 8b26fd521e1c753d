package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/httpapi/apitest"
	"superpipeline.dev/question-bridge/schema"
)

// office is a bridge as it is put together for serving, in a room without a homeserver.
type office struct {
	*testing.T
	cfg    config.Config
	parts  *parts
	engine *bridge.Engine
	api    *httptest.Server
	token  string
	cli    string // the program question
}

// paper is a channel that takes every question and shows it nowhere.
type paper struct{ bridge.Channel }

func (paper) Supports(context.Context, bridge.ConversationID) error { return nil }
func (paper) Check(context.Context, bridge.Question) error          { return nil }

// everybody is a room whose members may do everything.
type everybody struct{ bridge.Gatekeeper }

func (everybody) Rights(context.Context, bridge.Question, bridge.UserID, bool) (bridge.Rights, error) {
	return bridge.Rights{Member: true, WorkspaceAdmin: true, DisplayName: "Alice"}, nil
}

type oneRoom struct{}

func (oneRoom) Resolve(context.Context, string) (httpapi.Room, error) {
	return httpapi.Room{ID: "!ops:question.test", Code: "OPS"}, nil
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t, cli: filepath.Join(t.TempDir(), "question")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", o.cli, "../../cmd/question").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cfg, reg := checked(t, "http://127.0.0.1:1")
	cfg.API.PublicURL = "https://questions.example.org"
	o.cfg = cfg
	var err error
	o.parts, err = assemble(t.Context(), Options{Config: cfg, Registration: reg, Log: zerolog.Nop()})
	o.ok(err)
	t.Cleanup(o.parts.close)
	o.engine = o.parts.receiver.(*bridge.Engine)
	o.engine.Channel, o.engine.Gatekeeper, o.parts.api.Rooms = paper{}, everybody{}, oneRoom{}
	o.api = httptest.NewServer(apitest.Around(httpapi.New(o.parts.api), func(err error) { t.Error(err) }))
	t.Cleanup(o.api.Close)
	tokens, err := OpenTokens(t.Context(), cfg)
	o.ok(err)
	o.token, _, err = tokens.Add(t.Context(), Grant{Agent: "ci", Rooms: []string{"*"}})
	o.ok(err)
	o.ok(tokens.Close())
	return o
}

func (o *office) ok(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func (o *office) call(method, path, body string) []byte {
	o.Helper()
	req, err := http.NewRequestWithContext(o.Context(), method, o.api.URL+path, strings.NewReader(body))
	o.ok(err)
	req.Header.Set("Authorization", "Bearer "+o.token)
	resp, err := http.DefaultClient.Do(req)
	o.ok(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	o.ok(err)
	if resp.StatusCode >= 300 {
		o.Fatalf("%s %s: %s %s", method, path, resp.Status, raw)
	}
	return raw
}

// askAbout asks about a subject of the fixtures, under an id of its own.
func (o *office) askAbout(subject string) schema.Question {
	o.Helper()
	corpus, err := os.ReadFile("../../fixtures/matrix-events/examples.json")
	o.ok(err)
	var all map[string]struct {
		Valid []struct {
			Case    string
			Content map[string]any
		}
	}
	o.ok(json.Unmarshal(corpus, &all))
	for _, c := range all[schema.EventType].Valid {
		if !strings.HasPrefix(c.Case, "subject-bound") {
			continue
		}
		s := c.Content["subject"].(map[string]any)
		s["id"], s["expires_at"] = subject, time.Now().Add(time.Hour).Format(time.RFC3339)
		c.Content["elicitation_id"] = "elc_" + subject
		body, err := json.Marshal(c.Content)
		o.ok(err)
		var q schema.Question
		o.ok(json.Unmarshal(o.call("POST", "/api/agent/rooms/OPS/questions", string(body)), &q))
		return q
	}
	o.Fatal("the fixtures have no such question")
	return schema.Question{}
}

// answer is Alice's, by the API, of exactly the subject.
func (o *office) answer(q schema.Question, option string) bridge.Question {
	o.Helper()
	settled, err := o.engine.Answer(o.Context(), "@alice:question.test", bridge.QuestionID(q.ID), bridge.Choice{
		Via:   bridge.ViaAPI,
		Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{bridge.OptionID(option)}}},
		Subject: &bridge.SubjectRef{
			ID: q.Subject.ID, Digest: q.Subject.Digest, Schema: q.Subject.Schema, Revision: int64(q.Subject.Revision),
		},
	})
	o.ok(err)
	return settled
}

// question runs the program as a shell would and gives its exit code.
func (o *office) question(args ...string) (code int, out string) {
	o.Helper()
	cmd := exec.CommandContext(o.Context(), o.cli, args...)
	cmd.Env = append(os.Environ(), "QUESTION_SERVER="+o.api.URL, "QUESTION_TOKEN="+o.token)
	text, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode(), string(text)
	}
	o.ok(err)
	return 0, string(text)
}

// TestACertifiedApproval follows an approval from the question to a gate that acts on its certificate.
func TestACertifiedApproval(t *testing.T) {
	o := newOffice(t)
	q := o.askAbout("op_1")
	settled := o.answer(q, "approve-run")
	file := filepath.Join(t.TempDir(), "approval.json")
	if code, out := o.question("show", q.ID, "--certificate", file); code != 0 || out != "" {
		t.Fatalf("%d: %s", code, out)
	}
	raw, err := os.ReadFile(file)
	o.ok(err)
	if !bytes.Equal(raw, settled.Answer.Certificate) {
		t.Errorf("written:\n%s\nstored:\n%s", raw, settled.Answer.Certificate)
	}
	stored, err := o.parts.store.Question(t.Context(), bridge.QuestionID(q.ID))
	o.ok(err)
	if !bytes.Equal(raw, stored.Answer.Certificate) {
		t.Errorf("the database has other bytes: %s", stored.Answer.Certificate)
	}

	list, err := certificate.ParseKeyList(o.call("GET", certificate.KeysPath, ""))
	o.ok(err)
	s, err := certificate.Verify(raw, list.Keys)
	o.ok(err)
	expires := stored.Subject.LapsesAt.UTC()
	want := certificate.Payload{
		Type: certificate.Type, CertificateID: s.Payload.CertificateID, Issuer: "https://questions.example.org",
		QuestionID: q.ID, ElicitationID: "elc_op_1", Asker: "ci",
		Subject: certificate.Subject{
			ID: "op_1", Digest: q.Subject.Digest, Schema: "salaam-operation/v1", Revision: 1, ExpiresAt: &expires,
		},
		OptionID: "approve-run", Meaning: "approve", Grant: new("run"), Responder: "@alice:question.test", Room: "!ops:question.test",
		Surface: "api", ApprovedAt: stored.Answer.At,
	}
	got, err := json.Marshal(s.Payload)
	o.ok(err)
	if text, _ := json.Marshal(want); !bytes.Equal(got, text) || !strings.HasPrefix(want.CertificateID, "crt_") {
		t.Errorf("it states\n%s\nwant\n%s", got, text)
	}
	if list.Issuer != s.Payload.Issuer || list.Keys[0].RetiredAt != nil || len(list.Keys) != 1 {
		t.Errorf("the list of keys is %+v", list)
	}

	// What a webhook is told has the same certificate.
	event, err := json.Marshal(dialect.ToWebhookEvent(stored, schema.WebhookRoom{}))
	o.ok(err)
	_, err = schema.Decode[schema.WebhookEvent](event)
	o.ok(err)
	var told struct {
		Answer struct{ Certificate json.RawMessage }
	}
	o.ok(json.Unmarshal(event, &told))
	if again, err := certificate.Canonical(told.Answer.Certificate); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("a webhook is told %s, %v", told.Answer.Certificate, err)
	}

	exact := []string{"--subject-id", "op_1", "--digest", q.Subject.Digest, "--schema", q.Subject.Schema, "--revision", "1"}
	verify := func(want int, more ...string) {
		t.Helper()
		if code, out := o.question(append([]string{"certificate", "verify", file}, more...)...); code != want {
			t.Errorf("verify %v: %d, want %d: %s", more, code, want, out)
		}
	}
	key := list.Keys[0].PublicKey
	verify(0, exact...)
	verify(0, append(exact, "--key", key)...)
	verify(6, "--revision", "2", "--key", key)
	o.ok(os.WriteFile(file, bytes.Replace(raw, []byte("alice"), []byte("malic"), 1), 0o600))
	verify(5, "--key", key)
	verify(5)
}

// TestNoCertificate lists what is not certified: only an approval of a subject is.
func TestNoCertificate(t *testing.T) {
	o := newOffice(t)
	without := func(what, id string) {
		t.Helper()
		if code, out := o.question("show", id, "--certificate", "-"); code != 1 || !strings.Contains(out, "the question has no certificate") {
			t.Errorf("%s: %d %s", what, code, out)
		}
	}
	pending, rejected, cancelled := o.askAbout("op_1"), o.askAbout("op_2"), o.askAbout("op_3")
	if settled := o.answer(rejected, "deny"); settled.State != bridge.Answered || settled.Answer.Certificate != nil {
		t.Errorf("a rejection became %s with %s", settled.State, settled.Answer.Certificate)
	}
	o.call("POST", "/api/agent/questions/"+cancelled.ID+"/cancel", "")
	without("pending", pending.ID)
	without("rejected", rejected.ID)
	without("cancelled", cancelled.ID)
	var core schema.Question
	o.ok(json.Unmarshal(o.call("POST", "/api/agent/rooms/OPS/questions", `{"prompt":"Deploy?","responder_scope":"room"}`), &core))
	_, err := o.engine.Answer(t.Context(), "@alice:question.test", bridge.QuestionID(core.ID), bridge.Choice{
		Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"approve"}}},
	})
	o.ok(err)
	without("a yes to a question without a subject", core.ID)
	if _, err := o.engine.Certifier.Certify(bridge.Question{}, bridge.Answer{Meaning: bridge.Approve}); err == nil {
		t.Error("nothing was certified")
	}

	o.engine.Clock = later{}
	if q := o.answer(pending, "deny"); q.State != bridge.Expired { // the answer comes too late
		t.Errorf("it ended as %s", q.State)
	}
	without("expired", pending.ID)
}

// later is a clock that is a year ahead.
type later struct{}

func (later) Now() time.Time { return bridge.SystemClock{}.Now().AddDate(1, 0, 0) }

// TestRotation replaces the key of a running bridge: it signs with the new one, and what the old one signed stays valid
// until that is removed.
func TestRotation(t *testing.T) {
	o := newOffice(t)
	verify := func(raw []byte) (certificate.Signed, error) {
		t.Helper()
		list, err := certificate.ParseKeyList(o.call("GET", certificate.KeysPath, ""))
		o.ok(err)
		return certificate.Verify(raw, list.Keys)
	}
	before := o.answer(o.askAbout("op_1"), "approve").Answer.Certificate
	first, err := verify(before)
	o.ok(err)

	keys, err := OpenSigningKeys(t.Context(), o.cfg) // as the command does, beside the running server
	o.ok(err)
	made, err := keys.Rotate(t.Context())
	o.ok(err)
	for _, c := range o.parts.sweeper.Chores {
		if c.Every == RotationDelay {
			o.ok(c.Do(t.Context(), time.Now()))
		}
	}
	after := o.answer(o.askAbout("op_2"), "approve").Answer.Certificate
	second, err := verify(after)
	o.ok(err)
	if first.KeyID == second.KeyID || second.KeyID != made.ID {
		t.Errorf("signed by %s, then by %s; the new key is %s", first.KeyID, second.KeyID, made.ID)
	}
	_, err = verify(before)
	o.ok(err)
	listed, err := keys.List(t.Context())
	o.ok(err)
	if len(listed) != 2 || listed[0].RetiredAt != nil || listed[1].RetiredAt == nil {
		t.Errorf("listed are %+v", listed)
	}
	if found, err := keys.Remove(t.Context(), first.KeyID); err != nil || !found {
		t.Errorf("removed: %v, %v", found, err)
	}
	o.ok(keys.Close())
	if _, err := verify(before); certificate.CodeOf(err) != certificate.CodeUnknownKey {
		t.Errorf("signed by a key that was removed: %v", err)
	}
	if strings.Contains(string(o.call("GET", certificate.KeysPath, "")), "seed") {
		t.Error("a secret is listed")
	}
}

// A time that is written with five digits of year elsewhere is cut to the last one that can be read.
func TestTheLastTime(t *testing.T) {
	at := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
	if got := writable(&at); got == nil || got.UTC().Year() != 9999 || got.After(at) || writable(nil) != nil {
		t.Errorf("got %v", got)
	}
}
