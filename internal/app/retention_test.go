package app

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// TestWhoseInvites: the own server's unless something else is configured, and nobody's where that is nothing.
func TestWhoseInvites(t *testing.T) {
	for _, c := range []struct{ from, want []string }{
		{nil, []string{"question.test"}}, {[]string{}, []string{}}, {[]string{"@alice:x.test"}, []string{"@alice:x.test"}},
	} {
		cfg := config.Default()
		cfg.Homeserver.Domain, cfg.Join.From = "question.test", c.from
		if got := channelConfig(cfg, config.Registration{}).Invite; !slices.Equal(got, c.want) {
			t.Errorf("%v accepts the invites of %v, want %v", c.from, got, c.want)
		}
	}
}

// TestRetention walks what is kept and for how long: the response to a request with an Idempotency-Key 48 hours, a posting
// 24 hours after an answer or 30 days after its last change, the question and the ids of events 90 days.
func TestRetention(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Type: sqlstore.SQLite, Path: filepath.Join(t.TempDir(), "q.db"), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const day = 24 * time.Hour
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []bridge.QuestionID{"answered", "cancelled", "pending"} {
		check(store.CreateQuestion(t.Context(), bridge.Question{
			ID: id, Asker: "ci", ElicitationID: string(id), Conversation: "!ops", State: bridge.Pending, CreatedAt: start,
			ExpiresAt: start.Add(day), ForgetAfter: start.Add(90 * day), Items: []bridge.Item{{}},
		}))
		message := bridge.Message{ID: bridge.MessageID("$" + id), PostedAt: start}
		check(store.SavePosting(t.Context(), bridge.Posting{Question: id, Conversation: "!ops", Messages: []bridge.Message{message}, ChangedAt: start}))
		response := bridge.KeptResponse{RequestID: bridge.RequestID{Key: string(id)}, KeptAt: start, Response: bridge.Response{Question: id, Body: []byte("{}")}}
		_, err := store.KeepResponse(t.Context(), response)
		check(err)
		event := bridge.InboxEvent{ID: bridge.InteractionID("$to " + id), Conversation: "!ops", ReceivedAt: start}
		_, err = store.StoreEvents(t.Context(), []bridge.Incoming{{InboxEvent: event}})
		check(err)
		check(store.FinishInteraction(t.Context(), event.ID))
	}
	for _, s := range []bridge.Settlement{
		{Question: "answered", State: bridge.Answered, Revision: -1, Answer: &bridge.Answer{}, At: start.Add(time.Hour)},
		{Question: "cancelled", State: bridge.Cancelled, Revision: -1, CancelledBy: bridge.ByAsker, At: start.Add(time.Hour)},
	} {
		_, _, err := store.Settle(t.Context(), s)
		check(err)
	}
	for _, at := range []struct {
		after                                     time.Duration
		responses, postings, questions, newEvents int
	}{
		{day, 3, 3, 3, 0}, {day + time.Hour, 3, 2, 3, 0}, {2 * day, 3, 2, 3, 0}, {2*day + time.Hour, 0, 2, 3, 0}, {30 * day, 0, 2, 3, 0},
		{30*day + time.Hour, 0, 1, 3, 0}, {90*day - time.Hour, 0, 1, 3, 0}, {90 * day, 0, 1, 1, 0}, {90*day + time.Hour, 0, 1, 1, 3},
	} {
		for _, c := range chores(store) {
			check(c.Do(context.WithoutCancel(t.Context()), start.Add(at.after)))
		}
		responses, postings, questions, fresh := 0, 0, 0, 0
		for _, id := range []bridge.QuestionID{"answered", "cancelled", "pending"} {
			if _, ok, err := store.QuestionOf(t.Context(), "!ops", bridge.MessageID("$"+id)); err == nil && ok {
				postings++
			}
			if _, err := store.Question(t.Context(), id); err == nil {
				questions++
			}
			if _, ok, err := store.Response(t.Context(), bridge.RequestID{Key: string(id)}); err == nil && ok {
				responses++
			}
			n, err := store.StoreEvents(t.Context(), []bridge.Incoming{{InboxEvent: bridge.InboxEvent{ID: bridge.InteractionID("$to " + id), Conversation: "!ops", ReceivedAt: start}}})
			check(err)
			fresh += n
		}
		if responses != at.responses || postings != at.postings || questions != at.questions || fresh != at.newEvents {
			t.Errorf("after %s: %d responses, %d postings, %d questions, %d event ids forgotten", at.after, responses, postings, questions, fresh)
		}
	}
}
