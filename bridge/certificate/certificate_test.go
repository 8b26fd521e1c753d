package certificate_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"flag"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/certificate"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testKey is made of a seed of one repeated byte.
func testKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func publicKey(key ed25519.PrivateKey) certificate.Key {
	return certificate.NewKey(key.Public().(ed25519.PublicKey))
}

func payload() certificate.Payload {
	return certificate.Payload{
		CertificateID: "crt_7kq3n5wz2abcdefghijklmnopq", Issuer: "https://questions.example.org",
		QuestionID: "q_k3q5wz7abcdefghijklmnopqrs", ElicitationID: "elc_42", Asker: "agentpod",
		Subject: certificate.Subject{
			ID: "op_5519", Digest: "sha256:9f86d081884c7d659a2feaa0c55ad015", Schema: "stk-capability/v1", Revision: 3,
			ExpiresAt: new(time.Date(2026, 11, 7, 10, 0, 0, 0, time.UTC)),
		},
		OptionID: "once", Meaning: certificate.Approve, Grant: new("once"),
		Responder: "@alice:example.org", Room: "!ops:example.org", Surface: "api",
		ApprovedAt: time.Date(2026, 11, 1, 9, 1, 0, 120_000_000, time.UTC),
	}
}

// strange has everything in it that two writers of JSON might write differently.
func strange() certificate.Payload {
	p := payload()
	p.Subject.ID = "a\"b\\c/d\b\f\n\r\t\x00\x1f\x7f <&> é 😀 \u2028\u2029\ufeff\ufffd\u202e"
	p.Subject.Revision, p.Subject.ExpiresAt = certificate.MaxRevision, nil
	p.Grant, p.EventID, p.Surface = nil, new("$e"), "structured"
	p.ApprovedAt = time.Date(2026, 11, 1, 10, 1, 0, 123_456_789, time.FixedZone("", 3600))
	return p
}

func signed(t *testing.T, p certificate.Payload) []byte {
	t.Helper()
	raw, err := certificate.Sign(testKey(1), p)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestGolden holds the exact bytes of two certificates: whoever verifies in another language can begin with them.
func TestGolden(t *testing.T) {
	for name, p := range map[string]certificate.Payload{"plain": payload(), "strange": strange()} {
		path := filepath.Join("testdata", name+".json")
		raw := signed(t, p)
		if *update {
			if err := os.WriteFile(path, raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(raw, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, raw, want)
		}
		got, err := certificate.Verify(want, []certificate.Key{publicKey(testKey(2)), publicKey(testKey(1))})
		if err != nil {
			t.Fatal(err)
		}
		p.Type, p.ApprovedAt = certificate.Type, p.ApprovedAt.UTC()
		if !reflect.DeepEqual(got.Payload, p) || got.KeyID != publicKey(testKey(1)).ID {
			t.Errorf("%s: reads as %+v", name, got)
		}
	}
}

// TestEveryByte changes each byte of a certificate to every other, adds every byte in every place, and takes each away:
// nothing but the certificate itself verifies. Where that would take minutes it flips every bit and tries a part of the
// rest; `make test` runs the whole without the race detector.
func TestEveryByte(t *testing.T) {
	keys := []certificate.Key{publicKey(testKey(1)), publicKey(testKey(2))}
	for name, p := range map[string]certificate.Payload{"plain": payload(), "strange": strange()} {
		raw := signed(t, p)
		whole := name == "plain" && !raceDetector && !testing.Short()
		tried := 0
		refused := func(what string, at, b int, changed []byte) {
			tried++
			if got, err := certificate.Verify(changed, keys); err == nil {
				t.Fatalf("%s: with %s of %#02x at %d it verifies as %+v", name, what, b, at, got)
			} else if certificate.CodeOf(err) == "" {
				t.Fatalf("%s: with %s of %#02x at %d the error has no code: %v", name, what, b, at, err)
			}
		}
		for i := range len(raw) + 1 {
			for b := range 256 {
				part := b%64 == i%64
				if whole || part {
					refused("an insertion", i, b, slices.Concat(raw[:i], []byte{byte(b)}, raw[i:]))
				}
				if i == len(raw) || raw[i] == byte(b) {
					continue
				}
				if oneBit := bits.OnesCount8(raw[i]^byte(b)) == 1; whole || part || oneBit {
					refused("a change", i, b, slices.Concat(raw[:i], []byte{byte(b)}, raw[i+1:]))
				}
			}
			if i < len(raw) {
				refused("a removal", i, int(raw[i]), slices.Concat(raw[:i], raw[i+1:]))
			}
		}
		if whole && tried != 512*len(raw)+256 {
			t.Errorf("%s: %d were tried of %d bytes", name, tried, len(raw))
		}
		if _, err := certificate.Verify(raw, keys); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefused breaks each rule of a certificate by itself.
func TestRefused(t *testing.T) {
	raw := string(signed(t, payload()))
	own := publicKey(testKey(1))
	swap := func(old, new string) string {
		if !strings.Contains(raw, old) {
			t.Fatalf("there is no %s in %s", old, raw)
		}
		return strings.Replace(raw, old, new, 1)
	}
	signature := raw[strings.Index(raw, `"signature":"`)+len(`"signature":"`) : len(raw)-2]
	other := string(must(certificate.Sign(testKey(2), payload()))(t))
	for name, c := range map[string]struct {
		raw  string
		want certificate.Code
	}{
		"nothing":                      {"", certificate.CodeMalformed},
		"null":                         {"null", certificate.CodeMalformed},
		"a list":                       {"[" + raw + "]", certificate.CodeMalformed},
		"no JSON":                      {raw[:len(raw)-1], certificate.CodeMalformed},
		"two":                          {raw + raw, certificate.CodeMalformed},
		"not UTF-8":                    {swap("op_5519", "op_\xff"), certificate.CodeMalformed},
		"half a character":             {swap("op_5519", `op_\ud83d`), certificate.CodeMalformed},
		"a byte order mark":            {"\ufeff" + raw, certificate.CodeMalformed},
		"a name twice":                 {swap(`{"key_id"`, `{"key_id":"x","key_id"`), certificate.CodeMalformed},
		"a line break behind it":       {raw + "\n", certificate.CodeNotCanonical},
		"a space":                      {swap(`,"payload"`, `, "payload"`), certificate.CodeNotCanonical},
		"another order":                {swap(`"asker":"agentpod",`, "")[:1] + `"payload":{},"key_id":"x"}`, certificate.CodeNotCanonical},
		"an escape that is not needed": {swap("op_5519", `\u006fp_5519`), certificate.CodeNotCanonical},
		"a number in another way":      {swap(`"revision":3`, `"revision":3.0`), certificate.CodeNotCanonical},
		"a number with an exponent":    {swap(`"revision":3`, `"revision":3e0`), certificate.CodeNotCanonical},
		"a negative zero":              {swap(`"revision":3`, `"revision":-0`), certificate.CodeNotCanonical},
		"a fraction":                   {swap(`"revision":3`, `"revision":3.5`), certificate.CodeMalformed},
		"a revision as text":           {swap(`"revision":3`, `"revision":"3"`), certificate.CodeMalformed},
		"an unknown property":          {swap(`{"key_id"`, `{"a":1,"key_id"`), certificate.CodeMalformed},
		"one in the payload":           {swap(`{"approved_at"`, `{"a":1,"approved_at"`), certificate.CodeMalformed},
		"one in the subject":           {swap(`{"digest"`, `{"a":1,"digest"`), certificate.CodeMalformed},
		"a name in another case":       {swap(`{"approved_at"`, `{"Approved_at"`), certificate.CodeMalformed},
		"both":                         {swap(`{"approved_at"`, `{"Approved_at":"2026-11-01T09:01:00.12Z","approved_at"`), certificate.CodeMalformed},
		"a missing property":           {swap(`"event_id":null,`, ""), certificate.CodeMalformed},
		"null for text":                {swap(`"asker":"agentpod"`, `"asker":null`), certificate.CodeMalformed},
		"a time of another zone":       {swap("2026-11-01T09:01:00.12Z", "2026-11-01T10:01:00.12+01:00"), certificate.CodeMalformed},
		"a time with more digits":      {swap("2026-11-01T09:01:00.12Z", "2026-11-01T09:01:00.120Z"), certificate.CodeMalformed},
		"no time":                      {swap("2026-11-01T09:01:00.12Z", "soon"), certificate.CodeMalformed},
		"another key":                  {swap(own.ID, publicKey(testKey(2)).ID), certificate.CodeUnknownKey},
		"a key in capitals":            {swap(own.ID, strings.ToUpper(own.ID)), certificate.CodeUnknownKey},
		"by a key that nobody trusts":  {other, certificate.CodeUnknownKey},
		"no signature":                 {swap(signature, ""), certificate.CodeBadSignature},
		"padding":                      {swap(signature, signature+"=="), certificate.CodeBadSignature},
		"a line break in it":           {swap(signature, signature[:10]+`\n`+signature[10:]), certificate.CodeBadSignature},
		"bits behind it":               {swap(signature, signature[:85]+nextLetter(signature[85])), certificate.CodeBadSignature},
		"in the usual alphabet":        {swap(signature, base64.RawStdEncoding.EncodeToString(unpack(signature))), certificate.CodeBadSignature},
		"the signature of another":     {swap(signature, string(other[len(other)-2-len(signature):len(other)-2])), certificate.CodeBadSignature},
		"the signature plus the order": {swap(signature, plusOrder(signature)), certificate.CodeBadSignature},
		"another digest":               {swap("9f86", "9f87"), certificate.CodeBadSignature},
		"too large":                    {swap("op_5519", strings.Repeat("x", certificate.MaxBytes)), certificate.CodeTooLarge},
	} {
		got, err := certificate.Verify([]byte(c.raw), []certificate.Key{own})
		if certificate.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if !reflect.DeepEqual(got, certificate.Signed{}) {
			t.Errorf("%s: what was refused was returned: %+v", name, got)
		}
	}
	if _, err := certificate.Verify([]byte(raw), nil); certificate.CodeOf(err) != certificate.CodeUnknownKey {
		t.Errorf("without keys: %v", err)
	}
}

// TestStatements breaks each rule of a payload: such a certificate can be neither made nor read, even rightly signed.
func TestStatements(t *testing.T) {
	for name, change := range map[string]func(*certificate.Payload){
		"certificate_id": func(p *certificate.Payload) { p.CertificateID = "" },
		"issuer":         func(p *certificate.Payload) { p.Issuer = "" },
		"question_id":    func(p *certificate.Payload) { p.QuestionID = "" },
		"elicitation_id": func(p *certificate.Payload) { p.ElicitationID = "" },
		"asker":          func(p *certificate.Payload) { p.Asker = "" },
		"subject.id":     func(p *certificate.Payload) { p.Subject.ID = "" },
		"digest":         func(p *certificate.Payload) { p.Subject.Digest = "" },
		"schema":         func(p *certificate.Payload) { p.Subject.Schema = "" },
		"option_id":      func(p *certificate.Payload) { p.OptionID = "" },
		"responder":      func(p *certificate.Payload) { p.Responder = "" },
		"room":           func(p *certificate.Payload) { p.Room = "" },
		"surface":        func(p *certificate.Payload) { p.Surface = "" },
		"event_id":       func(p *certificate.Payload) { p.EventID = new("") },
		"a rejection":    func(p *certificate.Payload) { p.Meaning = "reject" },
		"grant":          func(p *certificate.Payload) { p.Grant = new("forever") },
		"no grant":       func(p *certificate.Payload) { p.Grant = new("") },
		"revision":       func(p *certificate.Payload) { p.Subject.Revision = -1 },
		"large revision": func(p *certificate.Payload) { p.Subject.Revision = certificate.MaxRevision + 1 },
		"no time":        func(p *certificate.Payload) { p.ApprovedAt = time.Time{} },
		"lapsed":         func(p *certificate.Payload) { p.ApprovedAt = *p.Subject.ExpiresAt },
		"year 10000":     func(p *certificate.Payload) { p.ApprovedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"not UTF-8":      func(p *certificate.Payload) { p.Subject.ID = "op_\xff" },
		"too large":      func(p *certificate.Payload) { p.Subject.ID = strings.Repeat("x", certificate.MaxBytes) },
	} {
		p := payload()
		change(&p)
		if raw, err := certificate.Sign(testKey(1), p); err == nil {
			t.Errorf("%s: signed as %s", name, raw)
		}
	}
	if _, err := certificate.Sign(nil, payload()); certificate.CodeOf(err) != certificate.CodeInvalidKey {
		t.Errorf("signed with no key: %v", err)
	}
}

// TestRightlySigned takes what the key did sign, and yet is no certificate.
func TestRightlySigned(t *testing.T) {
	own := publicKey(testKey(1))
	sign := func(prefix string, change func(map[string]any)) []byte {
		t.Helper()
		var all struct{ Payload map[string]any }
		if err := json.Unmarshal(signed(t, payload()), &all); err != nil {
			t.Fatal(err)
		}
		change(all.Payload)
		text := must(certificate.Canonical(must(json.Marshal(all.Payload))(t)))(t)
		signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(testKey(1), append([]byte(prefix), text...)))
		return must(certificate.Canonical(must(json.Marshal(map[string]any{"key_id": own.ID, "payload": all.Payload, "signature": signature}))(t)))(t)
	}
	for name, c := range map[string]struct {
		raw  []byte
		want certificate.Code
	}{
		"as it should be":     {sign(certificate.Prefix, func(map[string]any) {}), ""},
		"without the prefix":  {sign("", func(map[string]any) {}), certificate.CodeBadSignature},
		"another type":        {sign(certificate.Prefix, func(p map[string]any) { p["type"] = "dev.superpipeline.question.certificate.v2" }), certificate.CodeMalformed},
		"a rejection":         {sign(certificate.Prefix, func(p map[string]any) { p["meaning"] = "reject" }), certificate.CodeMalformed},
		"one property more":   {sign(certificate.Prefix, func(p map[string]any) { p["void"] = true }), certificate.CodeMalformed},
		"one property less":   {sign(certificate.Prefix, func(p map[string]any) { delete(p, "grant") }), certificate.CodeMalformed},
		"null for a revision": {sign(certificate.Prefix, func(p map[string]any) { p["subject"].(map[string]any)["revision"] = nil }), certificate.CodeMalformed},
	} {
		if got, err := certificate.Verify(c.raw, []certificate.Key{own}); certificate.CodeOf(err) != c.want || c.want == "" && err != nil {
			t.Errorf("%s: got %+v, %v, want %q", name, got.Payload, err, c.want)
		}
	}
}

// A certificate survives a trip through documents that lay JSON out in their own way.
func TestCanonical(t *testing.T) {
	raw := signed(t, strange())
	loose := "\n{ \"signature\" :" + string(raw[bytes.Index(raw, []byte(`"signature":`))+len(`"signature":`):len(raw)-1]) +
		",\t" + strings.ReplaceAll(string(raw[1:bytes.Index(raw, []byte(`,"signature"`))]), "é", `\u00E9`) + "}\n"
	if _, err := certificate.Verify([]byte(loose), []certificate.Key{publicKey(testKey(1))}); certificate.CodeOf(err) != certificate.CodeNotCanonical {
		t.Errorf("as it came: %v", err)
	}
	got, err := certificate.Canonical([]byte(loose))
	if err != nil || !bytes.Equal(got, raw) {
		t.Errorf("got %s, %v", got, err)
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
