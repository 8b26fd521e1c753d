package client_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"superpipeline.dev/question-bridge/bridge/client"
)

const (
	asked = `{"id": "q_8t2k", "kind": "question", "prompt": "Deploy v1.4.0?", "context": null, "text_input": null,
		"options": [{"value": "approve", "label": "Yes", "style": "primary", "primary": true, "destructive": false},
			{"value": "deny", "label": "No", "style": "danger", "primary": false, "destructive": true}],
		"responder_scope": "room", "target_user_id": null, "resolution_policy": "first", "state": "pending", "answer": null,
		"created_at": "2026-11-01T12:00:00Z", "expires_at": "2026-11-01T12:30:00Z", "resolved_at": null,
		"correlation_id": "deploy-42", "reply_to": null, "data": null}`
	pending   = `"state": "pending", "answer": null`
	unsettled = `"resolved_at": null`
	saidNo    = `"state": "answered", "answer": {"value": "deny", "label": "No", "text": null,
		"responder": {"id": "@federica:example.org", "display_name": "Federica"}, "answered_at": "2026-11-01T12:10:00Z"}`
	settled = `"resolved_at": "2026-11-01T12:10:00Z"`
)

// newServer stands in for a server on which Federica said no.
func newServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered := strings.NewReplacer(pending, saidNo, unsettled, settled).Replace(asked)
		switch {
		case r.URL.Path == "/api/agent/questions", r.URL.Path == "/api/questions/pending":
			io.WriteString(w, `{"questions": [`+answered+`], "next_cursor": null}`)
		case r.URL.Path == "/api/agent/rooms/OPS/questions":
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, asked)
		case strings.HasSuffix(r.URL.Path, "/cancel"):
			io.WriteString(w, strings.NewReplacer(pending, `"state": "cancelled", "cancelled_by": "asker", "answer": null`, unsettled, settled).Replace(asked))
		case r.URL.Path == "/api/questions/q_8t2k":
			io.WriteString(w, asked)
		case strings.Contains(r.URL.Path, "/questions/q_8t2k"):
			io.WriteString(w, answered)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"status": 404, "code": "room_not_found", "detail": "There is no such room."}`)
		}
	}))
}

func newClient(server string) *client.Client {
	c, err := client.New(client.Config{Server: server, Token: "agent-token"})
	if err != nil {
		log.Fatal(err)
	}
	return c
}
