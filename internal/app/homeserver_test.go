package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
)

// fastHomeserver is a homeserver that takes no time: it knows every room, in which there are the same people and the bot,
// takes what is sent, and pushes it back, one transaction at a time.
type fastHomeserver struct {
	tb   testing.TB
	url  string
	next int

	mu        sync.Mutex
	questions map[bridge.QuestionID]string // the event of each
	echoes    []json.RawMessage
	arrived   chan struct{}
	heard     io.Writer // also gets what is sent; nil for nowhere

	pushing sync.Mutex // one transaction at a time
	client  http.Client
	to      string // the application service
	reg     config.Registration
}

// dana is in every room.
const dana = "@dana:" + benchDomain

func newFastHomeserver(tb testing.TB, others ...string) *fastHomeserver {
	h := &fastHomeserver{tb: tb, questions: map[bridge.QuestionID]string{}, arrived: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	always := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	bot := benchConfig("", "").BotID()
	always("GET /_matrix/client/versions", `{"versions":["v1.2"]}`)
	always("POST /_matrix/client/v3/register", `{}`)
	always("GET /_matrix/client/v3/account/whoami", fmt.Sprintf(`{"user_id":%q}`, bot))
	always("GET /_matrix/federation/v1/openid/userinfo", fmt.Sprintf(`{"sub":%q}`, dana))
	always("GET /_matrix/client/v3/rooms/{room}/state", stateOf(bot, append([]string{dana}, others...)))
	mux.HandleFunc("GET /_matrix/client/v3/sync", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
			_, _ = io.WriteString(w, `{"next_batch":"x"}`)
		}
	})
	mux.HandleFunc("PUT /_matrix/client/v3/rooms/{room}/send/{type}/{txn}", func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, `{"event_id":%q}`, h.sent(r.PathValue("room"), r.PathValue("type"), bot, content))
	})
	mux.HandleFunc("PUT /_matrix/client/v3/rooms/{room}/redact/{event}/{txn}", func(w http.ResponseWriter, r *http.Request) {
		content := fmt.Appendf(nil, `{"redacts":%q}`, r.PathValue("event"))
		_, _ = fmt.Fprintf(w, `{"event_id":%q}`, h.sent(r.PathValue("room"), "m.room.redaction", bot, content))
	})
	h.url = listen(tb, mux)
	return h
}

// stateOf is the state of every room. The first of the people made it.
func stateOf(bot string, people []string) string {
	var events []string
	add := func(kind, key, content string) {
		events = append(events, fmt.Sprintf(`{"event_id":"$s%d","type":%q,"state_key":%q,"sender":%q,"origin_server_ts":1793534400000,"content":%s}`,
			len(events), kind, key, people[0], content))
	}
	add("m.room.create", "", `{"room_version":"11"}`)
	add("m.room.power_levels", "", fmt.Sprintf(`{"users":{%q:100}}`, people[0]))
	add("m.room.member", bot, `{"membership":"join"}`)
	for _, person := range people {
		add("m.room.member", person, fmt.Sprintf(`{"membership":"join","displayname":%q}`, nameOf(person)))
	}
	return "[" + strings.Join(events, ",") + "]"
}

// nameOf makes a display name: Dana of @dana:bench.test.
func nameOf(person string) string {
	name, _, _ := strings.Cut(person[1:], ":")
	return strings.ToUpper(name[:1]) + name[1:]
}

// sent takes an event of the bot's, which is to be pushed back, and gives its id.
func (h *fastHomeserver) sent(room, kind, sender string, content []byte) string {
	var question struct {
		ID   bridge.QuestionID `json:"elicitation_id"`
		Type string            `json:"suite_event_type"`
	}
	_ = json.Unmarshal(content, &question)
	id := newEventID()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.heard != nil {
		_, _ = h.heard.Write(content)
	}
	if question.Type != "" {
		h.questions[question.ID] = id
	}
	h.echoes = append(h.echoes, fmt.Appendf(nil, `{"event_id":%q,"room_id":%q,"sender":%q,"type":%q,"origin_server_ts":%d,"content":%s}`,
		id, room, sender, kind, time.Now().UnixMilli(), content))
	select {
	case h.arrived <- struct{}{}:
	default:
	}
	return id
}

// serve pushes to an application service until the benchmark ends.
func (h *fastHomeserver) serve(to string, reg config.Registration) {
	h.to, h.reg = to, reg
	go func() {
		for {
			select {
			case <-h.tb.Context().Done():
				return
			case <-h.arrived:
			}
			h.mu.Lock()
			events := h.echoes
			h.echoes = nil
			h.mu.Unlock()
			for len(events) > 0 {
				n := min(len(events), perTransaction)
				h.push(events[:n]...)
				events = events[n:]
			}
		}
	}()
}

// push gives when the transaction was sent.
func (h *fastHomeserver) push(events ...json.RawMessage) time.Time {
	_, began := h.put(events...)
	return began
}

// put pushes a transaction and gives the status that it was answered with, 0 if the bridge has ended.
func (h *fastHomeserver) put(events ...json.RawMessage) (status int, began time.Time) {
	h.pushing.Lock()
	defer h.pushing.Unlock()
	h.next++
	body := append([]byte(`{"events":[`), bytes.Join(rawBytes(events), []byte(","))...)
	req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/_matrix/app/v1/transactions/%d", h.to, h.next), bytes.NewReader(append(body, `]}`...)))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.reg.HSToken)
	began = time.Now()
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, began
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, began
}

func rawBytes(events []json.RawMessage) [][]byte {
	out := make([][]byte, len(events))
	for i, e := range events {
		out[i] = e
	}
	return out
}

// event gives the event that a question stands in, "" if it is not posted.
func (h *fastHomeserver) event(id bridge.QuestionID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.questions[id]
}
