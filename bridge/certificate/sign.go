package certificate

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
)

// text64 is the one way in which signatures and keys are written.
var text64 = base64.RawURLEncoding

// Sign gives the canonical bytes of a certificate. What it gives verifies, and reads as exactly what was given; it fails
// for a payload of which that cannot be, such as one with text that is not UTF-8.
func Sign(key ed25519.PrivateKey, p Payload) ([]byte, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, &Error{CodeInvalidKey, "it is not an Ed25519 key"}
	}
	own := NewKey(ed25519.PublicKey(key[ed25519.PrivateKeySize-ed25519.PublicKeySize:]))
	p.Type = Type
	p = p.plain()
	signed, err := message(p)
	if err != nil {
		return nil, fmt.Errorf("certificate: encode: %w", err)
	}
	raw, err := canonicalOf(Signed{KeyID: own.ID, Payload: p, Signature: text64.EncodeToString(ed25519.Sign(key, signed))})
	if err != nil {
		return nil, fmt.Errorf("certificate: encode: %w", err)
	}
	got, err := Verify(raw, []Key{own})
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(got.Payload, p) {
		return nil, &Error{CodeMalformed, "it holds text that is not UTF-8"}
	}
	return raw, nil
}

// Verify reads a certificate that one of the keys signed. raw must be its exact bytes: a line break behind them is one
// byte too many. The error is an *Error. Whether the certificate is of what somebody is about to do, still in time, and
// not yet used, is for the caller to see.
func Verify(raw []byte, keys []Key) (Signed, error) {
	s, err := read(raw)
	if err != nil {
		return Signed{}, err
	}
	public, ok := find(s.KeyID, keys)
	if !ok {
		return Signed{}, &Error{CodeUnknownKey, "it is not signed by a key that is trusted here"}
	}
	signed, err := message(s.Payload)
	if err != nil {
		return Signed{}, &Error{CodeMalformed, "its payload cannot be encoded"}
	}
	signature, err := decode64(s.Signature, ed25519.SignatureSize)
	if err != nil || !ed25519.Verify(public, signed, signature) {
		return Signed{}, &Error{CodeBadSignature, "its signature is not the key's"}
	}
	if fault := s.Payload.check(); fault != "" {
		return Signed{}, &Error{CodeMalformed, fault}
	}
	return s, nil
}

// read reads the one form that a certificate has. What is read is written again and must give the same bytes, so
// unknown, missing, null and repeated properties, names in another case and times in another notation are all refused,
// whatever the JSON reader makes of them.
func read(raw []byte) (Signed, error) {
	if len(raw) > MaxBytes {
		return Signed{}, tooLarge()
	}
	canonical, err := Canonical(raw)
	switch {
	case err != nil:
		return Signed{}, err
	case !bytes.Equal(canonical, raw):
		return Signed{}, &Error{CodeNotCanonical, "it is not in its canonical form, to the byte"}
	}
	var s Signed
	if err := json.Unmarshal(raw, &s); err != nil {
		return Signed{}, notACertificate()
	}
	s.Payload = s.Payload.plain()
	again, err := canonicalOf(s)
	if err != nil || !bytes.Equal(again, raw) {
		return Signed{}, notACertificate()
	}
	return s, nil
}

func notACertificate() error {
	return &Error{CodeMalformed, "it does not have exactly the properties of a certificate"}
}

// decode64 reads text of exactly so many bytes, in the one way to write them. Go's reader passes over line breaks and
// surplus bits, so the text is made again.
func decode64(text string, size int) ([]byte, error) {
	raw, err := text64.DecodeString(text)
	if err != nil || len(raw) != size || text64.EncodeToString(raw) != text {
		return nil, fmt.Errorf("not %d bytes as base64url without padding", size)
	}
	return raw, nil
}
