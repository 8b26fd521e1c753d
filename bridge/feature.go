package bridge

import "context"

// Feature hooks into the engine: the queue, the gate, webhooks.
type Feature interface {
	// Settling runs inside the transaction that settles q, which already stands as settled, and may add effects.
	Settling(ctx context.Context, q Question) error
}

// Selective is a Feature that few of the questions which expire concern.
type Selective interface {
	Feature
	// Expiring gives those of the questions that concern it. Only these are read for it, and given to Settling. It runs in
	// the same transaction, and knows of the questions that they expired.
	Expiring(ctx context.Context, ids []QuestionID) ([]QuestionID, error)
}

func (e *Engine) settling(ctx context.Context, q Question) error {
	for _, f := range e.Features {
		if err := f.Settling(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// expiring gives the features the questions that expired in this transaction, each those that concern it. A thousand may
// do so at once, and most of them concern nobody.
func (e *Engine) expiring(ctx context.Context, expired []Lapsed) error {
	if len(expired) == 0 {
		return nil
	}
	ids := make([]QuestionID, len(expired))
	for i, q := range expired {
		ids[i] = q.ID
	}
	read := map[QuestionID]Question{}
	for _, f := range e.Features {
		concerned := ids
		if s, ok := f.(Selective); ok {
			var err error
			if concerned, err = s.Expiring(ctx, ids); err != nil {
				return err
			}
		}
		for _, id := range concerned {
			q, ok := read[id]
			if !ok {
				var err error
				if q, err = e.Store.Question(ctx, id); err != nil {
					return err
				}
				read[id] = q
			}
			if err := f.Settling(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}
