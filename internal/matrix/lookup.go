package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"maunium.net/go/mautrix"

	"superpipeline.dev/question-bridge/bridge"
)

// The bounds of a look-up: how far the homeserver's clock may be behind ours, and how many pages are read.
const (
	clockSlack  = 10 * time.Minute
	lookUpPages = 500
)

// Some homeservers lose events between two pages: Dendrite passes over those at the same depth as the last one of a
// page. So pages are as large as homeservers give them, and a short one is a first guess that is never gone on from.
const (
	shortPage = 100
	longPage  = 1000
)

// pageLimit asks for pages of a size. Dendrite allows the parameter 100 at most, and the filter, which others do not
// look at for that, any number.
func pageLimit(query url.Values, limit int, types ...string) {
	filter, _ := json.Marshal(struct {
		Limit int      `json:"limit"`
		Types []string `json:"types,omitempty"`
	}{limit, types})
	query.Set("limit", strconv.Itoa(limit))
	query.Set("filter", string(filter))
}

type messagesPage struct {
	Chunk []jsonEvent `json:"chunk"`
	End   string      `json:"end"`
}

// lookUp searches the room for a send of ours by its key, from now back to its first try. found is false only when all
// of it was read; anything less is an error, because a message that was not looked for everywhere may be there.
func (s *sends) lookUp(ctx context.Context, saved bridge.Send) (m bridge.MessageID, found bool, err error) {
	from, limit := "", shortPage
	for range lookUpPages {
		query := url.Values{"dir": {"b"}}
		pageLimit(query, limit)
		if from != "" {
			query.Set("from", from)
		}
		var page messagesPage
		path := mautrix.ClientURLPath{"v3", "rooms", string(saved.Conversation), "messages"}
		if err := s.hs.call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return "", false, err
		}
		past := len(page.Chunk) > 0
		for _, raw := range page.Chunk {
			e := raw.decode(saved.Conversation)
			if bridge.UserID(e.Sender) == s.hs.bot {
				if e, err = s.opened(ctx, e); err != nil {
					return "", false, err
				}
				if e.Content.string(sendKey) == saved.Key {
					return bridge.MessageID(e.ID), true, nil
				}
			}
			past = past && !e.SentAt.IsZero() && e.SentAt.Before(saved.FirstTry.Add(-clockSlack))
		}
		if past || page.End == "" || page.End == from {
			return "", false, nil
		}
		if limit == shortPage {
			limit = longPage
			continue
		}
		from = page.End
	}
	return "", false, errors.New("too many messages since the first try")
}
