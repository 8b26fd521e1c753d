package collector_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

// settle ends a question as the engine does: the collector hears of it in the same transaction.
func (r *rig) settle(g collector.Gate, s bridge.Settlement) {
	r.Helper()
	s.Question, s.Revision, s.At = g.Question, -1, r.clock.Now()
	r.ok(r.db.Atomically(r.ctx, func(ctx context.Context) error {
		q, won, err := r.db.Settle(ctx, s)
		r.is("won", won, true)
		if err != nil {
			return err
		}
		return r.Settling(ctx, q)
	}))
}

func chosen(option bridge.OptionID, by bridge.UserID) bridge.Settlement {
	return bridge.Settlement{State: bridge.Answered, Answer: &bridge.Answer{
		Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{option}}}},
		Labels: [][]string{{string(option)}}, By: bridge.Responder{ID: by}, At: start,
	}}
}

// The answer to the question in the room is the response to the approval, given by a person and mediated by us. Whoever
// opened the gate is given the continuation.
func TestAnsweredInARoom(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open(inRoom)
		q, err := r.db.Question(r.ctx, g.Question)
		r.ok(err)
		r.is("deadline", q.ExpiresAt, g.Approval.ExpiresAt)
		r.settle(g, chosen("approved", "@dana:example.org"))
		stands := r.stored(g)
		r.is("state", stands.State, collector.Approved)
		a := stands.Approval.Accepted
		r.is("how", []any{a.Respondent, a.Provenance, *a.Answer.Choice, a.RespondedAt}, []any{collector.Human, collector.Mediated, "approved", start})
		r.is("offered", *stands.Offered(), stands.Continuation.Query)
		next := r.Ready(*stands.Offered())
		r.is("answered", r.respond(wrote(next.ID, "first", "it went")).Status, collector.ReceiptAccepted)
		if stands = r.stored(g); stands.State != collector.Answered || stands.Offered() != nil {
			t.Errorf("stands as %+v", stands)
		}
		declined := r.open(inRoom)
		r.settle(declined, chosen("declined", "@dana:example.org"))
		r.state(declined, collector.Declined)
		r.is("news", r.news.events(), []string{"gate.approved", "gate.answered", "gate.declined"})
		r.is("in the room", r.news.heard[0].Question, g.Question)
	})
}

// A question that ends without an answer decides nothing: the gate expires with it, or is withheld where it was withdrawn.
func TestEndedInARoom(t *testing.T) {
	both(t, func(r *rig) {
		silent, cancelled := r.open(inRoom), r.open(inRoom)
		r.settle(cancelled, bridge.Settlement{State: bridge.Cancelled, CancelledBy: bridge.ByAsker})
		r.is("withdrawn", []any{r.stored(cancelled).State, r.stored(cancelled).Reason}, []any{collector.Withheld, collector.Withdrawn})
		r.clock.Move(time.Hour)
		r.is("by itself", must(r.Expire(r.ctx, 9))(r), 0)
		r.ok(r.db.Atomically(r.ctx, func(ctx context.Context) error {
			lapsed, err := r.db.ExpireDue(ctx, r.clock.Now(), 9)
			r.is("lapsed", len(lapsed), 1)
			if err != nil {
				return err
			}
			q, err := r.db.Question(ctx, silent.Question)
			if err != nil {
				return err
			}
			return r.Settling(ctx, q)
		}))
		r.state(silent, collector.Expired)
		r.is("news", r.news.events(), []string{"gate.withheld", "gate.expired"})
		r.is("kept", len(must(r.db.Mentions(t.Context(), secret))(r)), 0)
	})
}

// Stored decisions are used and made as the mode says, and a person is told in the prompt that theirs is remembered
// (Approval and continuations, "Durable decisions").
func TestModes(t *testing.T) {
	none := collector.Decision{Revision: 4}
	yes, no := collector.Decision{ID: "d1", Approved: true, Revision: 4}, collector.Decision{ID: "d1", Revision: 4}
	for _, c := range []struct {
		name                    string
		mode                    collector.Mode
		stored                  collector.Decision
		state                   collector.State
		told, used, read, makes bool
	}{
		{"off", collector.Off, yes, collector.Open, false, false, false, false},
		{"ask once, the first time", collector.AskOnce, none, collector.Open, true, false, true, true},
		{"ask once, approved before", collector.AskOnce, yes, collector.Approved, true, true, true, false},
		{"ask once, declined before", collector.AskOnce, no, collector.Declined, true, true, true, false},
		{"ask always, the first time", collector.AskAlways, none, collector.Open, true, false, true, true},
		{"ask always, approved before", collector.AskAlways, yes, collector.Open, true, false, true, true},
		{"never ask, nothing stored", collector.NeverAsk, none, collector.Withheld, false, false, true, false},
		{"never ask, approved before", collector.NeverAsk, yes, collector.Approved, false, true, true, false},
		{"never ask, declined before", collector.NeverAsk, no, collector.Declined, false, true, true, false},
	} {
		for _, route := range []collector.Route{collector.InRoom, collector.ByReturn} {
			t.Run(c.name+" by "+string(route), func(t *testing.T) {
				both(t, func(r *rig) {
					r.made.stored = c.stored
					g := r.open(mode(c.mode), func(o *collector.Opening) { o.Route = route })
					r.is("gate", r.stored(g), g)
					r.is("state", g.State, c.state)
					r.is("told", strings.Contains(g.Approval.Prompt, "remembered for Provider and the purpose “feedback”"), c.told)
					r.is("asked", g.Question != "", c.state == collector.Open && route == collector.InRoom)
					if c.read {
						r.is("scope", r.made.asked, []collector.Scope{{Agent: agent, Requester: "Provider", Purpose: "feedback", Principal: g.Principal}})
					} else {
						r.is("scope", len(r.made.asked), 0)
					}
					if c.used {
						r.is("used", r.made.used, []collector.Use{{Decision: "d1", Gate: g.ID, At: start}})
						r.is("provenance", g.Provenance(), collector.Remembered)
						r.is("offered", g.Offered() != nil, c.stored.Approved)
					} else {
						r.is("used", len(r.made.used), 0)
					}
					if c.state != collector.Open {
						r.is("news", r.news.events(), []string{"gate." + string(c.state)})
						return
					}
					by := r.decide(g, collector.ChoiceDeclined)
					want := []collector.Made{{Scope: collector.Scope{Agent: agent, Requester: "Provider", Purpose: "feedback", Principal: g.Principal},
						Gate: g.ID, By: by, Revision: 4, At: start}}
					if !c.makes {
						want = nil
					}
					r.is("made", r.made.made, want)
				})
			})
		}
	}
}

// decide answers the approval the way that it is asked, and says who did.
func (r *rig) decide(g collector.Gate, choice string) bridge.UserID {
	r.Helper()
	if g.Route == collector.InRoom {
		r.settle(g, chosen(bridge.OptionID(choice), "@dana:example.org"))
		return "@dana:example.org"
	}
	r.is("status", r.respond(said(g.Approval.ID, "first", choice)).Status, collector.ReceiptAccepted)
	return ""
}

// A decision that another host remembered is used where the exchange allows it, and not remembered again.
func TestRememberedElsewhere(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open(mode(collector.AskOnce))
		s := said(g.Approval.ID, "first", collector.ChoiceApproved)
		s.Provenance = collector.Remembered
		receipt := r.respond(s)
		r.is("status", receipt.Status, collector.ReceiptAccepted)
		r.is("made", len(r.made.made), 0)
		if receipt.Next == nil || r.stored(g).Provenance() != collector.Remembered {
			t.Errorf("stands as %+v", r.stored(g))
		}
	})
}

// What is said of the decision counts for the length of the prompt.
func TestPromptTooLong(t *testing.T) {
	both(t, func(r *rig) {
		long := func(n int) func(*collector.Opening) {
			return func(o *collector.Opening) { o.Prompt = strings.Repeat("é", n) }
		}
		r.open(long(collector.MaxPrompt))
		_, _, err := r.Open(r.ctx, opening(long(collector.MaxPrompt), mode(collector.AskOnce)))
		r.code(err, collector.CodeInvalidGate)
		if !strings.Contains(err.Error(), "characters shorter") {
			t.Error(err)
		}
	})
}

// A request that is repeated under its key gets the gate that it opened; another one under that key is refused.
func TestOpenedOnce(t *testing.T) {
	for _, route := range []func(*collector.Opening){inRoom, func(*collector.Opening) {}} {
		both(t, func(r *rig) {
			g := r.open(route, requested("key", 1))
			again, opened, err := r.Open(r.ctx, opening(route, requested("key", 1)))
			r.ok(err)
			r.is("opened again", opened, false)
			r.is("gate", again, g)
			_, _, err = r.Open(r.ctx, opening(route, requested("key", 2)))
			r.code(err, bridge.CodeIdempotencyConflict)

			gates := make([]collector.Gate, 6)
			errs := make([]error, len(gates))
			var all sync.WaitGroup
			for i := range gates {
				all.Go(func() { gates[i], _, errs[i] = r.Open(r.ctx, opening(route, requested("another", 3))) })
			}
			all.Wait()
			for i := range gates {
				r.ok(errs[i])
				r.is("the one gate", gates[i].ID, gates[0].ID)
			}
			stands, _, err := r.Gates(r.ctx, collector.Listing{Agent: agent, Limit: 9})
			r.ok(err)
			r.is("gates", len(stands), 2)
		})
	}
}

// No capability is good for longer than two hours, whatever asks for it.
func TestLifetimes(t *testing.T) {
	both(t, func(r *rig) {
		for ttl, ok := range map[time.Duration]bool{
			collector.ShortestTTL - 1: false, collector.ShortestTTL: true, collector.LongestTTL: true, collector.LongestTTL + 1: false, 0: false,
		} {
			for _, set := range []func(*collector.Opening){
				func(o *collector.Opening) { o.TTL = ttl }, func(o *collector.Opening) { o.Protected.TTL = ttl },
			} {
				if _, _, err := r.Open(r.ctx, opening(set)); (err == nil) != ok || !ok && bridge.CodeOf(err) != collector.CodeInvalidGate {
					t.Errorf("%s: %v", ttl, err)
				}
			}
		}
	})
}

// A query expires on a whole second, as it is told: nobody is refused before that.
func TestExpiresAsItIsTold(t *testing.T) {
	both(t, func(r *rig) {
		r.clock.Move(700 * time.Millisecond)
		g, receipt := r.approve()
		r.is("the approval", g.Approval.ExpiresAt, start.Add(time.Hour))
		r.is("the continuation", receipt.Next.ExpiresAt, start.Add(2*time.Hour))
	})
}

// Nothing of the protected query is logged or announced, before approval and after.
func TestSaysNothing(t *testing.T) {
	both(t, func(r *rig) {
		r.open()
		g, _ := r.approve()
		r.respond(wrote(g.Continuation.ID, "x", "what I say"))
		for _, a := range r.news.heard {
			for name, value := range a.Body {
				if text, ok := value.(string); ok && (strings.Contains(text, secret) || strings.Contains(text, "usr_pairwise")) {
					t.Errorf("%s of %s is %s", name, a.Event, text)
				}
			}
		}
		for _, text := range []string{secret, "what I say", "usr_pairwise_Q7c"} {
			if strings.Contains(r.log.String(), text) {
				t.Errorf("the log has %q:\n%s", text, r.log)
			}
		}
	})
}
