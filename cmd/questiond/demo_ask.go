package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"superpipeline.dev/question-bridge/internal/testserver"
)

const sampleQuestion = `{
  "prompt": "Which way should v1.4.0 go?",
  "context": "Build 4821",
  "responder_scope": "room",
  "options": [
    {"value": "deploy", "label": "Deploy it", "style": "primary"},
    {"value": "canary", "label": "Canary first"},
    {"value": "hold", "label": "Hold it back", "style": "danger"}
  ],
  "ttl": 86400,
  "correlation_id": "demo"
}`

// askSample asks something and waits until it is in the room, unless a question of an earlier demo is still open.
func (d *demo) askSample(ctx context.Context) error {
	var open struct {
		Questions []json.RawMessage `json:"questions"`
	}
	if err := d.callAPI(ctx, http.MethodGet, "/api/agent/questions?state=pending", "", &open); err != nil {
		return fmt.Errorf("look for open questions: %w", err)
	}
	if len(open.Questions) > 0 {
		return nil
	}
	watch, err := d.alice.Watch(ctx, d.room)
	if err != nil {
		return err
	}
	var asked struct {
		ID string `json:"id"`
	}
	if err := d.callAPI(ctx, http.MethodPost, "/api/agent/rooms/"+demoCode+"/questions", sampleQuestion, &asked); err != nil {
		return fmt.Errorf("ask the sample question: %w", err)
	}
	asks := func(e testserver.Event) bool { return isQuestion(d.open(ctx, e, keyPatience)) }
	if _, err := watch.Next(ctx, asks); err != nil {
		return fmt.Errorf("the sample question was not posted: %w", err)
	}
	return nil
}

// isQuestion recognises the event that asks a question, and no edit of one.
func isQuestion(e testserver.Event) bool {
	return e.Type == "m.room.message" && e.Field("suite_event_type") == "dev.superpipeline.question.v2" && e.NewBody() == ""
}

// callAPI calls the bridge as the agent.
func (d *demo) callAPI(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, d.at.API+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the bridge answers %d: %s", resp.StatusCode, data)
	}
	return json.Unmarshal(data, into)
}
