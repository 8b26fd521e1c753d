package bridge

import "context"

// ask stores a pending question with what it owes, in the caller's transaction, and withdraws the questions that it
// supersedes: those of the same asker in the same conversation about a lower revision of the same subject. A question
// about a lower revision than one that was asked about, or about the same one with another digest or schema, is
// CodeSubjectConflict, and one beyond the quota CodeQuotaExceeded. (DESIGN "Answering a question that has a subject".)
func (e *Engine) ask(ctx context.Context, q Question, owed ...Effect) (superseded []Question, err error) {
	if q.Subject != nil {
		if superseded, err = e.supersede(ctx, q); err != nil {
			return nil, err
		}
	}
	if err := e.withinQuota(ctx, q); err != nil {
		return nil, err
	}
	if err := e.Store.CreateQuestion(ctx, q); err != nil {
		return nil, err
	}
	return superseded, e.Store.AddEffects(ctx, append(owed, e.reminders(q)...)...)
}

func (e *Engine) supersede(ctx context.Context, q Question) (superseded []Question, err error) {
	asked, err := e.Store.AskedAbout(ctx, q.Asker, q.Conversation, q.Subject.ID)
	if err != nil {
		return nil, err
	}
	for _, other := range asked {
		s := other.Subject
		switch {
		case s.Revision > q.Subject.Revision:
			return nil, &Error{CodeSubjectConflict, "/subject/revision", "a later revision of this subject was asked about already"}
		case s.Revision == q.Subject.Revision && (s.Digest != q.Subject.Digest || s.Schema != q.Subject.Schema):
			return nil, &Error{CodeSubjectConflict, "/subject/digest", "this revision of the subject was asked about with another digest or schema"}
		}
	}
	for _, other := range asked {
		if other.State.Terminal() || other.Subject.Revision == q.Subject.Revision {
			continue
		}
		s := Settlement{Question: other.ID, State: Cancelled, Revision: -1, CancelledBy: Superseded, At: e.Clock.Now()}
		settled, won, err := e.settled(ctx, s)
		if err != nil {
			return nil, err
		}
		if won {
			superseded = append(superseded, settled)
		}
	}
	return superseded, nil
}
