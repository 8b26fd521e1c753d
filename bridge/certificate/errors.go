package certificate

import "errors"

// Code says why something is no certificate, or no key.
type Code string

// The codes. None of them says that a person declined: a certificate that is refused proves nothing at all.
const (
	CodeTooLarge     Code = "too_large"     // more than MaxBytes
	CodeMalformed    Code = "malformed"     // not JSON, or not the properties and types of a certificate, or a statement that no bridge makes
	CodeNotCanonical Code = "not_canonical" // JSON, but not in its canonical form, to the byte
	CodeUnknownKey   Code = "unknown_key"   // signed by a key that is not among the given ones, or says so
	CodeBadSignature Code = "bad_signature" // not signed by the key that it names
	CodeInvalidKey   Code = "invalid_key"   // of a key or a list of keys
)

// Error is why something was refused. Reason is half a sentence, and quotes nothing of what was refused.
type Error struct {
	Code   Code
	Reason string
}

func (e *Error) Error() string { return "certificate: " + e.Reason + " (" + string(e.Code) + ")" }

// CodeOf gives the code of a refusal; "" for any other error, and for none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func tooLarge() error { return &Error{CodeTooLarge, "it is larger than a certificate can be"} }
