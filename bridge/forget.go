package bridge

// What stands where a person was who is forgotten, and where something was that they typed. The id is none that anybody
// can have: it has no server.
const (
	Forgotten UserID = "forgotten"
	Erased           = "[erased]"
)

// Forget takes a person out of a question that has ended, and says whether they were in it. That it was answered, when,
// and by which option stays: the asker acted on it. What they typed, their name, the event they did it by and the
// certificate, which names them, do not.
func (q *Question) Forget(who UserID) (changed bool) {
	if !q.State.Terminal() {
		return false
	}
	if q.Target == who {
		q.Target, changed = Forgotten, true
	}
	if q.DismissedBy == who {
		q.DismissedBy, changed = Forgotten, true
	}
	if q.Answer == nil || q.Answer.By.ID != who {
		return changed
	}
	a := *q.Answer
	a.By, a.Event, a.Certificate = Responder{ID: Forgotten}, "", nil
	a.Comment, a.Input = erased(a.Comment), erased(a.Input)
	a.Items = WithoutTexts(a.Items)
	q.Answer = &a
	return true
}

// WithoutTexts are the same choices, without what was typed for them.
func WithoutTexts(items []ItemChoice) []ItemChoice {
	out := make([]ItemChoice, len(items))
	for i, item := range items {
		item.Text = erased(item.Text)
		out[i] = item
	}
	return out
}

func erased(text *string) *string {
	if text == nil {
		return nil
	}
	mark := Erased
	return &mark
}
