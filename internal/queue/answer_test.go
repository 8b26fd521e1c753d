package queue_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// From a proposal to its evidence, as the document's usage has it.
func TestAnAnswerIsEvidence(t *testing.T) {
	both(t, func(r *rig) {
		a, b := queue.Target{Key: "a"}, queue.Target{Key: "b"}
		p := queue.Proposal{
			Agent: a1, Turn: 12, Text: "Does Dana prefer morning or afternoon meetings?", Kind: queue.Disjunction, Signal: queue.SignalDisjunction,
			Targets: []queue.Target{a, b}, Options: []queue.Option{
				{Label: "morning", Acted: []string{"a"}, Contradicted: []string{"b"}}, {Label: "afternoon", Acted: []string{"b"}, Contradicted: []string{"a"}},
			},
		}
		c := r.propose(p, queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Turn: 13, Cues: queue.CueTokens("morning meetings with Dana")}, c.ID)
		result := r.answer(c, "Morning", 14, queue.ReasonApplied)
		r.is("option", *result.Option, 0)
		stored := r.stored(c)
		r.is("stored option", *stored.AnswerOption, 0)
		r.is("resolved", *stored.ResolvedTurn, queue.Turn(14))
		r.evidence(a1, "a", 0.5, 0) // a disjunction's answer is recorded only

		confirmed := r.propose(proposal(a1, "a", 18), queue.Proposed)
		r.next(a1, 18, confirmed.ID)
		r.answer(confirmed, "1", 18, queue.ReasonApplied)
		r.evidence(a1, "a", 0.8, 3)
		r.evidence(a2, "a", 0.5, 0)

		p.Turn, p.Text, p.Targets = 23, "And in summer?", []queue.Target{{Key: "s"}, {Key: "t", Confidence: true}}
		p.Options = []queue.Option{{Label: "morning", Acted: []string{"s"}, Contradicted: []string{"t"}}, {Label: "afternoon"}}
		marked := r.propose(p, queue.Proposed)
		r.next(a1, 23, marked.ID)
		r.answer(marked, "morning", 23, queue.ReasonApplied)
		r.evidence(a1, "s", 0.5, 0)
		r.evidence(a1, "t", 0.2, 3)
	})
}

// A later contradiction keeps its weight, however much was said before.
func TestEvidenceIsCapped(t *testing.T) {
	both(t, func(r *rig) {
		for i := range 9 {
			turn := queue.Turn(i)
			p := proposal(a1, "a", turn)
			p.Text, p.Targets = strings.Repeat("again ", i+1), nil
			reply := "yes"
			if i == 8 {
				reply = "no"
			}
			r.answer(r.propose(p, queue.Proposed), reply, turn, queue.ReasonApplied) // pending ones can be answered too
		}
		e, err := r.Evidence(r.ctx, a1, "a")
		r.ok(err)
		r.is("count", e.Count, 20)
		if e.Confidence < 0.75 || e.Confidence > 0.8 {
			r.Errorf("confidence %v", e.Confidence)
		}
	})
}

// A second answer changes nothing.
func TestASecondAnswerChangesNothing(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.next(a1, 0, c.ID)
		r.answer(c, "yes", 1, queue.ReasonApplied)
		before := r.stored(c)
		for _, reply := range []string{"yes", "no", "not sure", "what?"} {
			r.answer(c, reply, 2, queue.ReasonNotOpen)
			r.is("stored", r.stored(c), before)
		}
		r.evidence(a1, "a", 0.8, 3)
	})
}

// Of answers at once, one counts.
func TestAnswersAtOnce(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.next(a1, 0, c.ID)
		reasons := make([]queue.Reason, 8)
		demand.Parallel(len(reasons), func(i int) {
			result, err := r.Answer(r.ctx, queue.Reply{Agent: a1, Candidate: c.ID, Text: []string{"yes", "no"}[i%2], Turn: 1})
			if err != nil {
				r.Error(err)
			}
			reasons[i] = result.Reason
		})
		count := map[queue.Reason]int{}
		for _, reason := range reasons {
			count[reason]++
		}
		r.is("reasons", count, map[queue.Reason]int{queue.ReasonApplied: 1, queue.ReasonNotOpen: 7})
		e, err := r.Evidence(r.ctx, a1, "a")
		r.ok(err)
		r.is("observations", e.Count, 3)
	})
}

// A reply that is no answer cools, writes no evidence and withdraws the question; after the cooldown it is asked again.
func TestNoAnswerCools(t *testing.T) {
	both(t, func(r *rig) {
		for i, reply := range []string{"not sure", "let me see", "yes and no", ""} {
			agent := bridge.AgentID(rune('a' + i))
			c := r.propose(proposal(agent, "a", 0), queue.Proposed)
			r.nextOf(queue.Request{Agent: agent, Delivery: r.room}, c.ID)
			r.answer(c, reply, 2, queue.ReasonCooled)
			r.evidence(agent, "a", 0.5, 0)
			r.is("withdrawn", r.room.withdrawn[2*i], "q_"+string(c.ID)+" by responder: cooled")
			r.answer(c, "yes", 3, queue.ReasonNotOpen)
			used(r, agent, []string{"a"}, 11)
			r.next(agent, 11)
			r.nextOf(queue.Request{Agent: agent, Turn: 12, Delivery: r.room}, c.ID)
			r.answer(c, "yes", 12, queue.ReasonApplied)
		}
	})
}

// A reply that comes after an ignored delivery was cooled is not open, and writes nothing.
func TestALateReply(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.next(a1, 0, c.ID)
		r.next(a1, 10)
		before := r.stored(c)
		r.is("status", before.Status, queue.Cooled)
		r.is("until", *before.CooldownUntil, queue.Turn(10))
		for _, reply := range []string{"yes", "not sure"} {
			r.answer(c, reply, 11, queue.ReasonNotOpen)
			r.is("stored", r.stored(c), before)
		}
		r.evidence(a1, "a", 0.5, 0)
	})
}

// An answer outside of the room withdraws the question there. One that the room was faster with stays.
func TestAnAnswerElsewhereWithdrawsTheQuestion(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Delivery: r.room}, c.ID)
		r.is("question", r.stored(c).Question, bridge.QuestionID("q_"+string(c.ID)))
		r.answer(c, "yes", 1, queue.ReasonApplied)
		r.is("withdrawn", r.room.withdrawn, []string{"q_" + string(c.ID) + " by asker: answered"})
	})
}

// A candidate whose question was withdrawn is moved with that, or neither happens.
func TestAWithdrawalWithoutItsMove(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		r.nextOf(queue.Request{Agent: a1, Delivery: r.room}, c.ID)
		r.Store = failing{Store: r.db, unmoved: true}
		r.answer(c, "yes", 1, queue.ReasonError)
		r.room.ended = map[bridge.QuestionID]bool{"q_" + bridge.QuestionID(c.ID): true}
		r.answer(c, "yes", 1, queue.ReasonNotOpen)
		r.status(c, queue.Delivered)
	})
}

// failing is a store of which something fails.
type failing struct {
	queue.Store
	failAt  string // the key whose evidence cannot be saved
	unmoved bool   // candidates were moved by somebody else
}

func (f failing) SaveEvidence(ctx context.Context, agent bridge.AgentID, e queue.Evidence) error {
	if e.Key == f.failAt {
		return errors.New("a fault between claim and apply")
	}
	return f.Store.SaveEvidence(ctx, agent, e)
}

func (f failing) MoveCandidate(ctx context.Context, from, to queue.Candidate) (bool, error) {
	if f.unmoved {
		return false, nil
	}
	return f.Store.MoveCandidate(ctx, from, to)
}

// A fault after the claim loses the evidence, all of it, and never counts it twice: the candidate stays answered.
func TestAFaultBetweenClaimAndApply(t *testing.T) {
	both(t, func(r *rig) {
		p := proposal(a1, "a", 0)
		p.Options[0].Acted = []string{"a", "b"}
		c := r.propose(p, queue.Proposed)
		r.next(a1, 0, c.ID)
		r.Store = failing{Store: r.db, failAt: "b"}
		result := r.answer(c, "yes", 1, queue.ReasonApplyFailed)
		r.is("option", *result.Option, 0)
		r.Store = r.db
		stored := r.stored(c)
		r.is("status", stored.Status, queue.Answered)
		r.is("applied", stored.Applied, false)
		r.evidence(a1, "a", 0.5, 0)
		r.answer(c, "yes", 2, queue.ReasonNotOpen)
		r.evidence(a1, "a", 0.5, 0)
		if !strings.Contains(r.log.String(), "a fault between claim and apply") {
			r.Error("it is not in the log")
		}

		for range 3 { // whoever applies it after all does so once
			r.ok(r.Apply(r.ctx, stored))
			r.evidence(a1, "a", 0.8, 3)
			r.evidence(a1, "b", 0.8, 3)
		}
	})
}

func TestAnUnknownCandidate(t *testing.T) {
	both(t, func(r *rig) {
		c := r.propose(proposal(a1, "a", 0), queue.Proposed)
		for _, reply := range []queue.Reply{{Agent: a1, Candidate: "c_none"}, {Agent: a2, Candidate: c.ID}} {
			if result, err := r.Answer(r.ctx, reply); bridge.CodeOf(err) != queue.CodeCandidateUnknown || result.Applied {
				r.Errorf("got %+v, %v", result, err)
			}
		}
		if strings.Contains(r.log.String(), "The question queue failed") {
			r.Errorf("logged: %s", r.log)
		}
	})
}

// What somebody typed is nowhere: in no column, and neither in the files of SQLite nor in the log.
func TestTheReplyIsKeptNowhere(t *testing.T) {
	both(t, func(r *rig) {
		const secret = "my PIN is 4711-yellow"
		c, d := r.propose(proposal(a1, "a findable key", 0), queue.Proposed), r.propose(proposal(a1, "b", 0), queue.Proposed)
		r.answer(c, secret, 1, queue.ReasonCooled)
		r.answer(d, "  Y e S", 1, queue.ReasonCooled)
		e := r.propose(proposal(a1, "c", 0), queue.Proposed)
		r.Store = failing{Store: r.db, failAt: "c"}
		r.answer(e, "\"yEs\"!!", 1, queue.ReasonApplyFailed)
		r.Store = r.db
		if _, err := r.Answer(r.ctx, queue.Reply{Agent: a1, Candidate: "c_none", Text: secret}); err == nil {
			r.Error("an unknown candidate takes a reply")
		}
		dead, cancel := context.WithCancel(r.ctx)
		cancel()
		if result, _ := r.Answer(dead, queue.Reply{Agent: a1, Candidate: e.ID, Text: secret}); result.Reason != queue.ReasonError {
			r.Errorf("got %+v", result)
		}

		for _, text := range []string{secret, "4711-yellow", "Y e S", "yEs"} {
			mentions, err := r.db.Mentions(r.ctx, text)
			r.ok(err)
			r.is("columns with "+text, len(mentions), 0)
			if strings.Contains(r.log.String(), text) {
				r.Errorf("%q is in the log", text)
			}
		}
		found, err := r.db.Mentions(r.ctx, "a findable key")
		r.ok(err)
		if len(found) == 0 || r.log.Len() == 0 {
			r.Error("the test looks in the wrong places")
		}
		if r.config.Type != sqlstore.SQLite {
			return
		}
		r.ok(r.db.Checkpoint(r.ctx))
		seen := false
		for _, suffix := range []string{"", "-wal"} {
			file, err := os.ReadFile(r.config.Path + suffix)
			r.ok(err)
			seen = seen || bytes.Contains(file, []byte("a findable key"))
			for _, text := range []string{"4711-yellow", "Y e S", "yEs"} {
				if bytes.Contains(file, []byte(text)) {
					r.Errorf("%q is in the file%s", text, suffix)
				}
			}
		}
		r.is("found in the file", seen, true)
	})
}
