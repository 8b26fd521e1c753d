package decision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
)

// opens opens an exchange that asks the person by another host.
func (d *desk) opens(mode collector.Mode) collector.Gate {
	d.t.Helper()
	d.clock.Move(time.Minute)
	g, _, err := d.collector.Open(d.t.Context(), collector.Opening{
		Agent: "agent", Conversation: "!ops:ex.org", Requester: "Research", Purpose: "a study", Principal: scope().Principal, Prompt: "May they?",
		TTL: time.Hour, Route: collector.ByReturn, Mode: mode,
		Protected: collector.Protected{
			Type: "feedback", Respondent: collector.Agent, Prompt: "How was it?", Timing: collector.Immediate, Format: collector.Format{MaxLength: 100}, TTL: time.Hour,
		},
	})
	d.ok(err)
	return g
}

// answers answers the approval query of an exchange.
func (d *desk) answers(g collector.Gate, choice string, by collector.Provenance) {
	d.t.Helper()
	d.clock.Move(time.Minute)
	got, err := d.collector.Respond(d.t.Context(), collector.Response{
		ID: gate.NewResponseID(d.clock.Now()), Query: g.Approval.ID, Respondent: collector.Human, Provenance: by,
		Answer: collector.Answer{Choice: &choice}, RespondedAt: d.clock.Now(),
	})
	d.ok(err)
	if got.Status != collector.ReceiptAccepted {
		d.t.Fatalf("the answer is %s: %s", got.Status, got.Reason)
	}
}

// The modes of an exchange, in turn on one scope: each says where the exchange stands once it is opened, how that came
// about, and what is remembered once it is answered.
func TestModes(t *testing.T) {
	type step struct {
		mode   collector.Mode
		opened string // "open" for a person is asked
		answer string // "" for none is needed
		stands string
		at     int64
	}
	const yes, no = collector.ChoiceApproved, collector.ChoiceDeclined
	for name, steps := range map[string][]step{
		"off neither uses nor stores":       {{collector.Off, "open", yes, "nothing", 0}, {collector.AskOnce, "open", yes, "approved", 1}, {collector.Off, "open", no, "approved", 1}},
		"ask once asks once":                {{collector.AskOnce, "open", yes, "approved", 1}, {collector.AskOnce, "approved remembered", "", "approved", 1}},
		"ask once keeps a decline":          {{collector.AskOnce, "open", no, "declined", 1}, {collector.AskOnce, "declined remembered", "", "declined", 1}},
		"ask always asks, keeps the newest": {{collector.AskAlways, "open", yes, "approved", 1}, {collector.AskAlways, "open", no, "declined", 2}, {collector.AskOnce, "declined remembered", "", "declined", 2}},
		"never ask withholds":               {{collector.NeverAsk, "withheld ", "", "nothing", 0}},
		"never ask uses":                    {{collector.AskAlways, "open", yes, "approved", 1}, {collector.NeverAsk, "approved remembered", "", "approved", 1}},
		"never ask uses a decline":          {{collector.AskAlways, "open", no, "declined", 1}, {collector.NeverAsk, "declined remembered", "", "declined", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, s := range steps {
				g := d.opens(s.mode)
				stood := string(g.State)
				if g.State != collector.Open {
					stood += " " + string(g.Provenance())
				}
				if stood != s.opened || (g.State == collector.Approved) != (g.Continuation != nil) {
					t.Errorf("%s: opened as %q, want %q", s.mode, stood, s.opened)
				}
				if s.answer != "" {
					d.answers(g, s.answer, collector.Mediated)
				}
				d.expect(scope(), s.stands, s.at)
			}
		})
	}
}

// Each use is recorded with the gate that it answered, and the gate says that it was no person.
func TestUsesAreRecorded(t *testing.T) {
	d := newDesk(t)
	d.answers(d.opens(collector.AskOnce), collector.ChoiceApproved, collector.Mediated)
	var last collector.Gate
	for range 3 {
		last = d.opens(collector.AskOnce)
		if last.Provenance() != collector.Remembered {
			t.Errorf("the gate came about as %q", last.Provenance())
		}
	}
	all, _, err := d.OfAgent(t.Context(), "agent", decision.Listing{Limit: 10})
	d.ok(err)
	if used := all[0].Made.Used; len(all) != 1 || used.Times != 3 || !used.Last.Equal(last.CreatedAt) {
		t.Errorf("used %+v", used)
	}
	var recorded string
	d.ok(d.store.Database().QueryRow(t.Context(), `SELECT gate FROM decision_uses ORDER BY used_at DESC LIMIT 1`).Scan(&recorded))
	if recorded != string(last.ID) {
		t.Errorf("the last use is of %s", recorded)
	}
}

// What a host itself remembered is not remembered a second time, and an exchange that was opened before a decision does
// not replace it.
func TestWhatIsNotStored(t *testing.T) {
	d := newDesk(t)
	d.answers(d.opens(collector.AskOnce), collector.ChoiceApproved, collector.Remembered)
	d.expect(scope(), "nothing", 0)
	early := d.opens(collector.AskAlways)
	d.answers(d.opens(collector.AskAlways), collector.ChoiceApproved, collector.Mediated)
	d.expect(scope(), "approved", 1)
	d.answers(early, collector.ChoiceDeclined, collector.Mediated)
	d.expect(scope(), "nothing", 2)
	if g := d.opens(collector.AskOnce); g.State != collector.Open {
		t.Errorf("the person is not asked again: %s", g.State)
	}
}

// The person is told in the prompt itself that their decision will be remembered, and only then it is.
func TestThePersonIsTold(t *testing.T) {
	d := newDesk(t)
	for mode, told := range map[collector.Mode]bool{collector.Off: false, collector.AskOnce: true, collector.AskAlways: true} {
		if g := d.opens(mode); strings.Contains(g.Approval.Prompt, "remembered for Research and the purpose “a study”") != told {
			t.Errorf("%s: %q", mode, g.Approval.Prompt)
		}
	}
}

// command gives one to the book as the engine does.
func (d *desk) command(who bridge.UserID, words ...string) *bridge.CommandReply {
	d.t.Helper()
	reply, err := d.Command(d.t.Context(), bridge.Command{ID: "$command", Name: words[0], Args: words[1:], By: who, Conversation: "!ops:ex.org"})
	d.ok(err)
	return reply
}

// A person lists and revokes their own decisions, and nobody else's.
func TestCommands(t *testing.T) {
	d := newDesk(t)
	if got := d.command(ada, "decisions"); got.Text != "Nothing that you decided is remembered." || !got.Private {
		t.Errorf("%+v", got)
	}
	d.decides(scope(), ada, true, 0)
	d.decides(scope(func(s *collector.Scope) { s.Requester = "Ops\n<b>" }), ada, false, 0)
	d.decides(scope(func(s *collector.Scope) { s.Requester = "Bob's" }), bob, true, 0)
	mine := d.recall(scope())
	other := d.recall(scope(func(s *collector.Scope) { s.Requester = "Ops\n<b>" }))
	for _, g := range []collector.GateID{"g_1", "g_2"} {
		d.ok(d.Used(t.Context(), collector.Use{Decision: mine.ID, Gate: g, At: d.clock.Now()}))
	}
	want := fmt.Sprintf("What you decided, and is remembered:\n"+
		"%s: declined for Ops <b>, “a study”, since 2026-11-01, never used\n"+
		"%s: approved for Research, “a study”, since 2026-11-01, used 2 times\n"+
		"To take one back, write !revoke and its id, such as: !revoke %s", other.ID, mine.ID, other.ID)
	if got := d.command(ada, "decisions"); got.Text != want || !got.Private {
		t.Errorf("got %+v, want %s", got, want)
	}
	for _, c := range [][]string{{"revoke"}, {"revoke", "d22222"}, {"revoke", "g22222"}, {"revoke", "nonsense"}, {"revoke", mine.ID, other.ID}} {
		if got := d.command(ada, c...); got != nil {
			t.Errorf("%q: %+v", c, got)
		}
	}
	if got := d.command(bob, "revoke", mine.ID); got != nil {
		t.Errorf("somebody else's: %+v", got)
	}
	if got := d.command("@root:ex.org", "revoke", mine.ID); got != nil {
		t.Errorf("in a room, an admin is a person like others: %+v", got)
	}
	d.expect(scope(), "approved", 1)
	if got := d.command(ada, "revoke", strings.ToUpper(mine.ID)); got == nil || !got.Private || !strings.Contains(got.Text, mine.ID) {
		t.Errorf("revoked: %+v", got)
	}
	d.expect(scope(), "nothing", 2)
	if len(d.audited) != 1 || d.audited[0].Event != "$command" || d.audited[0].User != ada || d.audited[0].Via != bridge.ViaReply {
		t.Errorf("audited %+v", d.audited)
	}
	if got := d.command(ada, "decisions"); strings.Contains(got.Text, mine.ID) || !strings.Contains(got.Text, other.ID) {
		t.Errorf("the rest is %q", got.Text)
	}
}
