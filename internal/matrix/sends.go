package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// flight is how long a homeserver may still be at work on a request whose sender has died or given up: that long, what
// does not stand in the room yet may still come. Later than that is possible too, after a crash of the homeserver; then
// the echo sees to it (see worker.echo).
const flight = 5 * time.Second

// sends sends each message once, however often it is asked to. (Guarantee 2.)
type sends struct {
	hs     *homeserver
	store  Store
	rooms  *rooms
	cipher cipher // nil for none
	clock  bridge.Clock

	began time.Time // this process; what another one has tried last, it tried before
	mu    sync.Mutex
	lost  map[string]time.Time // when a try of this process ended without a word of what became of it, by key
}

// outgoing is one message to send. key stands for it for ever: it is derived from the question, what the message is for,
// and the revision.
type outgoing struct {
	key      string
	question bridge.QuestionID
	room     bridge.ConversationID
	kind     string // the event type
	content  map[string]any
}

// errInFlight is the result of a send while something may still come of an earlier try.
var errInFlight = errors.New("the homeserver may still be at an earlier try")

// errElsewhere is a send that was tried in another room, before its question moved.
var errElsewhere = errors.New("this was sent, or may have been, in the room that was replaced")

// send gives the message that o became, now or on an earlier try. A send whose result is unknown is first looked for in
// the room; while that cannot be done, or the homeserver may still be at it, nothing is sent. An error leaves the result
// unknown, so the next call looks again. A homeserver that asks us to wait gives *bridge.ErrRetry.
func (s *sends) send(ctx context.Context, o outgoing) (bridge.MessageID, error) {
	path := mautrix.ClientURLPath{"v3", "rooms", string(o.room), "send", o.kind}
	if left := s.hs.waits.left(limited(http.MethodPut, path)); left > 0 {
		if _, begun, err := s.store.SendByKey(ctx, o.key); err != nil || !begun { // then it need not be looked for either
			return "", errors.Join(err, &bridge.ErrRetry{After: left, Err: errNotYet})
		}
	}
	saved, isNew, err := s.store.BeginSend(ctx, bridge.Send{
		Key: o.key, Question: o.question, Conversation: o.room, TransactionID: s.transactionID(o.key), FirstTry: s.clock.Now(),
	})
	if err != nil {
		return "", fmt.Errorf("save a send: %w", err)
	}
	if saved.Conversation != o.room {
		return "", errElsewhere
	}
	if !isNew {
		if m, found, err := s.result(ctx, saved); found || err != nil {
			return m, err
		}
	}
	content := maps.Clone(o.content)
	content[sendKey] = o.key
	kind, body, err := s.sealed(ctx, o, content)
	if err != nil {
		return "", err
	}
	path = mautrix.ClientURLPath{"v3", "rooms", string(o.room), "send", kind, saved.TransactionID}
	var sent mautrix.RespSendEvent
	err = s.hs.call(ctx, http.MethodPut, path, nil, body, &sent)
	if err == nil && sent.EventID == "" {
		err = errors.New("the homeserver named no event")
	}
	s.ended(o.key, err)
	if err != nil {
		return "", err
	}
	return s.store.SendDone(ctx, o.key, bridge.MessageID(sent.EventID))
}

// find gives the message that a send became, if it was ever tried and arrived. It sends nothing.
func (s *sends) find(ctx context.Context, key string) (m bridge.MessageID, ok bool, err error) {
	saved, ok, err := s.store.SendByKey(ctx, key)
	if err != nil || !ok {
		return "", false, err
	}
	return s.result(ctx, saved)
}

// result gives the message that a send became. found is false when it became none, and nothing can come of it any more;
// while something can, the error is *bridge.ErrRetry.
func (s *sends) result(ctx context.Context, saved bridge.Send) (m bridge.MessageID, found bool, err error) {
	if saved.Message != "" {
		return saved.Message, true, nil
	}
	m, found, err = s.lookUp(ctx, saved)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("look for an earlier try: %w", err)
	case found:
		s.ended(saved.Key, nil)
		m, err = s.store.SendDone(ctx, saved.Key, m)
		return m, true, err
	}
	if wait := s.inFlight(saved); wait > 0 {
		return "", false, &bridge.ErrRetry{After: wait, Err: errInFlight}
	}
	return "", false, nil
}

// ended notes how a try went.
func (s *sends) ended(key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || !mayArrive(err) {
		delete(s.lost, key)
		return
	}
	if s.lost == nil {
		s.lost = map[string]time.Time{}
	}
	s.lost[key] = s.clock.Now()
}

// inFlight is how much longer the last try may still arrive.
func (s *sends) inFlight(saved bridge.Send) time.Duration {
	s.mu.Lock()
	last, lost := s.lost[saved.Key]
	s.mu.Unlock()
	switch {
	case lost:
	case saved.FirstTry.Before(s.began):
		last = s.began // or earlier
	default:
		return 0 // tried by this process alone, and refused
	}
	return min(last.Add(flight).Sub(s.clock.Now()), flight)
}

// mayArrive is true of an error after which the request may have its effect all the same: only a clear refusal, or no
// connection at all, says that it has none.
func mayArrive(err error) bool {
	var retry *bridge.ErrRetry
	var dial *net.OpError
	return temporary(err) && !errors.As(err, &retry) && !(errors.As(err, &dial) && dial.Op == "dial")
}

// transactionID holds the sender too: some homeservers keep one set of ids for all users of an application service.
func (s *sends) transactionID(key string) string {
	sum := sha256.Sum256([]byte(string(s.hs.bot) + "\n" + key))
	return "qb" + base64.RawURLEncoding.EncodeToString(sum[:24])
}

// redact takes an event of ours away. Doing it twice does no harm, so it needs no look-up.
func (s *sends) redact(ctx context.Context, room bridge.ConversationID, m bridge.MessageID, why string) error {
	path := mautrix.ClientURLPath{"v3", "rooms", string(room), "redact", string(m), s.transactionID("redact/" + string(m))}
	err := s.hs.call(ctx, http.MethodPut, path, nil, map[string]any{"reason": why}, nil)
	if answered(err, http.StatusNotFound) {
		return nil
	}
	return err
}
