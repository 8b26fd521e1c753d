package bridge

import "time"

// Lasts says whether a grant is for more than the one time that was asked about.
func (g Grant) Lasts() bool { return g == GrantRun || g == GrantAlways }

// Granted is what an approving answer grants (question.v2, an option's scope). The bridge never answers a question from
// one: what a grant covers is for its sender to say, and to enforce.
type Granted struct {
	Grant   Grant
	Option  Option      // the one that was chosen, as it was asked
	Subject *SubjectRef // nil where no exact thing was approved
	Run     string      // the run that the question belonged to; "" for none
	By      UserID
	At      time.Time
	Until   *time.Time // when the subject's binding lapses; nil for never
}

// Granted gives what the question's answer grants; ok is false where it approves nothing, or its option says nothing of
// how long an approval lasts.
func (q Question) Granted() (g Granted, ok bool) {
	a := q.Answer
	if a == nil || a.Meaning != Approve || a.Grant == "" {
		return Granted{}, false
	}
	g = Granted{Grant: a.Grant, Run: q.RunID, By: a.By.ID, At: a.At}
	g.Option, _ = q.soleOption(a.Choice)
	if q.Subject != nil {
		g.Subject, g.Until = &q.Subject.SubjectRef, q.Subject.LapsesAt
	}
	return g, true
}
