package matrix

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// maxTransaction bounds the body of a transaction, in bytes. It is generous, because a homeserver repeats a refused
// transaction for ever and sends nothing else until it is taken.
const maxTransaction = 64 << 20

// maxOther bounds the body of everything else, in bytes.
const maxOther = 64 << 10

// putTransaction takes a batch of events: all of them are stored before the answer, or the answer is no 200. The
// transaction id means nothing to us: homeservers use one again with more events. (Guarantee 1.)
func (s *Service) putTransaction(w http.ResponseWriter, r *http.Request) {
	if !s.authorised(w, r) {
		return
	}
	ctx := r.Context()
	body, err := readWhole(http.MaxBytesReader(w, r.Body, maxTransaction), r.ContentLength)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		mautrix.MTooLarge.WithMessage("The transaction is larger than %d bytes", maxTransaction).Write(w)
		return
	}
	var events []json.RawMessage
	var news pushedNews
	if err == nil {
		events, news, err = readTransaction(body)
	}
	if err != nil {
		mautrix.MNotJSON.WithMessage("The body is not a transaction").Write(w)
		return
	}
	if err = s.keep(r, events); err == nil {
		err = s.keepPushed(ctx, news)
	}
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Str("transaction_id", r.PathValue("txnID")).Msg("Could not store a transaction")
		mautrix.MUnknown.WithMessage("The events could not be stored").Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// readWhole reads to the end. The size that was announced, -1 if none was, spares it growing; a large one is not believed
// before the bytes are there.
func readWhole(from io.Reader, announced int64) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(announced, 0), 1<<20)) + bytes.MinRead)
	_, err := body.ReadFrom(from)
	return body.Bytes(), err
}

// authorised compares the token in constant time, whatever its length.
func (s *Service) authorised(w http.ResponseWriter, r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		mautrix.MMissingToken.WithMessage("Missing token").Write(w)
		return false
	}
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.reg.ServerToken))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		mautrix.MForbidden.WithMessage("Wrong token").Write(w)
		return false
	}
	return true
}

// keep stores what is of interest of a batch, in one transaction of the store.
func (s *Service) keep(r *http.Request, events []json.RawMessage) error {
	ctx := r.Context()
	var batch []bridge.Incoming
	redactions := false
	for _, raw := range events {
		e, decoded := readEnvelope(raw)
		in, ok := s.incoming(raw, e, decoded)
		if !ok {
			continue
		}
		if in.Aside && s.asides.first(in.ID) {
			zerolog.Ctx(ctx).Warn().Str("event_id", string(in.ID)).Str("room_id", string(in.Conversation)).Str("why", in.Why).
				Msg("An event does not decode; it is kept aside")
		}
		redactions = redactions || decoded && e.Type == "m.room.redaction"
		batch = append(batch, in)
	}
	if len(batch) == 0 {
		return nil
	}
	added, err := s.store.StoreEvents(ctx, batch)
	if err != nil {
		return fmt.Errorf("store %d events: %w", len(batch), err)
	}
	if redactions && s.cfg.Redactions == RedactionsAuto {
		if err := s.store.SetValue(ctx, valueRedactionsPushed, "yes"); err != nil {
			return err
		}
	}
	if added > 0 {
		s.arrived()
	}
	return nil
}

// incoming makes an inbox row of one pushed event; ok is false for an event that is of no interest.
func (s *Service) incoming(raw json.RawMessage, e envelope, decoded bool) (in bridge.Incoming, ok bool) {
	in.ReceivedAt, in.Raw = s.clock.Now(), raw
	if !decoded {
		in.Aside, in.Always, in.Why = true, true, "it is no well-formed event"
		in.ID, in.Conversation = bridge.InteractionID(e.ID), bridge.ConversationID(e.Room)
		if e.ID == "" || len(e.ID) > maxID {
			sum := sha256.Sum256(raw)
			in.ID = bridge.InteractionID("aside:" + hex.EncodeToString(sum[:]))
		}
		if len(e.Room) > maxID {
			in.Conversation = ""
		}
		return in, true
	}
	in.ID, in.Conversation = bridge.InteractionID(e.ID), bridge.ConversationID(e.Room)
	in.Always, ok = s.interest(e)
	return in, ok
}

// keptState is the state that our copy of a room holds.
var keptState = map[string]bool{
	"m.room.member": true, "m.room.power_levels": true, "m.room.create": true, "m.room.encryption": true,
	"m.room.tombstone": true, "m.room.canonical_alias": true, "m.room.name": true,
}

// interest says whether an event is worth keeping, by its envelope alone: always, or only in a room in which there is a
// question.
func (s *Service) interest(e envelope) (always, interesting bool) {
	_, carrier := s.carriers[bridge.UserID(e.Sender)]
	switch {
	case e.StateKey != nil:
		return true, keptState[e.Type]
	case e.Type == "m.room.redaction":
		return true, true
	case e.Type == "m.room.message", e.Type == "m.room.encrypted", e.Type == "m.reaction":
		return carrier || bridge.UserID(e.Sender) == s.hs.bot || s.mayCommand(e), true
	}
	return false, false
}

// fullwidthMark begins a command as well as an exclamation mark does.
var fullwidthMark = []byte("！")

// mayCommand is true of a command to the bridge, and of what may be one inside where we can open it.
func (s *Service) mayCommand(e envelope) bool {
	switch {
	case s.cfg.IsCommand == nil:
		return false
	case e.Type == "m.room.encrypted":
		return s.cipher != nil
	case bytes.IndexByte(e.RawContent, '!') < 0 && !bytes.Contains(e.RawContent, fullwidthMark):
		return false
	}
	in, _ := event{envelope: e, Content: readObject(e.RawContent)}.interaction(string(s.hs.bot))
	said, ok := in.Act.(bridge.Said)
	return ok && s.cfg.IsCommand(said.Text)
}

// asideLog remembers which events were reported already: a homeserver may send them again and again.
type asideLog struct {
	mu   sync.Mutex
	seen map[bridge.InteractionID]bool
}

func (l *asideLog) first(id bridge.InteractionID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[id] {
		return false
	}
	if l.seen == nil || len(l.seen) >= 1000 {
		l.seen = map[bridge.InteractionID]bool{}
	}
	l.seen[id] = true
	return true
}

// queries answers what the homeserver asks about users in our namespace: there is only the bot.
type queries struct{ bot id.UserID }

func (queries) QueryAlias(id.RoomAlias) bool    { return false }
func (q queries) QueryUser(user id.UserID) bool { return user == q.bot }
