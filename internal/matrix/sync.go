package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// What is kept of the redaction sync.
const (
	valueSyncToken        = "redactions_since"
	valueRedactionsPushed = "redactions_pushed"
)

// redactionFilter asks for redactions and as good as nothing else. Some homeservers ignore filters that exclude.
const redactionFilter = `{"presence":{"types":["none"]},"account_data":{"types":["none"]},"room":{"account_data":{"types":["none"]},` +
	`"ephemeral":{"types":["none"]},"state":{"types":["none"]},"timeline":{"types":["m.room.redaction"],"limit":100}}}`

const (
	syncWait      = 30 * time.Second
	syncPages     = 200
	syncBackOff   = 5 * time.Second
	longestSyncOf = 5 * time.Minute
)

// sync reads by /sync what is not pushed, until ctx ends: redactions, which some homeservers never push; and, where there is
// encryption, messages between devices and whose devices changed. It stops by itself once the homeserver has pushed all
// of these. Everything goes through the inbox.
func (s *Service) sync(ctx context.Context, engine Engine) {
	if s.cipher != nil {
		select {
		case <-ctx.Done():
		case <-s.cipher.begun():
		}
	}
	wait := syncBackOff
	for ctx.Err() == nil {
		needed, err := s.needsSync(ctx)
		if err == nil && !needed {
			zerolog.Ctx(ctx).Debug().Msg("The homeserver pushes everything; not syncing")
			return
		}
		if err == nil {
			err = s.syncOnce(ctx, engine)
		}
		if err == nil {
			wait = syncBackOff
			continue
		}
		if ctx.Err() != nil {
			return
		}
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not sync")
		if errors.Is(err, mautrix.MUnknownToken) && s.cipher != nil {
			if err := s.cipher.relogin(ctx, s.cipher.device().cli.AccessToken); err != nil {
				zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not log the bot's device in again")
			} else if wait == syncBackOff {
				wait = 2 * wait // unless it was refused just before, too
				continue
			}
		}
		var retry *bridge.ErrRetry
		if errors.As(err, &retry) {
			wait = max(wait, retry.After)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, longestSyncOf)
	}
}

// needsSync says whether there is something that the homeserver was not seen to push. Of messages between devices that
// was seen since we started: a homeserver may be set up anew.
func (s *Service) needsSync(ctx context.Context) (bool, error) {
	if s.cipher != nil && !s.pushes.all() {
		return true, nil
	}
	if s.cfg.Redactions == RedactionsPushed {
		return false, nil
	}
	pushed, err := s.store.Value(ctx, valueRedactionsPushed)
	return pushed == "", err
}

type syncAnswer struct {
	NextBatch string `json:"next_batch"`
	deviceNews
	Rooms struct {
		Join map[string]struct {
			Timeline struct {
				Events    []jsonEvent `json:"events"`
				Limited   bool        `json:"limited"`
				PrevBatch string      `json:"prev_batch"`
			} `json:"timeline"`
		} `json:"join"`
	} `json:"rooms"`
}

// deviceNews is what concerns encryption, in a sync as in a transaction.
type deviceNews struct {
	ToDevice struct {
		Events []json.RawMessage `json:"events"`
	} `json:"to_device"`
	DeviceLists struct {
		Changed []bridge.UserID `json:"changed"`
	} `json:"device_lists"`
	KeyCounts map[string]int `json:"device_one_time_keys_count"`
}

// syncOnce takes one answer: what it says is stored before its token is, so none is lost. Of redactions, the first one only
// says where now is.
func (s *Service) syncOnce(ctx context.Context, engine Engine) error {
	since, err := s.store.Value(ctx, valueSyncToken)
	if err != nil {
		return err
	}
	query := url.Values{"filter": {redactionFilter}, "set_presence": {"offline"}, "timeout": {"0"}}
	if since != "" {
		query.Set("since", since)
		query.Set("timeout", fmt.Sprint(syncWait.Milliseconds()))
	}
	callCtx, cancel := context.WithTimeout(ctx, syncWait+s.hs.timeout)
	defer cancel()
	var answer syncAnswer
	as := s.hs
	if s.cipher != nil {
		as = s.cipher.device()
	}
	if err := as.callWithin(callCtx, http.MethodGet, mautrix.ClientURLPath{"v3", "sync"}, query, nil, &answer); err != nil {
		return err
	}
	if answer.NextBatch == "" {
		return errors.New("the homeserver gave no token")
	}
	if s.cipher != nil {
		if err := s.keepKeys(ctx, engine, answer.deviceNews); err != nil {
			return err
		}
	}
	if since != "" && s.cfg.Redactions != RedactionsPushed {
		for room, news := range answer.Rooms.Join {
			conv := bridge.ConversationID(room)
			redactions := news.Timeline.Events
			if news.Timeline.Limited {
				before, err := s.redactionsBefore(ctx, conv, news.Timeline.PrevBatch, since)
				if err != nil {
					return err
				}
				redactions = append(before, redactions...)
			}
			if err := s.storeRedactions(ctx, conv, redactions); err != nil {
				return err
			}
		}
	}
	return s.store.SetValue(ctx, valueSyncToken, answer.NextBatch)
}

// redactionsBefore pages back through what a sync left out, to where the one before ended, and gives it oldest first.
func (s *Service) redactionsBefore(ctx context.Context, room bridge.ConversationID, from, to string) ([]jsonEvent, error) {
	var found []jsonEvent
	for range syncPages {
		if from == "" {
			break
		}
		query := url.Values{"dir": {"b"}, "from": {from}, "to": {to}}
		pageLimit(query, longPage, "m.room.redaction")
		var page messagesPage
		path := mautrix.ClientURLPath{"v3", "rooms", string(room), "messages"}
		err := s.hs.call(ctx, http.MethodGet, path, query, nil, &page)
		if answered(err, http.StatusForbidden, http.StatusNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page.Chunk {
			found = append([]jsonEvent{e}, found...)
		}
		if page.End == from {
			break
		}
		from = page.End
	}
	return found, nil
}

func (s *Service) storeRedactions(ctx context.Context, room bridge.ConversationID, events []jsonEvent) error {
	var batch []bridge.Incoming
	for _, raw := range events {
		full := raw.inRoom(room)
		e, ok := decodeEvent(full)
		if _, isRedaction := e.redaction(); !ok || !isRedaction {
			continue
		}
		batch = append(batch, bridge.Incoming{
			InboxEvent: bridge.InboxEvent{ID: bridge.InteractionID(e.ID), Conversation: room, ReceivedAt: s.clock.Now(), Raw: full},
			Always:     true,
		})
	}
	if len(batch) == 0 {
		return nil
	}
	added, err := s.store.StoreEvents(ctx, batch)
	if added > 0 {
		s.arrived()
	}
	return err
}
