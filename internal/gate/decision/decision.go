package decision

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/shortid"
)

// ID names what stands under a key, to people too: "d" and five characters.
type ID string

const idLetter = 'd'

// ParseID reads an id as somebody typed it; ok is false for what can be none.
func ParseID(typed string) (id ID, ok bool) {
	parsed, ok := shortid.Parse(idLetter, typed)
	return ID(parsed), ok
}

// Key is what a decision counts for.
type Key struct {
	Agent     bridge.AgentID
	Requester string
	Purpose   string
	Principal Opaque
}

// Opaque stands for a principal, and for nobody who does not know the database's [Secret].
type Opaque [sha256.Size]byte

// Secret makes principals opaque. With another one, nothing that is remembered is found.
type Secret [32]byte

// key is that of a scope. Every part of that is in the HMAC, each with its end.
func (s Secret) key(of collector.Scope) Key {
	p := of.Principal
	parts, _ := json.Marshal([]string{"decision", string(of.Agent), of.Requester, of.Purpose, p.Kind, p.Scope, p.ID}) // text never fails
	h := hmac.New(sha256.New, s[:])
	h.Write(parts)
	k := Key{Agent: of.Agent, Requester: of.Requester, Purpose: of.Purpose}
	h.Sum(k.Principal[:0])
	return k
}

// Decision is what stands under a key. Once it was taken back, its key keeps only the revision.
type Decision struct {
	Key
	ID       ID
	Revision int64 // from 1
	// Made is what was decided; nil where nothing stands any more.
	Made *Made
	// EmptiedAt is since when nothing stands; nil while something does.
	EmptiedAt *time.Time
}

// Made is a decision that a person made.
type Made struct {
	Approved bool
	By       bridge.UserID // "" where another host asked them
	At       time.Time
	Gate     collector.GateID // that they were asked for
	Used     Uses             // since then
}

// Uses are how often a decision answered in place of its person.
type Uses struct {
	Times int
	Last  *time.Time
}

// next is what stands once somebody decided.
func (d Decision) next(m collector.Made) Decision {
	d.Revision++
	d.Made, d.EmptiedAt = &Made{Approved: m.Approved, By: m.By, At: m.At, Gate: m.Gate}, nil
	return d
}

// emptied is what stands once a decision does not any more.
func (d Decision) emptied(at time.Time) Decision {
	d.Revision++
	d.Made, d.EmptiedAt = nil, &at
	return d
}

// Retention is how long the revision of an empty key is kept. No exchange that knows it is open for so long.
const Retention = 90 * 24 * time.Hour
