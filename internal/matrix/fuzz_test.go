package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

// notingStore notes what is put into the inbox.
type notingStore struct {
	Store
	stored []bridge.Incoming
}

func (s *notingStore) StoreEvents(_ context.Context, events []bridge.Incoming) (int, error) {
	s.stored = append(s.stored, events...)
	return len(events), nil
}

func (*notingStore) SetValue(context.Context, string, string) error { return nil }

// FuzzTransaction: whatever a transaction holds beside it, a good event in it is kept as it came, every time; nothing is
// kept that could not be stored; and what is no transaction is not acknowledged.
func FuzzTransaction(f *testing.F) {
	good := `{"event_id":"$good","room_id":"!r","sender":"@m:e","type":"m.room.message","content":{"body":"2"}}`
	for _, seed := range []string{
		`{"event_id":"$b","room_id":"!r","sender":"@m:e","type":"m.room.message","content":[]}`, `7`, `null`, `"\ud800"`, `{}`,
		`{"event_id":"$s","room_id":"!r","sender":"@m:e","type":"m.room.member","state_key":"","content":{}}`,
		`{"event_id":"$r","room_id":"!r","sender":"@m:e","type":"m.room.redaction","redacts":"$x","content":{"redacts":"$y"}}`,
		`[[]],"events":[`, `1],"ephemeral":[2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, other []byte) {
		store := &notingStore{}
		s := &Service{
			reg: NewRegistration("q", "http://127.0.0.1:1", "asker", "ex.org"), store: store, clock: bridge.SystemClock{},
			hs: &homeserver{bot: bot}, wake: make(chan struct{}, 1), cfg: Config{Redactions: RedactionsAuto},
		}
		body := joined(`{"events":[`, string(other), `,`, good, `]}`)
		put := func() int {
			req := httptest.NewRequest(http.MethodPut, "/_matrix/app/v1/transactions/1", bytes.NewReader(body))
			req.SetPathValue("txnID", "1")
			req.Header.Set("Authorization", "Bearer "+s.reg.ServerToken)
			w := httptest.NewRecorder()
			s.putTransaction(w, req.WithContext(zerolog.Nop().WithContext(req.Context())))
			return w.Code
		}
		var plain struct{ Events []json.RawMessage }
		status, wellFormed := put(), json.Unmarshal(body, &plain) == nil
		if !wellFormed && status == http.StatusOK && !json.Valid(body) {
			t.Fatalf("acknowledged what is no JSON: %q", body)
		}
		if status != http.StatusOK {
			if len(store.stored) > 0 {
				t.Fatal("stored a part of what was refused")
			}
			return
		}
		kept := false
		for _, e := range store.stored {
			kept = kept || string(e.Raw) == good && !e.Aside && e.ID == "$good" && e.Conversation == "!r"
			if e.ID == "" || len(e.ID) > maxID+len("aside:") || len(e.Conversation) > maxID || e.Aside != (e.Why != "") {
				t.Errorf("cannot be stored: %+v", e)
			}
		}
		if !kept && json.Valid(other) {
			t.Errorf("lost a good event beside %q", other)
		}
		first := len(store.stored)
		if put() != http.StatusOK || len(store.stored) != 2*first {
			t.Fatal("the second time is another one")
		}
		for i, e := range store.stored[:first] {
			if again := store.stored[first+i]; again.ID != e.ID {
				t.Errorf("%q has two ids: %s and %s", e.Raw, e.ID, again.ID)
			}
		}
	})
}

func joined(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

// FuzzRelation: a relation is what the event says, read the plain way.
func FuzzRelation(f *testing.F) {
	for _, seed := range []string{
		`{"rel_type":"m.thread","event_id":"$q","is_falling_back":true,"m.in_reply_to":{"event_id":"$l"}}`,
		`{"rel_type":"io.element.thread","event_id":"$q"}`, `{"m.in_reply_to":{"event_id":"$q"}}`, `{"m.in_reply_to":{}}`, `[]`, `null`,
		`{"rel_type":"m.annotation","event_id":"$q","key":"1"}`, `{"rel_type":"m.replace","event_id":"$q"}`,
		`{"rel_type":"m.reference","event_id":"$q","m.in_reply_to":{"event_id":"$x"}}`, `{"rel_type":7,"event_id":"$q"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, rel []byte) {
		raw := joined(`{"m.relates_to":`, string(rel), `}`)
		var plain map[string]any
		if !json.Valid(rel) || json.Unmarshal(raw, &plain) != nil {
			return
		}
		got := readRelation(readObject(raw))
		o, isObject := plain["m.relates_to"].(map[string]any)
		text := func(o map[string]any, name string) string {
			s, _ := o[name].(string)
			if strings.ContainsRune(s, 0) {
				return ""
			}
			return s
		}
		inReplyTo, _ := o["m.in_reply_to"].(map[string]any)
		replyTo, target, kind := text(inReplyTo, "event_id"), text(o, "event_id"), text(o, "rel_type")
		_, named := o["rel_type"]
		fallingBack, _ := o["is_falling_back"].(bool)
		var want relationKind
		switch {
		case !isObject, named && target == "":
			want = unknownRelation
		case !named && replyTo != "":
			want = replying
		case !named:
			want = unknownRelation
		case kind == "m.thread" || kind == "io.element.thread":
			want = threaded
		case kind == "m.annotation":
			want = annotating
		case kind == "m.replace":
			want = replacing
		case kind == "m.reference":
			want = referring
		case replyTo != "":
			want = replying
		default:
			want = unknownRelation
		}
		if got.kind != want {
			t.Fatalf("%s is read as %+v, want kind %d", rel, got, want)
		}
		switch want {
		case threaded:
			if got.target != target || got.replyTo != map[bool]string{true: "", false: replyTo}[fallingBack] {
				t.Errorf("%s is read as %+v", rel, got)
			}
		case replying:
			if got.replyTo != replyTo {
				t.Errorf("%s is read as %+v", rel, got)
			}
		case annotating, replacing, referring:
			if got.target != target {
				t.Errorf("%s is read as %+v", rel, got)
			}
		}
	})
}

// FuzzSpoken: what is read of a message was typed in it, in one piece; and of a message that quotes nobody and mentions
// nobody, all of it is read.
func FuzzSpoken(f *testing.F) {
	pill := `<a href="https://matrix.to/#/` + bot + `">Asker</a>: 2`
	for _, seed := range []string{"> <@a:b> x\n\n2", "> a\r\n> b\r\n\r\n2", ">\n2", bot + ": 2", "Asker: 2", "\x00 2", "> only", " 2 "} {
		f.Add(seed, pill, true)
		f.Add(seed, "", false)
	}
	f.Fuzz(func(t *testing.T, body, formatted string, quoted bool) {
		content := map[string]any{"body": body}
		if formatted != "" {
			content["format"], content["formatted_body"] = "org.matrix.custom.html", formatted
		}
		raw, err := json.Marshal(content)
		if err != nil {
			t.Skip()
		}
		o := readObject(raw)
		typed, _ := o.text("body")
		got := spoken(o, bot, quoted)
		if !strings.Contains(typed, got) && !strings.Contains(strings.ReplaceAll(typed, "\r\n", "\n"), got) {
			t.Errorf("%q is read of %q", got, typed)
		}
		if !quoted && formatted == "" && !strings.HasPrefix(strings.TrimSpace(typed), bot) && got != strings.TrimSpace(typed) {
			t.Errorf("%q is read of %q", got, typed)
		}
	})
}
