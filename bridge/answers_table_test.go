package bridge_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestWhoMayAnswerWhatHow makes every kind of answer to every kind of question by every kind of person, through the
// engine and a store, and compares with testdata/answers.txt, which has what becomes of each: that file is the rule.
func TestWhoMayAnswerWhatHow(t *testing.T) {
	golden := filepath.Join("testdata", "answers.txt")
	got := answersTable(t)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	is, should := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(should)) {
		if i >= len(is) || i >= len(should) || is[i] != should[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, at(is, i), at(should, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

var (
	surfaces      = []bridge.Via{bridge.ViaReply, bridge.ViaReaction, bridge.ViaStructured, bridge.ViaAPI, bridge.ViaOpenID}
	meanings      = []bridge.Meaning{bridge.Approve, bridge.Reject, bridge.Revise, bridge.Choose, bridge.Defer}
	subjectStates = []string{"none", "complete", "incomplete", "lapsed", "mismatch", "superseded"}
	// people are the responders: @target answers a question that is for them alone, @other the same question.
	people = []bridge.UserID{"@admin:ex.org", "@member:ex.org", "@target:ex.org", "@other:ex.org", "@asker:ex.org", "@outsider:ex.org", "@departed:ex.org", "@bot:ex.org"}
)

// answersTable is the whole table: one section for each policy, one line for each surface, meaning and state of the
// subject, one column for each person.
func answersTable(t *testing.T) string {
	b := newBench(t)
	b.room.rights = map[bridge.UserID]bridge.Rights{
		"@admin:ex.org": {Member: true, WorkspaceAdmin: true}, "@member:ex.org": {Member: true}, "@target:ex.org": {Member: true},
		"@other:ex.org": {Member: true}, "@asker:ex.org": {Member: true, IsAsker: true}, "@bot:ex.org": {Member: true, Machine: true},
		"@departed:ex.org": {},
	}
	b.room.parse = func(in bridge.Interaction, q bridge.Question, _ bridge.Posting) bridge.Reading {
		c := bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"it"}}}}
		switch act := in.Act.(type) {
		case bridge.Said:
			c.Via = bridge.ViaReply
		case bridge.Reacted:
			c.Via = bridge.ViaReaction
		case bridge.Submitted:
			c.Via, c.Subject = bridge.ViaStructured, act.Subject
		}
		return bridge.Chosen{Choice: c}
	}
	var out strings.Builder
	for _, section := range []struct {
		name     string
		requires string
		byReply  bridge.ByReply
		openID   bool
		surfaces []bridge.Via
	}{
		{"anybody may choose it", "", bridge.ByReplyNever, false, surfaces},
		{"it requires a workspace admin", bridge.RequiresWorkspaceAdmin, bridge.ByReplyNever, false, surfaces},
		{"anybody may choose it, and approvals.by_reply is complete", "", bridge.ByReplyComplete, false, surfaces},
		{"anybody may choose it, and auth.openid.may_approve is true", "", bridge.ByReplyNever, true, surfaces[4:]},
		{"it requires a workspace admin, and auth.openid.may_approve is true", bridge.RequiresWorkspaceAdmin, bridge.ByReplyNever, true, surfaces[4:]},
	} {
		b.ByReply, b.OpenIDMayApprove = section.byReply, section.openID
		fmt.Fprintf(&out, "# %s\n%-10s %-8s %-11s", section.name, "surface", "meaning", "subject")
		for _, who := range people {
			fmt.Fprintf(&out, " %-18s", strings.TrimSuffix(string(who[1:]), ":ex.org"))
		}
		out.WriteByte('\n')
		for _, via := range section.surfaces {
			for _, meaning := range meanings {
				for _, state := range subjectStates {
					fmt.Fprintf(&out, "%-10s %-8s %-11s", via, meaning, state)
					for _, who := range people {
						fmt.Fprintf(&out, " %-18s", b.cell(via, meaning, state, section.requires, who))
					}
					out.WriteByte('\n')
				}
			}
		}
		out.WriteByte('\n')
	}
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// cell asks a question with one option, has one person choose it, and says in a word what became of that.
func (b *bench) cell(via bridge.Via, meaning bridge.Meaning, state, requires string, who bridge.UserID) string {
	b.t.Helper()
	b.clock.Move(time.Second)
	q := b.question()
	q.Items = []bridge.Item{{Prompt: "Do it?", Options: []bridge.Option{{ID: "it", Label: "It", Meaning: meaning, Requires: requires}}}}
	if who == "@target:ex.org" || who == "@other:ex.org" {
		q.Scope, q.Target = bridge.Direct, "@target:ex.org"
	}
	names := bridge.SubjectRef{ID: "s-" + string(q.ID), Digest: "D1", Schema: "x/v1", Revision: 1}
	if state != "none" {
		q.Subject = &bridge.Subject{SubjectRef: names, Complete: state != "incomplete", Printable: true}
		if state == "lapsed" {
			lapses := b.clock.Now()
			q.Subject.LapsesAt = &lapses
		}
	}
	q = b.ask(q)
	b.echo(q.ID, b.seq+1, b.clock.Now())
	if state == "superseded" {
		newer := b.question()
		newer.Items, newer.Scope, newer.Target = q.Items, q.Scope, q.Target
		newer.Subject = &bridge.Subject{SubjectRef: names, Complete: true}
		newer.Subject.Revision, newer.Subject.Digest = 2, "D2"
		b.ask(newer)
	}
	given := &names
	switch state {
	case "none":
		given = nil
	case "mismatch":
		given = &bridge.SubjectRef{ID: names.ID, Digest: "d1", Schema: names.Schema, Revision: names.Revision}
	}
	before := b.get(q.ID)
	if via == bridge.ViaAPI || via == bridge.ViaOpenID {
		c := pick("it")
		c.Via, c.Subject = via, given
		return b.answered(q.ID, who, before, c)
	}
	root, told := b.root(q.ID), len(b.room.said())
	act := map[bridge.Via]bridge.Act{
		bridge.ViaReply: bridge.Said{Text: "1", Thread: root}, bridge.ViaReaction: bridge.Reacted{To: root, Key: "1"},
		bridge.ViaStructured: bridge.Submitted{To: root, ElicitationID: q.ElicitationID, Option: "it", Subject: given},
	}[via]
	b.receive(b.event(who, act))
	after := b.get(q.ID)
	for _, said := range b.room.said()[told:] {
		if code, ok := strings.CutPrefix(said, "tell "); ok {
			if after.State != before.State {
				b.t.Errorf("%s by %s: told %q of a question that it settled", via, who, said)
			}
			words := strings.Fields(code)
			if words[0] == "stale" {
				return "late"
			}
			return words[1]
		}
	}
	return b.settledBy(before, after, who)
}

func (b *bench) answered(id bridge.QuestionID, who bridge.UserID, before bridge.Question, c bridge.Choice) string {
	b.t.Helper()
	q, err := b.Answer(b.ctx, who, id, c)
	after := b.get(id)
	if err != nil {
		if after.State != before.State {
			b.t.Errorf("refused with %v, and settled", err)
		}
		return string(bridge.CodeOf(err))
	}
	if q.State != after.State {
		b.t.Errorf("returned as %s, is %s", q.State, after.State)
	}
	if before.State.Terminal() {
		return "late"
	}
	return b.settledBy(before, after, who)
}

func (b *bench) settledBy(before, after bridge.Question, who bridge.UserID) string {
	b.t.Helper()
	switch {
	case after.State == before.State:
		return "nothing"
	case after.Answer == nil || after.Answer.By.ID != who:
		b.t.Errorf("an answer by %s made it %s, by %+v", who, after.State, after.Answer)
	}
	return "ANSWERED"
}
