package schema

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// NewID makes the id of a query or of a response: a UUID of version 7 (RFC 9562, section 5.7), of the milliseconds and 74
// bits that nobody can guess.
func NewID(at time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand.Read crashes the program instead
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16|uint64(b[6])<<8|uint64(b[7]))
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
