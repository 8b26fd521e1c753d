package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// Codes that this package gives itself. Every other code is the server's.
const (
	CodeUnreadable = "unreadable_response" // a success whose body is not the document that was asked for
	CodeRedirect   = "redirect_refused"    // the server points elsewhere; the token was not sent there
)

// Error is a response that is not what was asked for.
type Error struct {
	Status int    // the HTTP status
	Code   string // a stable word, for example "question_not_found"; "" when the response names none
	Detail string // a sentence for a person. It is the server's text: escape it before showing it on a terminal
	Faults []schema.Fault
	More   int // how many faults there are beside those
	// RetryAfter is how long the server asks to stay away; 0 for no such wish.
	RetryAfter time.Duration

	document []byte // the body, where it is JSON and no problem
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client: the server answered %d", e.Status)
	if e.Code != "" {
		fmt.Fprintf(&b, " %s", e.Code)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "; %s", f)
	}
	return b.String()
}

// passing says whether the same request may well succeed later. Every 4xx is definite but those that speak of time.
func passing(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return true // no response at all
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500 || e.Code == CodeUnreadable
}

// problem is an application/problem+json document (RFC 9457) as the server writes it.
type problem struct {
	Title      string         `json:"title"`
	Code       string         `json:"code"`
	Detail     string         `json:"detail"`
	Errors     []schema.Fault `json:"errors"`
	More       int            `json:"more"`
	RetryAfter float64        `json:"retry_after"` // seconds
}

// responseError makes an Error of a response without success. A body that is no problem document says nothing.
func responseError(resp *http.Response, body []byte) *Error {
	e := &Error{Status: resp.StatusCode, Detail: http.StatusText(resp.StatusCode)}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Code = CodeRedirect
		e.Detail = "the server points to another address, which is not followed"
		if to := resp.Header.Get("Location"); to != "" {
			e.Detail += ": " + to
		}
		return e
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var p problem
	if kind == "application/json" {
		e.document = body
	}
	if kind == "application/problem+json" && readable(json.Unmarshal(body, &p)) {
		e.Code, e.Faults, e.More = p.Code, p.Errors, p.More
		if detail := firstOf(p.Detail, p.Title); detail != "" {
			e.Detail = detail
		}
		e.RetryAfter = seconds(p.RetryAfter)
	}
	if after, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
		e.RetryAfter = after
	}
	return e
}

// readable says whether a body was JSON, though maybe with a property of another type, which stays empty.
func readable(err error) bool {
	var t *json.UnmarshalTypeError
	return err == nil || errors.As(err, &t)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(header string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(header, 64); err == nil {
		return seconds(n), true
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// seconds makes a duration of a number that may be anything; a day is the most.
func seconds(n float64) time.Duration {
	const day = 24 * time.Hour
	switch {
	case n >= day.Seconds():
		return day
	case n > 0:
		return time.Duration(n * float64(time.Second))
	default: // negative, and not a number
		return 0
	}
}
