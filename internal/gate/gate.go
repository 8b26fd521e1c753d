// Package gate holds what both roles of Approval and continuations (protocol version 2026-07-30) have in common. The host,
// in package host, puts queries to people and submits what they say; the collector hands queries out and takes responses.
// Their documents are those of package schema.
package gate

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// QueryID names a query: a UUID of version 7, in lower case. It is its collector's.
type QueryID string

// ResponseID names a response, once for all the times it is sent: a UUID of version 7, in lower case. It is its host's.
type ResponseID string

// NewQueryID makes one; like every UUID of version 7 it tells when.
func NewQueryID(at time.Time) QueryID { return QueryID(uuid7(at)) }

// NewResponseID makes one; like every UUID of version 7 it tells when.
func NewResponseID(at time.Time) ResponseID { return ResponseID(uuid7(at)) }

// uuid7 is RFC 9562, section 5.7: milliseconds, and 74 bits that nobody can guess.
func uuid7(at time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand.Read crashes the program instead
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16|uint64(b[6])<<8|uint64(b[7]))
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// The codes that both roles give.
const (
	// CodeInvalidQuery is of a query that breaks the rules of its document.
	CodeInvalidQuery bridge.Code = "invalid_query"
)
