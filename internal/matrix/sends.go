package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// sends sends each message once, however often it is asked to. (Guarantee 2.)
type sends struct {
	hs    *homeserver
	store Store
	clock bridge.Clock
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

// errElsewhere is a send that was tried in another room, before its question moved.
var errElsewhere = errors.New("this was sent, or may have been, in the room that was replaced")

// send gives the message that o became, now or on an earlier try. A send whose result is unknown is first looked for in
// the room; when that cannot be done, nothing is sent. An error leaves the result unknown, so the next call looks again.
// A homeserver that asks us to wait gives *bridge.ErrRetry.
func (s *sends) send(ctx context.Context, o outgoing) (bridge.MessageID, error) {
	saved, isNew, err := s.store.BeginSend(ctx, bridge.Send{
		Key: o.key, Question: o.question, Conversation: o.room, TransactionID: s.transactionID(o.key), FirstTry: s.clock.Now(),
	})
	if err != nil {
		return "", fmt.Errorf("save a send: %w", err)
	}
	if saved.Conversation != o.room {
		return "", errElsewhere
	}
	if saved.Message != "" {
		return saved.Message, nil
	}
	if !isNew {
		m, found, err := s.lookUp(ctx, saved)
		if err != nil {
			return "", fmt.Errorf("look for an earlier try: %w", err)
		}
		if found {
			return m, s.store.SendDone(ctx, o.key, m)
		}
	}
	content := maps.Clone(o.content)
	content[sendKey] = o.key
	path := mautrix.ClientURLPath{"v3", "rooms", string(o.room), "send", o.kind, saved.TransactionID}
	var sent mautrix.RespSendEvent
	if err := s.hs.call(ctx, http.MethodPut, path, nil, content, &sent); err != nil {
		return "", err
	}
	if sent.EventID == "" {
		return "", errors.New("the homeserver named no event")
	}
	m := bridge.MessageID(sent.EventID)
	return m, s.store.SendDone(ctx, o.key, m)
}

// find gives the message that a send became, if it was ever tried and arrived. It sends nothing.
func (s *sends) find(ctx context.Context, key string) (m bridge.MessageID, ok bool, err error) {
	saved, ok, err := s.store.SendByKey(ctx, key)
	if err != nil || !ok || saved.Message != "" {
		return saved.Message, ok, err
	}
	m, ok, err = s.lookUp(ctx, saved)
	if err != nil || !ok {
		return "", false, err
	}
	return m, true, s.store.SendDone(ctx, key, m)
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
