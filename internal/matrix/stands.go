package matrix

import (
	"context"
	"encoding/json"
	"net/http"

	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// Stands implements [bridge.Channel]: the event is fetched, and has to be ours, unredacted, and to ask this question about
// exactly its subject. What cannot be read that way does not stand; where the homeserver cannot be asked, that is the
// error. The bot alone may edit the event, and does so once: to close a question that has ended. So what was fetched is
// what people see.
func (s *Service) Stands(ctx context.Context, q bridge.Question, p bridge.Posting) (bool, error) {
	m, ok := p.Current()
	if !ok || p.Moving || q.Delivery.Reason == bridge.ReasonRedacted {
		return false, nil
	}
	conv := conversation(q, p)
	var raw jsonEvent
	err := s.hs.call(ctx, http.MethodGet, mautrix.ClientURLPath{"v3", "rooms", string(conv), "event", string(m.ID)}, nil, nil, &raw)
	if answered(err, http.StatusForbidden, http.StatusNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e := raw.decode(conv)
	if e.ID != string(m.ID) || bridge.UserID(e.Sender) != s.hs.bot || e.pruned() {
		return false, nil
	}
	if e, err = s.sends.opened(ctx, e); err != nil {
		return false, err
	}
	return shows(q, m.Item, e), nil
}

// shows says whether the content of an event of ours is the one that the step of the question is posted as.
func shows(q bridge.Question, step int, e event) bool {
	want, err := dialect.Elicitation(q, step)
	if err != nil {
		return false
	}
	got := e.Content
	if got.string("suite_event_type") != schema.EventType || got.string("elicitation_id") != want.ElicitationID {
		return false
	}
	if want.Subject == nil {
		return true
	}
	var subject schema.Subject
	if json.Unmarshal(got["subject"], &subject) != nil {
		return false
	}
	return subject.ID == want.Subject.ID && subject.Digest == want.Subject.Digest && subject.Schema == want.Subject.Schema &&
		subject.Revision == want.Subject.Revision
}
