// Package certificate makes and checks the certificates of approvals: signed statements that exactly this subject was
// approved, by whom and how. docs/certificates.md says what one states and what it does not, and how to check one in
// another language.
//
// A certificate is a JSON object {key_id, payload, signature} in its one canonical form (RFC 8785). The signature is
// Ed25519 (RFC 8032) over [Prefix] and the canonical form of the payload. There is one sequence of bytes for a
// certificate, and no other verifies.
package certificate

import (
	"encoding/json"
	"time"

	"github.com/gowebpki/jcs"
)

// Type is the type of every payload. Another version of it would have another one.
const Type = "dev.superpipeline.question.certificate.v1"

// Prefix begins the bytes that are signed, so that a signature over anything else that a key might ever sign is no
// signature of a certificate.
const Prefix = Type + "\n"

// MaxBytes bounds a certificate. The largest event that a question fits in is half of it.
const MaxBytes = 128 << 10

// MaxRevision is the largest revision: a JSON number holds no larger integer exactly.
const MaxRevision = 1<<53 - 1

// Approve is the meaning that every certified option has.
const Approve = "approve"

// Signed is a certificate: what it states, and who says so.
type Signed struct {
	KeyID     string  `json:"key_id"`
	Payload   Payload `json:"payload"`
	Signature string  `json:"signature"` // base64url, without padding
}

// Payload is what a certificate states. Every property is there; null says that there is nothing to say.
type Payload struct {
	Type          string    `json:"type"`           // always [Type]; Sign fills it in
	CertificateID string    `json:"certificate_id"` // unique; what a list of used certificates is kept by
	Issuer        string    `json:"issuer"`         // the public address of the bridge that says so
	QuestionID    string    `json:"question_id"`
	ElicitationID string    `json:"elicitation_id"` // of the question, unique for its asker
	Asker         string    `json:"asker"`          // the agent that asked
	Subject       Subject   `json:"subject"`
	OptionID      string    `json:"option_id"`   // that was chosen
	Meaning       string    `json:"meaning"`     // of that option: always approve
	Grant         *string   `json:"grant"`       // once, run or always; nil where the option says nothing
	Responder     string    `json:"responder"`   // the Matrix id of who approved
	Room          string    `json:"room"`        // where it was asked
	EventID       *string   `json:"event_id"`    // of the answer in the room; nil for one that came by the HTTP API
	Surface       string    `json:"surface"`     // how the answer came: reply, reaction, structured, api or openid
	ApprovedAt    time.Time `json:"approved_at"` // when the bridge accepted the answer
}

// Subject is the exact thing that was approved.
type Subject struct {
	ID       string `json:"id"`
	Digest   string `json:"digest"`
	Schema   string `json:"schema"`
	Revision int64  `json:"revision"` // 0 to [MaxRevision]
	// ExpiresAt is when the binding of the approval to the subject lapses; nil for never.
	ExpiresAt *time.Time `json:"expires_at"`
}

// check says what keeps the payload from being a statement that a bridge could make; "" for nothing.
func (p Payload) check() string {
	for _, required := range []struct{ name, value string }{
		{"certificate_id", p.CertificateID}, {"issuer", p.Issuer}, {"question_id", p.QuestionID},
		{"elicitation_id", p.ElicitationID}, {"asker", p.Asker}, {"subject.id", p.Subject.ID},
		{"subject.digest", p.Subject.Digest}, {"subject.schema", p.Subject.Schema}, {"option_id", p.OptionID},
		{"responder", p.Responder}, {"room", p.Room}, {"surface", p.Surface},
	} {
		if required.value == "" {
			return required.name + " is empty"
		}
	}
	switch {
	case p.Type != Type:
		return "its type is not " + Type
	case p.Meaning != Approve:
		return "its meaning is not " + Approve
	case p.Grant != nil && *p.Grant != "once" && *p.Grant != "run" && *p.Grant != "always":
		return "its grant is none of once, run and always"
	case p.EventID != nil && *p.EventID == "":
		return "event_id is empty"
	case p.Subject.Revision < 0 || p.Subject.Revision > MaxRevision:
		return "the revision is not between 0 and 2^53-1"
	case p.ApprovedAt.IsZero():
		return "there is no time of approval"
	case p.Subject.ExpiresAt != nil && !p.ApprovedAt.Before(*p.Subject.ExpiresAt):
		return "it was approved when the subject had lapsed"
	}
	return ""
}

// plain is the payload with its times in UTC, which is how they are written.
func (p Payload) plain() Payload {
	p.ApprovedAt = p.ApprovedAt.Round(0).UTC()
	if p.Subject.ExpiresAt != nil {
		at := p.Subject.ExpiresAt.Round(0).UTC()
		p.Subject.ExpiresAt = &at
	}
	return p
}

// Canonical gives the canonical form of a JSON document (RFC 8785): it makes the exact bytes of a certificate that came
// as a part of another document. The error is an *Error with CodeMalformed or CodeTooLarge.
func Canonical(document []byte) ([]byte, error) {
	if len(document) > 2*MaxBytes { // as somebody may have laid it out
		return nil, tooLarge()
	}
	out, err := jcs.Transform(document)
	if err != nil {
		return nil, &Error{CodeMalformed, "it is not one JSON value with unique names"}
	}
	return out, nil
}

func canonicalOf(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

// message is what is signed.
func message(p Payload) ([]byte, error) {
	payload, err := canonicalOf(p)
	if err != nil {
		return nil, err
	}
	return append([]byte(Prefix), payload...), nil
}
