package bridge

import (
	"strings"
	"testing"
	"time"
)

func text(s string) *string { return &s }

func choice(ids ...OptionID) Choice { return Choice{Items: []ItemChoice{{Selected: ids}}} }

func typed(s string) Choice { return Choice{Items: []ItemChoice{{Text: &s}}} }

var member = Rights{Member: true, DisplayName: "Dana"}

func TestAccepts(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	plain := Question{Items: []Item{{Options: tests()[:2]}}}
	both := Question{Items: []Item{{Options: tests()[:2], Text: &TextInput{MaxLength: 60}}}}
	multiple := Question{Items: []Item{{Options: tests()[:2], Multiple: true}}}
	set := Question{Items: []Item{{Header: "a", Options: tests()[:2]}, {Header: "b", Text: &TextInput{MaxLength: 5}}}}
	bound := Question{Subject: &Subject{Complete: true}, Items: []Item{{Options: []Option{
		{ID: "yes", Meaning: Approve}, {ID: "no", Meaning: Reject}, {ID: "later", Meaning: Defer}, {ID: "any", Meaning: Choose},
	}}}}
	admin := Question{Items: []Item{{Options: []Option{{ID: "always", Meaning: Choose, Requires: RequiresWorkspaceAdmin}, {ID: "no", Meaning: Reject}}}}}
	asks := Question{Items: []Item{{Options: tests()}}}

	for name, c := range map[string]struct {
		q    Question
		c    Choice
		want Code
	}{
		"an option":                      {plain, choice("skip"), ""},
		"an unknown option":              {plain, choice("Skip"), CodeInvalidOption},
		"two options of a single choice": {plain, choice("skip", "run_them"), CodeInvalidOption},
		"nothing":                        {plain, choice(), CodeInvalidOption},
		"two of a multiple choice":       {multiple, choice("skip", "run_them"), ""},
		"one twice":                      {multiple, choice("skip", "skip"), CodeInvalidOption},
		"text where none is invited":     {plain, typed("hm"), CodeTextNotInvited},
		"text":                           {both, typed("because"), ""},
		"both":                           {both, Choice{Items: []ItemChoice{{Selected: []OptionID{"skip"}, Text: text("x")}}}, CodeInvalidOption},
		"empty text":                     {both, typed(" \u00a0\n"), CodeInputMissing},
		"a whole set":                    {set, Choice{Items: []ItemChoice{{Selected: []OptionID{"skip"}}, {Text: text("ok")}}}, ""},
		"half a set":                     {set, choice("skip"), CodeInvalidOption},
		"reject an exact operation":      {bound, choice("no"), ""},
		"approve an exact operation":     {bound, choice("yes"), CodeSubjectMismatch},
		"defer an exact operation":       {bound, choice("later"), CodeSubjectMismatch},
		"choose for an exact operation":  {bound, choice("any"), CodeSubjectMismatch},
		"what only admins may":           {admin, choice("always"), CodeAdminsOnly},
		"beside what only admins may":    {admin, choice("no"), ""},
		"an option with an input":        {asks, choice("other"), CodeInputMissing},
	} {
		if _, err := c.q.Accepts(c.c, member, now); CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	a, err := set.Accepts(Choice{Items: []ItemChoice{{Selected: []OptionID{"skip"}}, {Text: text(" ok ")}}}, member, now)
	if err != nil || a.Labels[0][0] != "Skip them" || a.Items[0].Header != "a" || *a.Items[1].Text != "ok" || a.Meaning != "" {
		t.Errorf("the accepted set is %+v, %v", a, err)
	}
	if a, _ := bound.Accepts(choice("no"), member, now); a.Meaning != Reject {
		t.Errorf("the meaning of a rejection is %q", a.Meaning)
	}
}

// Field case C4, typed answers: lengths are code points, after trimming, and nothing is cut.
func TestC4TypedAnswers(t *testing.T) {
	q := Question{Items: []Item{{Text: &TextInput{MaxLength: 60}}}}
	for answer, want := range map[string]Code{
		strings.Repeat("😀", 60): "", strings.Repeat("😀", 61): CodeTextTooLong,
		"  " + strings.Repeat("x", 60) + " \n": "", strings.Repeat("👩‍👩‍👧‍👦", 9): CodeTextTooLong, strings.Repeat("👩‍👩‍👧‍👦", 8): "",
	} {
		a, err := q.Accepts(typed(answer), member, time.Time{})
		if CodeOf(err) != want {
			t.Errorf("%d bytes: %v, want %q", len(answer), err, want)
		}
		if err == nil && *a.Items[0].Text != strings.TrimSpace(answer) {
			t.Errorf("%q was stored as %q", answer, *a.Items[0].Text)
		}
		if err != nil && !strings.Contains(err.Error(), "60") {
			t.Errorf("the refusal does not name the limit: %v", err)
		}
	}
}

func TestPermits(t *testing.T) {
	direct := Question{Scope: Direct, Target: "@dana:ex.org"}
	for name, c := range map[string]struct {
		q   Question
		who UserID
		r   Rights
		ok  bool
	}{
		"a member":               {Question{Scope: Room}, "@sam:ex.org", member, true},
		"somebody who left":      {Question{Scope: Room}, "@sam:ex.org", Rights{}, false},
		"a bot":                  {Question{Scope: Room}, "@bot:ex.org", Rights{Member: true, Machine: true}, false},
		"the asker":              {Question{Scope: Room}, "@agent:ex.org", Rights{Member: true, IsAsker: true}, false},
		"unreadable state":       {Question{Scope: Room}, "@sam:ex.org", Rights{Member: true, Unreadable: true}, false},
		"the target":             {direct, "@dana:ex.org", member, true},
		"not the target":         {direct, "@sam:ex.org", member, false},
		"the target who left":    {direct, "@dana:ex.org", Rights{}, false},
		"the target's lookalike": {direct, "@Dana:ex.org", member, false},
	} {
		if err := c.q.Permits(c.who, c.r); (err == nil) != c.ok || err != nil && CodeOf(err) != CodeNotEligible {
			t.Errorf("%s: %v", name, err)
		}
	}
}
