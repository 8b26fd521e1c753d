package bridge

import (
	"context"

	"superpipeline.dev/question-bridge/bridge/texts"
)

// reception is one interaction on its way to one question.
type reception struct {
	in      Interaction
	act     Act // what is read: for a correction, what the corrected message would have said
	q       Question
	p       Posting
	related bool // tied to the question by a relation, and not only by standing in the same conversation
	// pointed is the message of the posting that a reaction or a real reply points at; "" for a threaded message.
	pointed    MessageID
	thread     MessageID
	correction bool
	unthreaded bool
}

// original is the interaction that a person would say they made: for a correction, the message they corrected.
func (r *reception) original() InteractionID {
	if e, ok := r.in.Act.(Edited); ok {
		return e.Original
	}
	return r.in.ID
}

// aim finds the question that an interaction is about; nil when it is none of ours.
func (e *Engine) aim(ctx context.Context, in Interaction) (*reception, error) {
	r := &reception{in: in, act: in.Act}
	switch act := in.Act.(type) {
	case Said:
		r.thread = act.Thread
		if in.Target() == "" {
			return e.aimUnthreaded(ctx, r)
		}
		return e.aimAt(ctx, r, in.Target(), act.ReplyTo != "")
	case Reacted, Submitted:
		return e.aimAt(ctx, r, in.Target(), true)
	case Edited:
		return e.aimCorrection(ctx, r, act)
	case Withdrew:
		return e.aimWithdrawal(ctx, r, act)
	}
	return nil, nil
}

func (e *Engine) aimAt(ctx context.Context, r *reception, m MessageID, pointing bool) (*reception, error) {
	id, ok, err := e.Store.QuestionOf(ctx, r.in.Conversation, m)
	if err != nil || !ok {
		return nil, err
	}
	r.related = true
	if pointing {
		r.pointed = m
	}
	return r, e.load(ctx, r, id)
}

// aimCorrection reads an edit as the message it corrects would have been read, if that one was tied to a question, by
// the same sender, was no answer, and the question is on the same step.
func (e *Engine) aimCorrection(ctx context.Context, r *reception, act Edited) (*reception, error) {
	r.act, r.correction = Said{Text: act.Text, Corrects: act.Original}, true
	return e.aimKept(ctx, r, act.Original, func(kept Reply) bool {
		return kept.Sender == r.in.Sender && (r.in.Encrypted || !kept.Encrypted)
	})
}

// aimWithdrawal finds the question that somebody answered a part of with what is taken back now, by whomever.
func (e *Engine) aimWithdrawal(ctx context.Context, r *reception, act Withdrew) (*reception, error) {
	return e.aimKept(ctx, r, InteractionID(act.Original), func(Reply) bool { return true })
}

// aimKept finds the question that something said before was about, as long as that is still on the same step.
func (e *Engine) aimKept(ctx context.Context, r *reception, original InteractionID, may func(Reply) bool) (*reception, error) {
	kept, ok, err := e.Store.Reply(ctx, original)
	if err != nil || !ok || kept.Conversation != r.in.Conversation || !may(kept) {
		return nil, err
	}
	r.related = true
	if err := e.load(ctx, r, kept.Question); err != nil {
		return nil, err
	}
	if r.q.State.Terminal() || r.p.Step() != kept.Step {
		return nil, nil
	}
	return r, nil
}

// aimUnthreaded finds the one question that a message without any relation may answer: the only one that was pending in
// the conversation from the message's time until now, already shown, between two people, and only with an option that
// neither approves nor asks for anything. (DESIGN "Which question a message answers".)
func (e *Engine) aimUnthreaded(ctx context.Context, r *reception) (*reception, error) {
	said, _ := r.in.Act.(Said)
	if e.Unthreaded != UnthreadedDirect || said.NotText {
		return nil, nil
	}
	pending, err := e.Store.PendingIn(ctx, r.in.Conversation, 2)
	if err != nil || len(pending) != 1 || len(pending[0].Items) != 1 {
		return nil, err
	}
	match, ok := Match(pending[0].Items[0].Options, said.Text).(OneMatch)
	if !ok || match.Rest != nil {
		return nil, nil
	}
	option := pending[0].Items[0].Options[match.Index]
	bound := pending[0].Subject != nil && option.Meaning != Reject
	if bound || option.Meaning == Approve || option.Requires != "" || option.Input != nil || option.NeedsComment {
		return nil, nil
	}
	if settled, err := e.Store.SettledSince(ctx, r.in.Conversation, r.in.SentAt); err != nil || settled {
		return nil, err
	}
	if alone, err := e.Gatekeeper.Alone(ctx, r.in.Conversation); err != nil || !alone {
		return nil, err
	}
	if err := e.load(ctx, r, pending[0].ID); err != nil {
		return nil, err
	}
	if m, ok := r.p.Current(); !ok || !r.in.After(m) {
		return nil, nil
	}
	r.unthreaded = true
	return r, nil
}

func (e *Engine) load(ctx context.Context, r *reception, id QuestionID) (err error) {
	if r.q, err = e.Store.Question(ctx, id); err != nil {
		return err
	}
	r.p, err = e.Store.Posting(ctx, id)
	return err
}

// read asks the channel what the interaction means, and holds it against the step that it was made for: a reaction or a
// real reply means the step of the message it points at; threaded text the current one, unless it came before that.
func (r *reception) read(c Channel) Reading {
	in := r.in
	in.Act = r.act
	reading := c.Parse(in, r.q, r.p)
	if _, ok := reading.(Ignored); ok {
		return reading
	}
	current, posted := r.p.Current()
	if !posted || r.correction || r.pointed == current.ID { // a correction is of the same step as what it corrects
		return reading
	}
	_, structured := r.act.(Submitted)
	_, said := r.act.(Said)
	_, withdrew := r.act.(Withdrew)
	switch {
	case withdrew:
		return reading
	case r.p.has(r.pointed), r.p.asidePassed(r.pointed):
		return Outdated{}
	case structured:
		return Refused{CodeStructuredInvalid, texts.StructuredElsewhere}
	case len(r.p.Messages) > 1 && !(said && r.in.After(current)):
		return Outdated{}
	}
	return reading
}
