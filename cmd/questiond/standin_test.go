package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"superpipeline.dev/question-bridge/internal/app"
)

// standIn is as much of a bridge as the demo's start needs, so that the demo can be tested apart from it: it joins when
// invited and posts what it is asked.
func standIn(ctx context.Context, opts app.Options) error {
	b := &bridgeStandIn{opts: opts, asked: filepath.Join(filepath.Dir(opts.Config.Database.Path), "stand-in.asked")}
	homeserver := http.NewServeMux()
	homeserver.HandleFunc("PUT /_matrix/app/v1/transactions/{id}", b.transaction)
	askers := http.NewServeMux()
	askers.HandleFunc("POST /api/agent/rooms/{room}/questions", b.ask)
	askers.HandleFunc("GET /api/agent/questions", b.list)
	go func() { _ = http.Serve(opts.Listeners.Appservice, homeserver) }()
	go func() { _ = http.Serve(opts.Listeners.API, askers) }()
	opts.Ready(app.Addresses{
		API:        "http://" + opts.Listeners.API.Addr().String(),
		Appservice: "http://" + opts.Listeners.Appservice.Addr().String(),
	})
	<-ctx.Done()
	return nil
}

type bridgeStandIn struct {
	opts  app.Options
	asked string // a file that is there once a question was asked
}

func (b *bridgeStandIn) transaction(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Events []struct {
			Type     string
			RoomID   string  `json:"room_id"`
			StateKey *string `json:"state_key"`
			Content  struct{ Membership string }
		}
	}
	if r.Header.Get("Authorization") != "Bearer "+b.opts.Registration.HSToken || json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	for _, e := range body.Events {
		if e.Content.Membership == "invite" && e.StateKey != nil && *e.StateKey == b.opts.Config.BotID() {
			if err := b.matrix("POST", "/_matrix/client/v3/join/"+url.PathEscape(e.RoomID), map[string]any{}); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	_, _ = w.Write([]byte("{}"))
}

func (b *bridgeStandIn) ask(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Prompt string }
	if json.NewDecoder(r.Body).Decode(&asked) != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer qb_") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	room := b.opts.Config.Rooms[0].Room
	err := b.matrix("PUT", "/_matrix/client/v3/rooms/"+url.PathEscape(room)+"/send/m.room.message/1", map[string]any{
		"msgtype": "m.text", "body": asked.Prompt, "suite_event_type": "dev.superpipeline.question.v2",
	})
	if err == nil {
		err = os.WriteFile(b.asked, nil, 0o600)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"id":"q_1"}`))
}

func (b *bridgeStandIn) list(w http.ResponseWriter, _ *http.Request) {
	questions := "[]"
	if _, err := os.Stat(b.asked); err == nil {
		questions = `[{"id":"q_1"}]`
	}
	_, _ = fmt.Fprintf(w, `{"questions":%s,"next_cursor":null}`, questions)
}

func (b *bridgeStandIn) matrix(method, path string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, b.opts.Config.Homeserver.URL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+b.opts.Registration.ASToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return nil
}
