package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/webhook"
	"superpipeline.dev/question-bridge/schema"
)

// TestD4OnTheServer is field case D4 as it is written, over HTTP and a real database: every ttl, and a time in year 9999
// where an asker may write one. What is taken is ahead, in range, and read back everywhere.
func TestD4OnTheServer(t *testing.T) {
	onBoth(t, func(m *manor) {
		ask := func(ttl string) string { return `{"prompt":"Go?","ttl":` + ttl + `}` }
		farAway := strings.Replace(bound(m.T, boundUntil, `"expires_at":"9999-12-31T23:59:59Z"`), `{`, `{"deadline":{"remind_at":"9999-12-31T23:59:59Z"},`, 1)
		for body, want := range map[string]time.Duration{
			ask("9223372037"): 24 * time.Hour, ask("292277022399"): 24 * time.Hour, ask("1e18"): 24 * time.Hour, ask("9223372036854775808"): 24 * time.Hour,
			ask("0"): 30 * time.Second, ask("-1"): 30 * time.Second, ask("null"): time.Hour, `{"prompt":"Go?"}`: time.Hour,
			`{"prompt":"Go?","expires_at":"9999-12-31T23:59:59Z"}`: time.Hour, farAway: 7 * 24 * time.Hour,
			strings.Replace(bound(m.T, boundUntil, `"expires_at":null`), `{`, `{"ttl":292277022399,`, 1): 30 * 24 * time.Hour,
		} {
			q := m.asked(body)
			expires, err := q.ExpiresAt.Time()
			created, err2 := q.CreatedAt.Time()
			if err != nil || err2 != nil || expires.Sub(created) != want || !expires.After(time.Now()) {
				m.Errorf("%.60s: %s to %s, want %v", body, q.CreatedAt, q.ExpiresAt, want)
			}
			if again := m.question(m.get("/api/agent/questions/"+q.ID), http.StatusOK); again.ExpiresAt != q.ExpiresAt {
				m.Errorf("%.60s: read back as %s", body, again.ExpiresAt)
			}
		}
		stored := m.listed(m.secret)
		for _, ttl := range []string{"1.5", `"1800"`, "true"} {
			p := m.problem(m.post(opsQuestions, ask(ttl)), http.StatusBadRequest, "malformed")
			if !hasFault(p, "schema", "/ttl", "type") || !strings.HasPrefix(p.Detail, "/ttl ") {
				m.Errorf("ttl %s: %+v", ttl, p)
			}
		}
		if n := m.listed(m.secret); n != stored {
			m.Errorf("%d questions, not %d", n, stored)
		}
	})
}

// What an asker gives to know its question by, in odd spellings: nothing may compute with the numbers.
const (
	oddID   = "é\u2028\u2029 \"<b>&\\/ \t 😀"
	oddData = `{"far":1e400,"near":-1E-999999,"cents":0.1000,"big":12345678901234567890,"none":-0,"text":"\u2028\u0000\ud83d\ude00 <b>&\/","":[{},[],null,true],"long":0.123456789012345678901234567890123456789012}`
)

// oddBody adds to an ask what its asker wants back.
func oddBody(ask string) string {
	id, _ := json.Marshal(oddID)
	return fmt.Sprintf(`{"correlation_id":%s,"reply_to":%s,"data":%s,%s`, id, id, oddData, ask[1:])
}

// echoes says whether a document gives back what the asker of oddBody gave, to the digit.
func echoes(document []byte) bool {
	var got, want struct {
		CorrelationID string         `json:"correlation_id"`
		ReplyTo       string         `json:"reply_to"`
		Data          map[string]any `json:"data"`
	}
	exactly := func(raw []byte, into any) bool {
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		return dec.Decode(into) == nil
	}
	return exactly(document, &got) && exactly([]byte(oddBody(`{"prompt":"Go?"}`)), &want) && reflect.DeepEqual(got, want)
}

// posted keeps what webhooks are to be sent.
type posted struct{ bodies []string }

func (p *posted) AddDeliveries(_ context.Context, deliveries ...bridge.WebhookDelivery) error {
	for _, d := range deliveries {
		p.bodies = append(p.bodies, string(d.Body))
	}
	return nil
}

func (*posted) Place(context.Context, bridge.ConversationID) (webhook.Place, error) {
	return webhook.Place{}, nil
}

// TestEchoes: correlation_id, reply_to and data come back as they were given on every surface, with both databases and in
// both dialects (sections 3 and 4).
func TestEchoes(t *testing.T) {
	onBoth(t, func(m *manor) {
		told := &posted{}
		m.engine.Features = []bridge.Feature{&webhook.Feature{
			Endpoints: []webhook.Endpoint{{Name: "all", Rooms: []string{webhook.EveryRoom}}}, Rooms: told, Store: told, Clock: bridge.SystemClock{},
		}}
		sdk, err := client.New(client.Config{Server: m.url, Token: m.secret})
		if err != nil {
			m.Fatal(err)
		}
		for name, ask := range map[string]string{"core": `{"prompt":"Go?"}`, "v2": corpusEvent(m.T)} {
			surfaces := map[string][]byte{}
			add := func(surface string, a answer) { surfaces[surface] = a.body }
			first := m.keyed(opsQuestions, m.secret, oddBody(ask), name)
			add("ask", first)
			q := m.question(first, http.StatusCreated)
			add("replay", m.keyed(opsQuestions, m.secret, oddBody(ask), name))
			add("fetch", m.get("/api/agent/questions/"+q.ID))
			add("wait", m.get(waitPath(q.ID, "?timeout=0")))
			var page struct{ Questions []json.RawMessage }
			if err := json.Unmarshal(m.get("/api/agent/questions?correlation_id="+url.QueryEscape(oddID)+"&limit=1").body, &page); err != nil || len(page.Questions) != 1 {
				m.Fatalf("%v: listed %d", err, len(page.Questions))
			}
			surfaces["list"] = page.Questions[0]
			add("cancel", m.post("/api/agent/questions/"+q.ID+"/cancel", ""))
			surfaces["webhook"] = []byte(told.bodies[len(told.bodies)-1])
			fetched, err := sdk.Fetch(m.Context(), q.ID)
			if err != nil {
				m.Fatal(err)
			}
			surfaces["SDK"], _ = schema.CompactJSON(fetched.Question)
			for listed, err := range sdk.List(m.Context(), client.ListOptions{CorrelationID: oddID}) {
				if err != nil {
					m.Fatal(err)
				}
				surfaces["SDK, "+listed.ID], _ = schema.CompactJSON(listed.Question)
			}
			for surface, document := range surfaces {
				if !echoes(document) {
					m.Errorf("%s, %s: %s", name, surface, document)
				}
			}
			if event, err := schema.Decode[schema.WebhookEvent](surfaces["webhook"]); err != nil || event.Event != "question.cancelled" {
				m.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestTheSDKAsksWithAnyNumber: what its program gives travels as it is, there and back.
func TestTheSDKAsksWithAnyNumber(t *testing.T) {
	m := newManor(t)
	sdk, err := client.New(client.Config{Server: m.url, Token: m.secret})
	if err != nil {
		t.Fatal(err)
	}
	id := oddID
	data := map[string]any{"far": json.Number("1e400"), "cents": json.Number("0.1000"), "s": "\u2028\u0000"}
	q, err := sdk.Ask(t.Context(), "OPS", &schema.CoreAsk{Prompt: "Go?", AskTerms: schema.AskTerms{CorrelationID: &id, Data: data}})
	if err != nil || *q.CorrelationID != id || !reflect.DeepEqual(q.Data, data) {
		t.Errorf("%v: %+v", err, q)
	}
}
