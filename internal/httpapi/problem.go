package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// problemBase begins every problem's type; the code completes it.
const problemBase = "https://superpipeline.dev/problems/"

// Problem is the body of every response of 400 and more: RFC 9457, as application/problem+json.
type Problem struct {
	Type       string         `json:"type"`                  // problemBase and the code
	Title      string         `json:"title"`                 // the same for every problem of the code
	Status     int            `json:"status"`                // as in the response
	Code       bridge.Code    `json:"code"`                  // stable; what a program should look at
	Detail     string         `json:"detail"`                // this problem, as a sentence
	Instance   string         `json:"instance,omitempty"`    // of an internal error: what to look for in the log
	RetryAfter int            `json:"retry_after,omitempty"` // seconds until another try may be worth it, as in the header; at least 1
	Retryable  *bool          `json:"retryable,omitempty"`   // whether the same request may do better later; only where queries are answered
	Errors     []schema.Fault `json:"errors,omitempty"`      // at most 50 faults of what was sent, none of which repeats a value
	More       int            `json:"more,omitempty"`        // how many faults there are beside those

	header http.Header // what the response says besides
	cause  error       // for the log alone
	again  bool        // whether it was said to the same one just before
}

// Error implements error: a handler returns a problem as any other failure.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

func newProblem(code bridge.Code, detail string) *Problem {
	k, ok := kinds[code]
	if !ok {
		code, k = codeInternal, kinds[codeInternal]
	}
	return &Problem{Type: problemBase + string(code), Title: k.title, Status: k.status, Code: code, Detail: detail, header: http.Header{}}
}

// Unwrap gives what is behind the problem, which only the log shows.
func (p *Problem) Unwrap() error { return p.cause }

func (p *Problem) with(name, value string) *Problem {
	p.header.Set(name, value)
	return p
}

// retryAfter says when it may be worth another try, in whole seconds: the next one after d, and at least 1.
func (p *Problem) retryAfter(d time.Duration) *Problem {
	p.RetryAfter = max(1, int(math.Ceil(d.Seconds())))
	return p.with("Retry-After", strconv.Itoa(p.RetryAfter))
}

// problemOf makes a problem of any error. Only refusals, which are worded for strangers, say why; nothing else of an
// error is shown.
func problemOf(err error) *Problem {
	var problem *Problem
	var refused *schema.Refusal
	var known *bridge.Error
	var tooLarge *http.MaxBytesError
	var later *bridge.ErrRetry
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &refused):
		return problemOfRefusal(refused, codeOfFault)
	case errors.As(err, &known):
		if _, ok := kinds[known.Code]; !ok {
			return newProblem(codeInternal, internalDetail)
		}
		p := newProblem(known.Code, sentence(known.Reason))
		if known.Field != "" {
			p.Errors = []schema.Fault{{Rule: schema.Rule(known.Code), Location: known.Field, Keyword: string(known.Code), Reason: known.Reason}}
		}
		if known.Code == bridge.CodeQuotaExceeded {
			p.retryAfter(quotaAgain)
		}
		return p
	case errors.As(err, &tooLarge):
		return bodyTooLarge()
	case errors.As(err, &later):
		return unavailable("The homeserver cannot be asked right now who may answer. Please try again.", err).retryAfter(later.After)
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("The server is too busy to answer in time. Please try again.", err)
	default:
		return newProblem(codeInternal, internalDetail)
	}
}

// unavailable is for what may work soon.
func unavailable(detail string, cause error) *Problem {
	p := newProblem(codeUnavailable, detail).retryAfter(time.Second)
	p.cause = cause
	return p
}

// retryable says of a failure whether the same request may do better later, as every receipt does (Approval and
// continuations, section 3). What went wrong on the server may go right.
func retryable(err error) error {
	p := problemOf(err)
	if p.Code == codeInternal {
		p = unavailable("The response could not be stored. Please try again.", err)
	}
	p.Retryable = new(p.Status >= http.StatusInternalServerError || p.Status == http.StatusTooManyRequests || p.Status == http.StatusRequestTimeout)
	return p
}

const internalDetail = "Something went wrong on the server, which has logged it."

func problemOfRefusal(r *schema.Refusal, codeOf func(schema.Fault) bridge.Code) *Problem {
	first := r.Faults[0]
	code := codeOfRefusal(r, codeOf)
	for _, f := range r.Faults { // say the reason for the code, not the first of them all
		if codeOf(f) == code {
			first = f
			break
		}
	}
	at := first.Location
	if at == "" {
		at = "the document"
	}
	p := newProblem(code, sentence(at+" "+first.Reason))
	p.Errors, p.More = r.Faults, r.More
	return p
}

// sentence makes one of a reason, which may be half of one.
func sentence(reason string) string {
	first, size := utf8.DecodeRuneInString(reason)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(reason[size:], ".") + "."
}
