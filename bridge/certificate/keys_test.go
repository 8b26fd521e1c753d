package certificate_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge/certificate"
)

func unpack(signature string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		panic(err)
	}
	return raw
}

// nextLetter changes only the bits of a last letter that stand for nothing.
func nextLetter(c byte) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(letters[strings.IndexByte(letters, c)^1])
}

// plusOrder is a signature that satisfies the same equation, which a loose verifier takes (RFC 8032, section 8.4).
func plusOrder(signature string) string {
	raw := unpack(signature)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(raw[32:])
	slices.Reverse(s)
	sum := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return base64.RawURLEncoding.EncodeToString(append(raw[:32:32], sum...))
}

func TestKeys(t *testing.T) {
	own := publicKey(testKey(1))
	if own.ID != "key_34750f98bd59fcfc946da45aaabe933b" || own.PublicKey != "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w" {
		t.Errorf("a key is described as %+v", own)
	}
	if got, err := certificate.ParseKey(own.PublicKey); err != nil || got != own {
		t.Errorf("read as %+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"nothing": "", "short": own.PublicKey[:42], "long": own.PublicKey + "A", "padded": own.PublicKey + "=",
		"bits behind it": own.PublicKey[:42] + nextLetter(own.PublicKey[42]), "a line break": own.PublicKey + "\n",
		"another alphabet": strings.Repeat("+", 43),
	} {
		if got, err := certificate.ParseKey(text); certificate.CodeOf(err) != certificate.CodeInvalidKey {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestWeakKeys refuses the keys under which a signature can be made without any secret, having made one.
func TestWeakKeys(t *testing.T) {
	for y, point := range map[string]bool{ // y, and whether crypto/ed25519 takes it
		"0100000000000000000000000000000000000000000000000000000000000000": true,
		"0000000000000000000000000000000000000000000000000000000000000000": true,
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05": true,
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a": true,
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
	} {
		for _, sign := range []byte{0, 0x80} {
			public, err := hex.DecodeString(y)
			if err != nil {
				t.Fatal(err)
			}
			public[31] |= sign
			if got, err := certificate.ParseKey(base64.RawURLEncoding.EncodeToString(public)); err == nil {
				t.Errorf("%x is taken as %+v", public, got)
			}
			// The neutral point, and zero: it fits every message whose hash is a multiple of the key's order.
			forged := append([]byte{1}, make([]byte, 63)...)
			fits := false
			for n := range 256 {
				fits = fits || ed25519.Verify(public, []byte{byte(n)}, forged)
			}
			if !fits && point {
				t.Errorf("%x is no weak key: nothing was forged", public)
			}
		}
	}
}

func TestKeyLists(t *testing.T) {
	one, two := publicKey(testKey(1)), publicKey(testKey(2))
	raw := signed(t, payload())
	list := func(change func(l *certificate.KeyList)) []byte {
		l := certificate.KeyList{Issuer: "https://questions.example.org", Keys: []certificate.Key{two, one}}
		change(&l)
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, c := range map[string]struct {
		raw   []byte
		reads bool
		want  certificate.Code // of the verification
	}{
		"two keys":             {list(func(*certificate.KeyList) {}), true, ""},
		"more than we know":    {[]byte(strings.Replace(string(list(func(*certificate.KeyList) {})), "{", `{"x":1,`, 1)), true, ""},
		"without it":           {list(func(l *certificate.KeyList) { l.Keys = l.Keys[:1] }), true, certificate.CodeUnknownKey},
		"empty":                {list(func(l *certificate.KeyList) { l.Keys = []certificate.Key{} }), true, certificate.CodeUnknownKey},
		"another algorithm":    {list(func(l *certificate.KeyList) { l.Keys[1].Algorithm = "ML-DSA-44" }), true, certificate.CodeUnknownKey},
		"no list":              {[]byte(`{"issuer":"x"}`), false, ""},
		"no JSON":              {[]byte(`<html>`), false, ""},
		"the id of another":    {list(func(l *certificate.KeyList) { l.Keys[0].ID = one.ID }), false, ""},
		"the key of another":   {list(func(l *certificate.KeyList) { l.Keys[1].PublicKey = two.PublicKey }), false, ""},
		"a key that is no key": {list(func(l *certificate.KeyList) { l.Keys[0].PublicKey = "AAAA" }), false, ""},
	} {
		l, err := certificate.ParseKeyList(c.raw)
		if c.reads != (err == nil) || err != nil && certificate.CodeOf(err) != certificate.CodeInvalidKey {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		if !c.reads {
			continue
		}
		if _, err := certificate.Verify(raw, l.Keys); certificate.CodeOf(err) != c.want {
			t.Errorf("%s: verified with %v, want %q", name, err, c.want)
		}
	}
	// Keys that came by no list are not believed either.
	liar := two
	liar.ID = one.ID
	if _, err := certificate.Verify(raw, []certificate.Key{liar}); certificate.CodeOf(err) != certificate.CodeUnknownKey {
		t.Errorf("a key with the id of another: %v", err)
	}
}

// TestAnotherImplementation verifies the golden certificates with Node.js, following the documentation, and lets it
// refuse changed ones.
func TestAnotherImplementation(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("the tests need Node.js: ", err)
	}
	verify := func(path string, key certificate.Key) (string, error) {
		out, err := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "verify.mjs"), path, key.PublicKey).Output()
		return string(out), err
	}
	for _, name := range []string{"plain", "strange"} {
		path := filepath.Join("testdata", name+".json")
		raw := must(os.ReadFile(path))(t)
		out, err := verify(path, publicKey(testKey(1)))
		if err != nil {
			t.Fatalf("%s is refused: %v", name, err)
		}
		var theirs, ours any
		s := must(certificate.Verify(raw, []certificate.Key{publicKey(testKey(1))}))(t)
		text := must(json.Marshal(s.Payload))(t)
		if json.Unmarshal([]byte(out), &theirs) != nil || json.Unmarshal(text, &ours) != nil || !equalJSON(theirs, ours) {
			t.Errorf("%s: they read %s, we %s", name, out, text)
		}
		if _, err := verify(path, publicKey(testKey(2))); err == nil {
			t.Errorf("%s verifies with another key", name)
		}
		changed := filepath.Join(t.TempDir(), "changed.json")
		for _, c := range [][]byte{append(bytes.Clone(raw), '\n'), bytes.Replace(raw, []byte("approve\""), []byte("approvf\""), 1)} {
			if err := os.WriteFile(changed, c, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := verify(changed, publicKey(testKey(1))); err == nil {
				t.Errorf("%s verifies changed", name)
			}
		}
	}
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// The example in the documentation is the golden one.
func TestDocumentation(t *testing.T) {
	page := string(must(os.ReadFile("../../docs/certificates.md"))(t))
	example := string(must(os.ReadFile(filepath.Join("testdata", "plain.json")))(t))
	for what, text := range map[string]string{
		"the example": "```json\n" + example + "\n```", "its key": "`" + publicKey(testKey(1)).PublicKey + "`",
		"the prefix": "`" + strings.TrimSuffix(certificate.Prefix, "\n") + "`, a line feed", "the limit": "at most 131072 bytes",
		"where keys are": "`GET " + certificate.KeysPath + "`",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("%s is not in the documentation: %s", what, text)
		}
	}
	if certificate.MaxBytes != 131072 {
		t.Error("the documentation has another limit")
	}
}
