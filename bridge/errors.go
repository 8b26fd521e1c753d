package bridge

import (
	"errors"
	"fmt"
	"time"
)

// Code is a stable word for what went wrong; the HTTP API makes a status of it in one table.
type Code string

// The codes that the domain gives.
const (
	CodeNotFound            Code = "question_not_found"
	CodeRoomUnknown         Code = "room_not_found"
	CodeRoomNotGranted      Code = "room_not_granted"
	CodeRoomUnanswerable    Code = "room_unanswerable"
	CodeElicitationConflict Code = "elicitation_conflict"
	CodeSubjectConflict     Code = "subject_conflict"
	CodeIdempotencyConflict Code = "idempotency_conflict"
	CodeTargetNotPermitted  Code = "target_not_permitted"
	CodeInvalidQuestion     Code = "invalid_question"
	CodeInvalidCursor       Code = "invalid_cursor"
	CodeQuotaExceeded       Code = "quota_exceeded"
	CodeNotEligible         Code = "not_eligible"
	CodeAdminsOnly          Code = "admins_only"
	CodeInvalidOption       Code = "invalid_option"
	CodeOutOfRange          Code = "out_of_range"
	CodeAmbiguous           Code = "ambiguous"
	CodeNotText             Code = "not_text"
	CodeStructuredInvalid   Code = "structured_invalid"
	CodeTextNotInvited      Code = "text_not_invited"
	CodeTextTooLong         Code = "text_too_long"
	CodeCommentMissing      Code = "comment_missing"
	CodeInputMissing        Code = "input_missing"
	CodeInputInvalid        Code = "input_invalid"
	CodeInputNotInvited     Code = "input_not_invited"
	CodeUnsupported         Code = "unsupported"
	CodeQuestionRemoved     Code = "question_removed"
	CodePreviewIncomplete   Code = "preview_incomplete"
	CodeSubjectLapsed       Code = "subject_lapsed"
	CodeSubjectMismatch     Code = "subject_mismatch"
	CodeNotByReply          Code = "not_by_reply"
	CodeUnreadable          Code = "unreadable"
	CodeDeviceUntrusted     Code = "device_untrusted"
	CodeWeakSignIn          Code = "weak_sign_in"
	CodeServerNotListed     Code = "server_not_listed"
	CodeOpenIDRefused       Code = "openid_token_refused"
)

// Error is a refusal that may be shown: it names the rule and never what a person wrote.
type Error struct {
	Code   Code
	Field  string // a JSON pointer into what was asked, where there is one
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Reason) }

// CodeOf gives the code of the first *Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func refusal(code Code, reason string) error { return &Error{Code: code, Reason: reason} }

// ErrHeld is returned by a channel that cannot post yet: the question waits, nothing is wrong.
type ErrHeld struct {
	Reason string        // of a [Delivery], where it is about one
	Again  time.Duration // how soon it is worth another try
}

func (e *ErrHeld) Error() string { return "held: " + e.Reason }

// ErrImpossible is returned by a channel when no further try can help.
type ErrImpossible struct {
	State  DeliveryState // Failed or Unanswerable
	Reason string        // of a [Delivery], where it is about one
}

func (e *ErrImpossible) Error() string { return "impossible: " + e.Reason }

// ErrDelayed is around an error of a channel that could not post and is worth another try. It says why the question does
// not stand in its conversation meanwhile.
type ErrDelayed struct {
	Reason string // of a [Delivery]
	Err    error
}

func (e *ErrDelayed) Error() string { return e.Reason + ": " + e.Err.Error() }
func (e *ErrDelayed) Unwrap() error { return e.Err }

// ErrRetry is returned by a channel whose peer said when to come back, and by the engine for what cannot be read now.
type ErrRetry struct {
	After time.Duration
	Err   error
}

func (e *ErrRetry) Error() string { return fmt.Sprintf("retry after %s: %v", e.After, e.Err) }
func (e *ErrRetry) Unwrap() error { return e.Err }
