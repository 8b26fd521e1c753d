package matrix

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// B9: fifty answers over HTTP at once, half of them to approve, a reply in the room, and the sweep: one answer is stored,
// everybody gets that one, and one webhook is told. Whether the deadline is among them decides only who wins.
func TestB9(t *testing.T) {
	for name, deadline := range map[string]bool{"well before the deadline": false, "at the deadline": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil).hooked()
			q, m := r.ask(yesNo())
			r.put("1", r.says("@sam:ex.org", "m.room.message", threadReply(m, "2")))
			r.clock.Move(time.Hour - time.Second)
			people := []bridge.UserID{"@root:ex.org", "@dana:ex.org"}
			got := make([]bridge.Question, 50)
			var all sync.WaitGroup
			answer := func(i int) {
				var err error
				if got[i], err = r.engine.Answer(t.Context(), people[i%2], q.ID, overHTTP([]bridge.OptionID{"approve", "deny"}[i%2], nil)); err != nil {
					t.Errorf("answer %d: %v", i, err)
				}
			}
			for i := range got {
				all.Go(func() { answer(i) })
			}
			if deadline {
				all.Go(func() {
					r.clock.Move(time.Second)
					if _, err := r.engine.Expire(t.Context(), 10); err != nil {
						t.Error(err)
					}
				})
			}
			r.work()
			all.Wait()
			stored := r.question(q.ID)
			if !stored.State.Terminal() || (stored.State == bridge.Answered) != (stored.Answer != nil) || !deadline && stored.State != bridge.Answered {
				t.Fatalf("stored as %s with %+v", stored.State, stored.Answer)
			}
			want := r.state(q.ID)
			check := func(i int) {
				t.Helper()
				is := string(got[i].State)
				if a := got[i].Answer; a != nil {
					is += " " + choiceOf(a.Choice) + " by " + string(a.By.ID)
				}
				if is != want {
					t.Errorf("answer %d was told %s, want %s", i, is, want)
				}
			}
			for i := range got {
				check(i)
			}
			for i := range 2 { // once more, whoever won
				answer(i)
				check(i)
			}
			r.expect(q.ID, want)
			r.hookOf(q.ID, "question."+string(stored.State))
			before := len(r.bodies())
			r.put("late", r.says("@dana:ex.org", "m.reaction", react(m, "1️⃣")))
			r.work()
			r.pump()
			said := r.bodies()
			wantSaid := "No answer: this question has expired."
			if stored.State == bridge.Answered {
				wantSaid = fmt.Sprintf("Already answered: %s, by %s.", stored.Answer.Labels[0][0], stored.Answer.By.DisplayName)
			}
			if len(said) != before+1 || !strings.HasPrefix(said[before], wantSaid) {
				t.Errorf("who comes late hears %q, want %q", said[before:], wantSaid)
			}
			r.hookOf(q.ID, "question."+string(stored.State))
		})
	}
}
