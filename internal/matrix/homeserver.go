package matrix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/appservice"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
)

// homeserver is the homeserver as the bot sees it. It never retries by itself: what is sent, and when it is sent again,
// is for its callers to decide; but what the homeserver asked to be spared for a while is not asked of it before.
// Nothing that is sent or received is logged.
type homeserver struct {
	cli     *mautrix.Client
	bot     bridge.UserID
	timeout time.Duration // of one request
	waits   *waits
}

func newHomeserver(as *appservice.AppService, timeout time.Duration, clock bridge.Clock) *homeserver {
	as.DefaultHTTPRetries = 0
	as.Log = zerolog.Nop()
	cli := as.NewMautrixClient(as.BotMXID())
	cli.IgnoreRateLimit = false
	return &homeserver{cli: cli, bot: bridge.UserID(as.BotMXID()), timeout: timeout, waits: &waits{clock: clock}}
}

// call makes one request. A 429 comes back as *bridge.ErrRetry with the wait that the body or the header names.
func (h *homeserver) call(ctx context.Context, method string, path mautrix.ClientURLPath, query url.Values, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.callWithin(ctx, method, path, query, body, into)
}

func (h *homeserver) callWithin(ctx context.Context, method string, path mautrix.ClientURLPath, query url.Values, body, into any) error {
	u := h.cli.BuildURLWithFullQuery(path, func(q url.Values) {
		for name, values := range query {
			q[name] = values
		}
	})
	what := limited(method, path)
	if left := h.waits.left(what); left > 0 {
		return &bridge.ErrRetry{After: left, Err: errNotYet}
	}
	_, err := h.cli.MakeFullRequest(zerolog.Nop().WithContext(ctx), mautrix.FullRequest{
		Method: method, URL: u, RequestJSON: body, ResponseJSON: into, MaxAttempts: 1, SensitiveContent: true,
	})
	if err == nil {
		return nil
	}
	var http429 mautrix.HTTPError
	if errors.As(err, &http429) && http429.IsStatus(http.StatusTooManyRequests) {
		after := retryAfter(http429)
		h.waits.begin(what, after)
		return &bridge.ErrRetry{After: after, Err: err}
	}
	return fmt.Errorf("%s: %w", method, err)
}

// The bounds of a wait that a homeserver asks for.
const (
	usualWait   = 5 * time.Second
	longestWait = time.Hour
)

// retryAfter reads how long to wait from the body, where the specification has it, or the header, where newer versions
// have it; some servers send only one of them. The longer one counts.
func retryAfter(err mautrix.HTTPError) time.Duration {
	var wait time.Duration
	if err.RespError != nil {
		if ms, ok := err.RespError.ExtraData["retry_after_ms"].(float64); ok && ms > 0 && ms < float64(longestWait.Milliseconds()) {
			wait = time.Duration(ms) * time.Millisecond
		} else if ok && ms > 0 {
			wait = longestWait
		}
	}
	if err.Response != nil {
		header := err.Response.Header.Get("Retry-After")
		if s, perr := strconv.Atoi(header); perr == nil && s >= 0 {
			wait = max(wait, time.Duration(min(s, int(longestWait.Seconds())))*time.Second)
		} else if at, perr := http.ParseTime(header); perr == nil {
			wait = max(wait, time.Until(at))
		}
	}
	if wait <= 0 {
		return usualWait
	}
	return min(wait, longestWait)
}

var errNotYet = errors.New("the homeserver asked to be spared this for a while")

// limited names what a homeserver counts together when it limits a rate: all messages that the bot sends, in whatever room;
// of anything else, the same request.
func limited(method string, path mautrix.ClientURLPath) string {
	if len(path) > 3 && path[1] == "rooms" && path[3] == "send" {
		return "sending"
	}
	return method + " " + fmt.Sprintln(path...)
}

// waits remembers until when the homeserver is to be spared what; see [limited].
type waits struct {
	clock   bridge.Clock
	limited func() // called for each wait that is asked for; may be nil
	mu      sync.Mutex
	until   map[string]time.Time
}

func (w *waits) begin(what string, after time.Duration) {
	if w.limited != nil {
		w.limited()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	maps.DeleteFunc(w.until, func(_ string, until time.Time) bool { return !until.After(now) })
	if until := now.Add(after); until.After(w.until[what]) { // several may have been refused at once
		w.until[what] = until
	}
}

func (w *waits) left(what string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until[what].Sub(w.clock.Now())
}

// answered is true when the homeserver itself refused, in a way that the same request will meet again.
func answered(err error, statuses ...int) bool {
	var h mautrix.HTTPError
	if !errors.As(err, &h) || h.Response == nil {
		return false
	}
	for _, s := range statuses {
		if h.Response.StatusCode == s {
			return true
		}
	}
	return false
}

// temporary is true of an error after which the same request may well succeed: everything but a clear refusal.
func temporary(err error) bool {
	return !answered(err, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge)
}

func (h *homeserver) joinedTo(ctx context.Context, room string, via []string) error {
	query := url.Values{}
	for _, server := range via {
		query.Add("server_name", server)
	}
	var joined mautrix.RespJoinRoom
	return h.call(ctx, http.MethodPost, mautrix.ClientURLPath{"v3", "join", room}, query, struct{}{}, &joined)
}

// resolveAlias gives the room that an alias stands for. Every clear refusal means that there is none: for aliases of
// other servers, some homeservers answer 500 with nothing in it.
func (h *homeserver) resolveAlias(ctx context.Context, alias string) (bridge.ConversationID, error) {
	var found mautrix.RespAliasResolve
	err := h.call(ctx, http.MethodGet, mautrix.ClientURLPath{"v3", "directory", "room", alias}, nil, nil, &found)
	switch {
	case err == nil && found.RoomID != "":
		return bridge.ConversationID(found.RoomID), nil
	case err != nil && temporary(err) && !answered(err, http.StatusInternalServerError):
		return "", err
	}
	return "", &bridge.Error{Code: bridge.CodeRoomUnknown, Reason: "there is no room under this alias"}
}

func userServer(user bridge.UserID) string { return id.UserID(user).Homeserver() }
