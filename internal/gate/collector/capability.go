package collector

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"superpipeline.dev/question-bridge/internal/gate"
)

// KeySize is how many bytes a [Key] has.
const KeySize = 32

// Key makes capabilities. Whoever has it can answer every query.
type Key [KeySize]byte

// Capability is the secret that answers one query and no other: 43 characters of Base64.
func (k Key) Capability(q gate.QueryID) string {
	return base64.RawURLEncoding.EncodeToString(k.mac(q))
}

// opens says in constant time whether a capability is that of a query.
func (k Key) opens(q gate.QueryID, capability string) bool {
	return hmac.Equal([]byte(k.Capability(q)), []byte(capability))
}

func (k Key) mac(q gate.QueryID) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("query capability\x00" + string(q)))
	return h.Sum(nil)
}
