package httpapi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// handler answers a request, or says why it cannot: an error becomes a problem in one place.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	switch {
	case err == nil:
	case r.Context().Err() != nil: // nobody may be there to be told; whoever is must not take silence for a 200
		zerolog.Ctx(r.Context()).Debug().Err(err).Msg("Client left")
		sendProblem(w, r, problemOf(err))
	default:
		writeProblem(w, r, err)
	}
}

// guard is around every request: a logger in its context, and a problem in place of a panic.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		r, _ = apart(func() (*http.Request, error) { return s.named(r), nil })
		out := &response{ResponseWriter: w}
		out.Header().Set("X-Content-Type-Options", "nosniff")
		out.Header().Set("Cache-Control", "no-store")
		defer func() { s.answered(out, r, start, recover()) }()
		next.ServeHTTP(out, r)
	})
}

// named gives the request an id, for its log lines.
func (s *server) named(r *http.Request) *http.Request {
	id := rand.Text()
	log := s.Log.With().Str("request", id).Logger()
	return r.WithContext(log.WithContext(bridge.Origin{Request: id}.In(r.Context())))
}

// answered ends a request that was answered, or panicked.
func (s *server) answered(out *response, r *http.Request, start time.Time, panicked any) {
	log := zerolog.Ctx(r.Context())
	if panicked != nil {
		if panicked == http.ErrAbortHandler {
			panic(panicked)
		}
		log.Error().Str("panic", panicOf(panicked)).Bytes("stack", debug.Stack()).Msg("Request panicked")
		if out.status == 0 {
			_ = write(out, http.StatusInternalServerError, problemType, internalProblem(r))
		}
	}
	took := time.Since(start)
	if s.Observe != nil {
		s.Observe(r.Pattern, out.status, took)
	}
	log.Debug().Str("method", r.Method).Str("route", r.Pattern).Int("status", out.status).Dur("took", took).Msg("Request answered")
}

// panicOf says what panicked, for the log. Only the runtime's own words are known to hold nothing that anybody wrote.
func panicOf(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", value)
}

// response notes the status, for the log and for a panic after it.
type response struct {
	http.ResponseWriter
	status int
}

func (r *response) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// answerUnmatched gives a problem where the mux would write text: no such route, no such method. It also does where the
// mux would redirect to a path with less in it, as an id that was left empty makes it do.
func answerUnmatched(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, pattern := mux.Handler(r)
		if pattern != "" && clean(r.URL) {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &silent{header: http.Header{}}
		own.ServeHTTP(probe, r)
		if probe.status != http.StatusMethodNotAllowed {
			writeProblem(w, r, newProblem(codeNoRoute, "The API has no such path."))
			return
		}
		allow := probe.header.Get("Allow")
		writeProblem(w, r, newProblem(codeMethod, "This path takes "+allow+".").with("Allow", allow))
	})
}

// clean says whether a path has no empty and no dot segment, as it was sent: an escaped slash is no slash.
func clean(u *url.URL) bool {
	return u.EscapedPath() == path.Clean(u.EscapedPath())
}

// silent hears what a handler would answer.
type silent struct {
	header http.Header
	status int
}

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) Write(b []byte) (int, error) { return len(b), nil }
func (s *silent) WriteHeader(status int)      { s.status = status }

const (
	documentType = "application/json"
	problemType  = "application/problem+json"
)

func writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	log := zerolog.Ctx(r.Context())
	if p.Status >= http.StatusInternalServerError && p.Code != codeNotReady {
		reason := err
		if p.cause != nil {
			reason = p.cause
		}
		log.Error().Err(reason).Str("method", r.Method).Str("route", r.Pattern).Msg("Request failed")
	} else {
		log.Debug().Str("code", string(p.Code)).Msg("Request refused")
	}
	sendProblem(w, r, p)
}

func sendProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.Code == codeInternal {
		p = internalProblem(r)
	}
	for name, values := range p.header {
		w.Header()[name] = values
	}
	_ = write(w, p.Status, problemType, p) // a problem can always be encoded
}

// internalProblem says where in the log the reason is.
func internalProblem(r *http.Request) *Problem {
	p := newProblem(codeInternal, internalDetail)
	if id := bridge.OriginOf(r.Context()).Request; id != "" {
		p.Instance = "urn:question-bridge:request:" + id
	}
	return p
}

// reply writes a document. It is encoded whole before its first byte is sent.
func reply(w http.ResponseWriter, status int, document any) error {
	return write(w, status, documentType, document)
}

func write(w http.ResponseWriter, status int, contentType string, document any) error {
	raw, err := encode(document)
	if err != nil {
		return err
	}
	send(w, status, contentType, raw)
	return nil
}

func encode(document any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(document)
	return buf.Bytes(), err
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone, if this fails
}
