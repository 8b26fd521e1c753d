// Package gate holds what both roles of Approval and continuations (protocol version 2026-07-30) have in common. The host,
// in package host, puts queries to people and submits what they say; the collector hands queries out and takes responses.
// Their documents are those of package schema.
package gate

import (
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// QueryID names a query: a UUID of version 7, in lower case. It is its collector's.
type QueryID string

// ResponseID names a response, once for all the times it is sent: a UUID of version 7, in lower case. It is its host's.
type ResponseID string

// NewQueryID makes one; like every UUID of version 7 it tells when.
func NewQueryID(at time.Time) QueryID { return QueryID(schema.NewID(at)) }

// NewResponseID makes one; like every UUID of version 7 it tells when.
func NewResponseID(at time.Time) ResponseID { return ResponseID(schema.NewID(at)) }

// The codes that both roles give.
const (
	// CodeInvalidQuery is of a query that breaks the rules of its document.
	CodeInvalidQuery bridge.Code = "invalid_query"
)
