package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/schema"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

// hookRequest is what a server posts when Federica has said no.
func hookRequest(address string) *http.Request {
	body := `{"event": "question.answered", "question_id": "q_8t2k", ` + saidNo + `, "correlation_id": "deploy-42", "reply_to": null,
		"data": null, "room": {"name": "Ops", "code": "OPS"}, "timestamp": "2026-11-01T12:10:00Z"}`
	key, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	signature, err := key.Sign("msg_cx4vht6v", now, []byte(body))
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(body))
	r.RequestURI = "" // so that a client may send it too
	r.Header.Set("webhook-id", "msg_cx4vht6v")
	r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("webhook-signature", signature)
	return r
}

// Ask, go on with other things, and match the resolution later by the correlation id, in any handler of HTTP.
func ExampleWebhook_Reconcile() {
	server := newServer()
	defer server.Close()
	deploy := "deploy-42"
	_, err := newClient(server.URL).AskYesNo(context.Background(), "OPS", &schema.CoreAsk{
		Prompt: "Deploy v1.4.0?", AskTerms: schema.AskTerms{CorrelationID: &deploy},
	})
	if err != nil {
		log.Fatal(err)
	}

	hook, err := client.NewWebhook(hookSecret)
	if err != nil {
		log.Fatal(err)
	}
	event, err := hook.Reconcile(hookRequest("http://ci.example.org/hooks/questions"))
	var refused *client.WebhookError
	switch {
	case errors.As(err, &refused) && refused.Ignorable():
		return // answer 204
	case err != nil:
		log.Fatal(err) // answer refused.Status()
	}
	if correlation, ok := event.Correlation(); ok {
		fmt.Println(correlation, "may deploy:", event.Chose(client.ValueApprove))
	}
	// Output: deploy-42 may deploy: false
}

// A whole receiver, which takes each event once however often it comes. A real one keeps what it is done with where it
// survives a restart, together with what it does.
func ExampleWebhook_Handler() {
	hook, err := client.NewWebhook(hookSecret)
	if err != nil {
		log.Fatal(err)
	}
	events := make(chan *client.Event, 100)
	server := httptest.NewServer(hook.Handler(func(_ context.Context, e *client.Event) error {
		select {
		case events <- e:
			return nil
		default:
			return errors.New("too busy") // it comes again
		}
	}))
	for range 2 {
		resp, err := server.Client().Do(hookRequest(server.URL))
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	server.Close()
	close(events)

	done := map[string]bool{}
	for e := range events {
		if done[e.QuestionID] {
			continue
		}
		done[e.QuestionID] = true
		value, _ := e.Value()
		fmt.Println(e.Name, e.QuestionID, value)
	}
	// Output:
	// 204 No Content
	// 204 No Content
	// question.answered q_8t2k deny
}
