package collector_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

// An approving response gets a receipt with the continuation: a new query with a capability of its own, which names its
// predecessor and preserves the principal. Before that there is nothing of it (Approval and continuations, sections 1 and 3).
func TestApproved(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open()
		r.is("approval", g.Approval.Query, collector.Query{
			ID: g.Approval.ID, Type: "approval", Principal: g.Principal, Respondent: collector.Human, Prompt: "May the provider receive a report?",
			Timing: "immediate", Format: collector.Format{Choices: []string{"approved", "declined"}}, ExpiresAt: start.Add(time.Hour),
		})
		if g.Continuation != nil || g.Offered() != nil {
			t.Fatal("disclosed before approval")
		}
		r.clock.Move(time.Minute)
		receipt := r.respond(said(g.Approval.ID, "first", collector.ChoiceApproved))
		next := receipt.Next
		r.is("receipt", receipt, collector.Receipt{
			Query: g.Approval.ID, Response: "first", Status: collector.ReceiptAccepted, Next: next, ReceivedAt: start.Add(time.Minute),
		})
		r.is("continuation", *next, r.Ready(collector.Query{
			ID: next.ID, ContinuationOf: g.Approval.ID, Type: "feedback", Principal: g.Principal, Respondent: collector.Agent, Prompt: secret,
			Timing: "after_outcome_known", Format: collector.Format{MaxLength: 10}, ExpiresAt: start.Add(2*time.Hour + time.Minute),
		}))
		if next.ID == g.Approval.ID || next.Capability == r.Ready(g.Approval.Query).Capability || r.Admit(next.ID, next.Capability) != nil {
			t.Errorf("%s follows %s with %s", next.ID, g.Approval.ID, next.Capability)
		}
		r.state(g, collector.Approved)
		r.is("news", r.news.events(), []string{"gate.approved"})
		r.is("deadlines", r.due, []time.Time{start.Add(time.Hour), next.ExpiresAt})
	})
}

// A decline is a valid answer: its receipt is accepted and has no follow-up, and what was protected is forgotten.
func TestDeclined(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open()
		receipt := r.respond(said(g.Approval.ID, "first", collector.ChoiceDeclined))
		r.is("receipt", receipt, collector.Receipt{Query: g.Approval.ID, Response: "first", Status: collector.ReceiptAccepted, ReceivedAt: start})
		stands := r.stored(g)
		if stands.State != collector.Declined || stands.Protected != nil || stands.Continuation != nil {
			t.Errorf("stands as %+v", stands)
		}
		r.is("news", r.news.events(), []string{"gate.declined"})
		r.is("kept", len(must(r.db.Mentions(t.Context(), secret))(r)), 0)
	})
}

// Silence is no answer: at the deadline the gate expires, what was protected is forgotten, and a late response changes
// nothing.
func TestSilence(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open()
		r.clock.Move(time.Hour - time.Millisecond)
		r.is("too early", must(r.Expire(r.ctx, 9))(r), 0)
		r.clock.Move(time.Millisecond)
		late := r.respond(said(g.Approval.ID, "first", collector.ChoiceApproved))
		r.is("ahead of the sweep", late, collector.Receipt{
			Query: g.Approval.ID, Response: "first", Status: collector.ReceiptExpired, ReceivedAt: start.Add(time.Hour),
		})
		r.is("expired", must(r.Expire(r.ctx, 9))(r), 1)
		r.state(g, collector.Expired)
		r.is("behind the sweep", r.respond(said(g.Approval.ID, "first", collector.ChoiceApproved)), late)
		r.is("news", r.news.events(), []string{"gate.expired"})
		r.is("kept", len(must(r.db.Mentions(t.Context(), secret))(r)), 0)
	})
}

// The same response gets the same receipt, also when the continuation has expired; another one that says the same is a
// duplicate without a follow-up; one that says otherwise is rejected, and so is other content under the same id.
func TestRepeated(t *testing.T) {
	both(t, func(r *rig) {
		g, first := r.approve()
		again := said(g.Approval.ID, "first", collector.ChoiceApproved)
		r.is("again", r.respond(again), first)
		r.is("the same from another", r.respond(said(g.Approval.ID, "second", collector.ChoiceApproved)), collector.Receipt{
			Query: g.Approval.ID, Response: "second", Status: collector.ReceiptDuplicate, ReceivedAt: start,
		})
		r.is("otherwise", r.respond(said(g.Approval.ID, "third", collector.ChoiceDeclined)), collector.Receipt{
			Query: g.Approval.ID, Response: "third", Status: collector.ReceiptRejected, ReceivedAt: start, Reason: "already_answered",
		})
		for name, other := range map[string]collector.Response{
			"another answer": said(g.Approval.ID, "first", collector.ChoiceDeclined),
			"another time": func() collector.Response {
				s := again
				s.RespondedAt = s.RespondedAt.Add(time.Millisecond)
				return s
			}(),
		} {
			r.is(name, r.respond(other), collector.Receipt{
				Query: g.Approval.ID, Response: "first", Status: collector.ReceiptRejected, ReceivedAt: start, Reason: "response_conflict",
			})
		}
		r.clock.Move(3 * time.Hour)
		r.is("swept", must(r.Expire(r.ctx, 9))(r), 1)
		r.is("long after", r.respond(again), first)
		r.is("otherwise, long after", r.respond(said(g.Approval.ID, "third", collector.ChoiceDeclined)).Reason, "already_answered")
		r.is("news", r.news.events(), []string{"gate.approved", "gate.expired"})
	})
}

// A response that breaks its query is rejected and changes nothing, so that one which fits may follow.
func TestUnfit(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open()
		follow, next := r.approve()
		change := func(s collector.Response, f func(*collector.Response)) collector.Response {
			f(&s)
			return s
		}
		approval, text := said(g.Approval.ID, "x", "approved"), wrote(next.Next.ID, "x", "fine")
		for reason, unfit := range map[string][]collector.Response{
			"not_a_choice": {said(g.Approval.ID, "x", "yes"), said(g.Approval.ID, "x", "Approved"), said(g.Approval.ID, "x", "")},
			"wrong_format": {
				change(approval, func(s *collector.Response) { s.Answer = collector.Answer{Text: new("approved")} }),
				change(text, func(s *collector.Response) { s.Answer = collector.Answer{Choice: new("fine")} }),
			},
			"wrong_respondent": {
				change(approval, func(s *collector.Response) { s.Respondent = collector.Agent }),
				change(text, func(s *collector.Response) { s.Respondent = collector.Human }),
			},
			"unfit_provenance": {
				change(approval, func(s *collector.Response) { s.Provenance = collector.Direct }),
				change(approval, func(s *collector.Response) { s.Provenance = collector.Remembered }), // nothing is, in this exchange
				change(text, func(s *collector.Response) { s.Provenance = collector.Remembered }),
			},
			"too_long": {wrote(next.Next.ID, "x", "12345678901"), wrote(next.Next.ID, "x", strings.Repeat("é", 11))},
			"empty":    {wrote(next.Next.ID, "x", "")},
		} {
			for _, s := range unfit {
				r.is(reason, r.respond(s), collector.Receipt{Query: s.Query, Response: "x", Status: collector.ReceiptRejected, ReceivedAt: start, Reason: reason})
			}
		}
		r.state(g, collector.Open)
		r.is("a fit one", r.respond(approval).Status, collector.ReceiptAccepted)
		r.is("a fit text", r.respond(wrote(next.Next.ID, "x", strings.Repeat("é", 10))).Status, collector.ReceiptAccepted)
		stands := r.stored(follow)
		r.is("state", stands.State, collector.Answered)
		r.is("answer", *stands.Continuation.Accepted.Answer.Text, strings.Repeat("é", 10))
		r.is("news", r.news.events(), []string{"gate.approved", "gate.approved", "gate.answered"})
	})
}

// A capability answers its own query and no other, and nobody learns whether there is one. What is asked in a room is
// answered there alone.
func TestCapability(t *testing.T) {
	both(t, func(r *rig) {
		one, two := r.Ready(r.open().Approval.Query), r.Ready(r.open().Approval.Query)
		if len(one.Capability) != 43 || one.Capability == two.Capability {
			t.Fatalf("%s and %s", one.Capability, two.Capability)
		}
		r.ok(r.Admit(one.ID, one.Capability))
		wrong := r.Admit(one.ID, two.Capability)
		r.code(wrong, collector.CodeQueryUnknown)
		for _, capability := range []string{"", one.Capability[1:], one.Capability + "A", strings.ToLower(one.Capability)} {
			r.is("wrong", r.Admit(one.ID, capability), wrong)
		}
		none := gate.NewQueryID(start)
		r.is("none", r.Admit(none, one.Capability), wrong)
		_, err := r.Respond(r.ctx, said(none, "x", "approved"))
		r.is("no such query", err.Error(), wrong.Error())
		asked := r.open(inRoom)
		_, err = r.Respond(r.ctx, said(asked.Approval.ID, "x", "approved"))
		r.is("asked in a room", err.Error(), wrong.Error())
		r.state(asked, collector.Open)
		withheld := r.open(mode(collector.NeverAsk))
		_, err = r.Respond(r.ctx, said(withheld.Approval.ID, "x", "approved"))
		r.is("never asked", err.Error(), wrong.Error())
		r.state(withheld, collector.Withheld)
		another := collector.Key{9}
		if another.Capability(one.ID) == one.Capability {
			t.Error("every key makes the same capability")
		}
	})
}

// Of approvals and declines at once, one is accepted, and everybody else learns that. (Approve, decline, approve.)
func TestRace(t *testing.T) {
	both(t, func(r *rig) {
		for round := range 5 {
			g := r.open()
			receipts := make([]collector.Receipt, 12)
			errs := make([]error, len(receipts))
			var all sync.WaitGroup
			begin := make(chan struct{})
			for i := range receipts {
				all.Go(func() {
					<-begin
					choice := []string{collector.ChoiceApproved, collector.ChoiceDeclined}[i%2]
					receipts[i], errs[i] = r.Respond(r.ctx, said(g.Approval.ID, fmt.Sprint(i), choice))
				})
			}
			close(begin)
			all.Wait()
			r.ok(errors.Join(errs...))
			stands := r.stored(g)
			won := stands.Approval.Accepted
			for i, receipt := range receipts {
				want := collector.ReceiptRejected
				switch {
				case won.ID == receipt.Response:
					want = collector.ReceiptAccepted
				case *won.Answer.Choice == []string{"approved", "declined"}[i%2]:
					want = collector.ReceiptDuplicate
				}
				r.is(fmt.Sprint("receipt ", i, " of round ", round), receipt.Status, want)
				if (receipt.Next != nil) != (want == collector.ReceiptAccepted && stands.State == collector.Approved) {
					t.Errorf("receipt %d has the follow-up %v", i, receipt.Next)
				}
			}
			if (stands.State == collector.Approved) != (stands.Continuation != nil) || stands.State == collector.Open {
				t.Errorf("stands as %+v", stands)
			}
		}
		r.is("news", len(r.news.events()), 5)
	})
}

// A response that could not be told of is not accepted: all of it is done, or nothing.
func TestAllOrNothing(t *testing.T) {
	both(t, func(r *rig) {
		g := r.open()
		r.news.refuse = errors.New("the disk is full")
		if _, err := r.Respond(r.ctx, said(g.Approval.ID, "first", collector.ChoiceApproved)); !errors.Is(err, r.news.refuse) {
			t.Fatal(err)
		}
		r.is("gate", r.stored(g), g)
		r.news.refuse = nil
		r.is("again", r.respond(said(g.Approval.ID, "first", collector.ChoiceApproved)).Status, collector.ReceiptAccepted)
	})
}

// A transaction that gave way runs again, from the start.
func TestRunsAgain(t *testing.T) {
	both(t, func(r *rig) {
		r.Store = givingWay{r.db}
		r.made.stored = collector.Decision{ID: "d1", Approved: true, Revision: 4}
		remembered := r.open(mode(collector.AskOnce))
		r.is("remembered", r.stored(remembered), remembered)
		r.state(remembered, collector.Approved)
		g, receipt := r.approve()
		r.is("again", r.respond(said(g.Approval.ID, "first", collector.ChoiceApproved)), receipt)
		r.is("answered", r.respond(wrote(receipt.Next.ID, "first", "fine")).Status, collector.ReceiptAccepted)
		r.state(g, collector.Answered)
		silent := r.open()
		r.clock.Move(time.Hour)
		r.is("expired", must(r.Expire(r.ctx, 9))(r), 1)
		r.state(silent, collector.Expired)
	})
}

func must[T any](value T, err error) func(*rig) T {
	return func(r *rig) T {
		r.Helper()
		r.ok(err)
		return value
	}
}
