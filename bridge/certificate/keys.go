package certificate

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Algorithm is the one that keys of certificates have.
const Algorithm = "Ed25519"

// KeysPath is where a bridge lists its keys, below its public address.
const KeysPath = "/.well-known/question-bridge-keys"

// Key is a public key, as a list shows it.
type Key struct {
	ID        string     `json:"key_id"`    // see [NewKey]
	Algorithm string     `json:"algorithm"` // [Algorithm]; a list may have keys of others, which verify nothing here
	PublicKey string     `json:"public_key"`
	CreatedAt *time.Time `json:"created_at"`
	RetiredAt *time.Time `json:"retired_at"` // when it was replaced; nil for the one that signs. What it signed stays valid
}

// KeyList is what a bridge says of its keys. Every certificate names its key by id, and an id belongs to one key only, so
// neither the order nor the times decide anything.
type KeyList struct {
	Issuer string `json:"issuer"`
	Keys   []Key  `json:"keys"`
}

// NewKey describes a public key. Its id is "key_" and the first 32 hexadecimal digits of the key's SHA-256; the key itself
// is written as base64url without padding.
func NewKey(public ed25519.PublicKey) Key {
	sum := sha256.Sum256(public)
	return Key{ID: "key_" + hex.EncodeToString(sum[:16]), Algorithm: Algorithm, PublicKey: text64.EncodeToString(public)}
}

// ParseKey reads a public key as text, as [Key.PublicKey] has it. The error is an *Error with CodeInvalidKey.
func ParseKey(text string) (Key, error) {
	raw, err := decode64(text, ed25519.PublicKeySize)
	switch {
	case err != nil:
		return Key{}, &Error{CodeInvalidKey, "a public key is 43 characters of base64url: 32 bytes, without padding"}
	case weak(raw):
		return Key{}, &Error{CodeInvalidKey, "under this public key anybody can sign"}
	}
	return NewKey(raw), nil
}

// ParseKeyList reads a list of keys. Properties that it does not know it passes over. The error is an *Error with
// CodeInvalidKey, also where one of the keys is not what its id says.
func ParseKeyList(raw []byte) (KeyList, error) {
	var list KeyList
	if err := json.Unmarshal(raw, &list); err != nil || list.Keys == nil {
		return KeyList{}, &Error{CodeInvalidKey, "it is not a list of keys"}
	}
	for _, k := range list.Keys {
		if k.Algorithm != Algorithm {
			continue
		}
		own, err := ParseKey(k.PublicKey)
		if err != nil {
			return KeyList{}, err
		}
		if own.ID != k.ID {
			return KeyList{}, &Error{CodeInvalidKey, "a key in the list has the id of another one"}
		}
	}
	return list, nil
}

// find gives the key of this id, if it is one of ours to use.
func find(id string, keys []Key) (ed25519.PublicKey, bool) {
	for _, k := range keys {
		if k.ID != id || k.Algorithm != Algorithm {
			continue
		}
		if own, err := ParseKey(k.PublicKey); err == nil && own.ID == id {
			public, err := decode64(k.PublicKey, ed25519.PublicKeySize)
			return public, err == nil
		}
	}
	return nil, false
}

// weak is true of the public keys under which one signature fits many messages, and of other encodings of a point than
// its own. No honest key is one of them; the reader of crypto/ed25519 takes them all.
func weak(public []byte) bool {
	y := slices.Clone(public)
	y[31] &= 0x7f // the sign of x
	ff := y[31] == 0x7f && y[0] >= 0xed
	for _, b := range y[1:31] {
		ff = ff && b == 0xff
	}
	return ff || slices.Contains(smallOrder, hex.EncodeToString(y))
}

// smallOrder are the y coordinates of the points whose order divides 8; p-1 is the last.
var smallOrder = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}
