package matrix

import (
	"context"
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

// syncRedactions reads redactions by /sync until ctx ends, for homeservers that never push them; it stops by itself once
// the homeserver has pushed one. They go through the inbox like everything else.
func (s *Service) syncRedactions(ctx context.Context) {
	wait := syncBackOff
	for ctx.Err() == nil {
		pushed, err := s.store.Value(ctx, valueRedactionsPushed)
		if err == nil && pushed != "" {
			zerolog.Ctx(ctx).Debug().Msg("The homeserver pushes redactions; not syncing for them")
			return
		}
		if err == nil {
			err = s.syncOnce(ctx)
		}
		if err == nil {
			wait = syncBackOff
			continue
		}
		if ctx.Err() != nil {
			return
		}
		zerolog.Ctx(ctx).Warn().Err(err).Msg("Could not sync for redactions")
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

type syncAnswer struct {
	NextBatch string `json:"next_batch"`
	Rooms     struct {
		Join map[string]struct {
			Timeline struct {
				Events    []jsonEvent `json:"events"`
				Limited   bool        `json:"limited"`
				PrevBatch string      `json:"prev_batch"`
			} `json:"timeline"`
		} `json:"join"`
	} `json:"rooms"`
}

// syncOnce takes one answer: its redactions are stored before its token is, so none is lost. The first one only says
// where now is.
func (s *Service) syncOnce(ctx context.Context) error {
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
	if err := s.hs.callWithin(callCtx, http.MethodGet, mautrix.ClientURLPath{"v3", "sync"}, query, nil, &answer); err != nil {
		return err
	}
	if answer.NextBatch == "" {
		return errors.New("the homeserver gave no token")
	}
	if since != "" {
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
