package httpapi

import (
	"context"
	"crypto/sha256"
	"net/http"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// The headers of a request that may be repeated, after draft-ietf-httpapi-idempotency-key-header, and of a response that
// was given before.
const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotent-Replayed"
)

const maxKey = 255 // characters

// idempotencyKey is what names a request for its repeats, as it stands in the header; "" when there is none.
func idempotencyKey(r *http.Request) (string, error) {
	switch keys := r.Header.Values(keyHeader); {
	case len(keys) == 0:
		return "", nil
	case len(keys) > 1:
		return "", invalidKey("must be given once")
	case keys[0] == "" || len(keys[0]) > maxKey || !visible(keys[0]):
		return "", invalidKey("must be 1 to 255 visible ASCII characters, without spaces")
	default:
		return keys[0], nil
	}
}

func visible(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}

func invalidKey(reason string) *Problem {
	p := newProblem(codeInvalidKey, keyHeader+" "+reason+".")
	p.Errors = []schema.Fault{{Rule: schema.Rule(codeInvalidKey), Keyword: keyHeader, Limit: maxKey, Reason: reason}}
	return p
}

// once is a request that counts once under its key, or, where that is "", each time. It is the same request where its
// body says the same; a body that is no JSON is compared as it is.
func once(id bridge.RequestID, body []byte) bridge.Once {
	o := bridge.Once{RequestID: id, Respond: respond}
	if id.Key == "" {
		return o
	}
	var err error
	if o.Request, err = schema.Fingerprint(body); err != nil {
		o.Request = sha256.Sum256(body)
	}
	return o
}

// respond words the response to an ask or a cancel.
func respond(q bridge.Question, created bool) (bridge.Response, error) {
	document, err := encode(dialect.ToQuestion(q))
	return bridge.Response{Question: q.ID, Created: created, Body: document}, err
}

// askOnce asks; whoever repeats a request under its key gets the response that it got first.
func (s *server) askOnce(ctx context.Context, q bridge.Question, o bridge.Once) (r bridge.Response, replayed bool, err error) {
	if o.Key != "" {
		return s.Engine.AskOnce(ctx, q, o)
	}
	q, created, err := s.Engine.Ask(ctx, q)
	if err == nil {
		r, err = o.Respond(q, created)
	}
	return r, false, err
}

func (s *server) cancelOnce(ctx context.Context, id bridge.QuestionID, o bridge.Once) (r bridge.Response, replayed bool, err error) {
	if o.Key != "" {
		return s.Engine.CancelOnce(ctx, o.Agent, id, o)
	}
	q, err := s.Engine.Cancel(ctx, o.Agent, id)
	if err == nil {
		r, err = o.Respond(q, false)
	}
	return r, false, err
}

// replyOnce writes a response, byte for byte as it was given first.
func replyOnce(w http.ResponseWriter, r bridge.Response, replayed bool) error {
	status := http.StatusOK
	if r.Created {
		status = http.StatusCreated
		w.Header().Set("Location", "/api/agent/questions/"+string(r.Question))
	}
	if replayed {
		w.Header().Set(replayHeader, "true")
	}
	send(w, status, documentType, r.Body)
	return nil
}
