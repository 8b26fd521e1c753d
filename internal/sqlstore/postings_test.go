package sqlstore_test

import (
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// A posting outlives its answer as long as its messages are to be closed, and no longer than everything else.
func TestForgetPostings(t *testing.T) {
	both(t, func(t *testing.T, d database) {
		s := d.open(t)
		q := ask(t, s, 1, room)
		p := bridge.Posting{Question: q.ID, Conversation: room, Messages: []bridge.Message{{ID: "$m", PostedAt: start}}, ChangedAt: start}
		noError(t, s.SavePosting(t.Context(), p))
		noError(t, s.KeepReply(t.Context(), bridge.Reply{ID: "$r", Conversation: room, Sender: "@x", Question: q.ID}))
		forget := func(answered, changed time.Time) int {
			t.Helper()
			return must(s.ForgetPostings(t.Context(), answered, changed, 10))(t)
		}
		late := start.Add(1000 * time.Hour)
		equal(t, "pending", forget(late, late), 0)
		settled := must2(s.Settle(t.Context(), answer(q, 1)))(t)
		noError(t, s.AddEffects(t.Context(), bridge.Effect{Kind: bridge.EffectSettled, Question: q.ID, Due: late}))
		equal(t, "to be closed", forget(late, start.Add(-time.Second)), 0)
		equal(t, "an hour after the answer", forget(settled.SettledAt.Add(-time.Hour), start.Add(-time.Second)), 0)
		f := must(s.ClaimEffects(t.Context(), late, time.Minute, 1))(t)[0]
		noError(t, s.FinishEffect(t.Context(), f.ID))
		equal(t, "closed", forget(late, start.Add(-time.Second)), 1)
		if p := must(s.Posting(t.Context(), q.ID))(t); len(p.Messages) != 0 {
			t.Errorf("the posting still has %v", p.Messages)
		}
		if _, ok, err := s.QuestionOf(t.Context(), room, "$m"); ok || err != nil {
			t.Errorf("the message still belongs to it: %v", err)
		}
		if _, ok, err := s.Reply(t.Context(), "$r"); ok || err != nil {
			t.Errorf("the reply is still kept: %v", err)
		}
		equal(t, "again", forget(late, late), 0)
	})
}
