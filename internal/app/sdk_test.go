package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

// losing stands before a server and loses every other response, after the server has done what it was asked.
func losing(t *testing.T, server string) (address string, asked *atomic.Int32) {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%2 == 0 {
			forward.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL, asked
}

// TestTheSDKAsksOnce through a network that loses responses, and is given its data back digit by digit on every way.
func TestTheSDKAsksOnce(t *testing.T) {
	o := newOffice(t)
	lossy, asked := losing(t, o.api.URL)
	c, err := client.New(client.Config{Server: lossy, Token: o.token})
	o.ok(err)
	const digits = "12345678901234567890.10"
	correlation := "rel-2.4"
	q, err := c.AskYesNo(t.Context(), "OPS", &schema.CoreAsk{
		Prompt:   "Deploy?",
		AskTerms: schema.AskTerms{CorrelationID: &correlation, Data: map[string]any{"build": json.Number(digits)}},
	})
	o.ok(err)
	if asked.Load() != 2 {
		t.Errorf("sent %d requests", asked.Load())
	}
	steady, err := client.New(client.Config{Server: o.api.URL, Token: o.token})
	o.ok(err)
	same := func(what string, id string, data map[string]any) {
		t.Helper()
		if id != q.ID || fmt.Sprint(data["build"]) != digits {
			t.Errorf("%s: question %s with %v", what, id, data)
		}
	}
	same("ask", q.ID, q.Data)
	listed := 0
	for found, err := range steady.List(t.Context(), client.ListOptions{CorrelationID: correlation}) {
		o.ok(err)
		listed++
		same("list", found.ID, found.Data)
	}
	if listed != 1 {
		t.Errorf("asked %d times", listed)
	}
	cancelled, err := c.Cancel(t.Context(), q.ID)
	o.ok(err)
	same("cancel", cancelled.ID, cancelled.Data)
	outcome, err := c.Await(context.Background(), q.ID)
	o.ok(err)
	same("await", outcome.QuestionID, outcome.Data)
	if !outcome.Withdrawn() || outcome.CancelledBy != "asker" || asked.Load() != 6 {
		t.Errorf("it ended as %v after %d requests", outcome.State, asked.Load())
	}

	// Another run of the same job is given the question of the first one, and with another prompt nothing.
	key := client.IdempotencyKey("deploy-42")
	first, err := steady.AskYesNo(t.Context(), "OPS", &schema.CoreAsk{Prompt: "Deploy?"}, key)
	o.ok(err)
	again, err := steady.AskYesNo(t.Context(), "OPS", &schema.CoreAsk{Prompt: "Deploy?"}, key)
	o.ok(err)
	if first.ID != again.ID || first.ID == q.ID {
		t.Errorf("asked %s, then %s", first.ID, again.ID)
	}
	if _, err := steady.AskYesNo(t.Context(), "OPS", &schema.CoreAsk{Prompt: "Delete?"}, key); codeOf(err) != "idempotency_conflict" {
		t.Errorf("got %v", err)
	}
}

func codeOf(err error) string {
	var refused *client.Error
	errors.As(err, &refused)
	if refused == nil {
		return ""
	}
	return refused.Code
}
