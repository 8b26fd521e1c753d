package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/egress"
)

// OpenIDConfig says which homeservers are asked whose an OpenID token is, and how.
type OpenIDConfig struct {
	ServerName    string // of our own homeserver
	HomeserverURL string
	Servers       []string // whose users may sign in; our own is one only if it is listed
	// Guarded reaches every server but our own, which is asked at HomeserverURL.
	Guarded Caller
}

// Caller makes calls that are guarded, bounded and never redirected; an *egress.Client is one.
type Caller interface {
	Do(ctx context.Context, r egress.Request) (egress.Response, error)
}

// OpenID finds out whose a Matrix OpenID token is, by asking the server that it names (Client-Server API, "OpenID";
// Server-Server API, "GET /_matrix/federation/v1/openid/userinfo"). A token stands in no log and in no error.
type OpenID struct {
	cfg    OpenIDConfig
	own    Caller
	places chan struct{}
}

const (
	openIDTimeout = 15 * time.Second // for all that is asked for one token
	openIDAtOnce  = 20               // tokens that are asked about: whoever sends them need not be anybody
	maxUserInfo   = 16 << 10
)

// NewOpenID makes one of its configuration; it asks nobody yet.
func NewOpenID(cfg OpenIDConfig) (*OpenID, error) {
	home, err := url.Parse(cfg.HomeserverURL)
	if err != nil {
		return nil, errors.New("matrix: the homeserver's address is not a URL")
	}
	own, err := egress.New(egress.Config{Allow: []string{home.Hostname()}}) // it may well be on this machine
	if err != nil {
		return nil, fmt.Errorf("matrix: the homeserver's address: %w", err)
	}
	return &OpenID{cfg, own, make(chan struct{}, openIDAtOnce)}, nil
}

// OpenIDUser asks a server whose token this is. The error is a *bridge.Error: CodeServerNotListed for a server whose users
// may not sign in, CodeOpenIDRefused where the server does not vouch for a user of its own; or a *bridge.ErrRetry while it
// cannot be asked.
func (o *OpenID) OpenIDUser(ctx context.Context, server, token string) (bridge.UserID, error) {
	if !slices.Contains(o.cfg.Servers, server) {
		return "", &bridge.Error{
			Code: bridge.CodeServerNotListed, Field: "/matrix_server_name", Reason: "people of this homeserver cannot sign in here",
		}
	}
	select {
	case o.places <- struct{}{}:
		defer func() { <-o.places }()
	default:
		return "", &bridge.ErrRetry{After: time.Second, Err: errors.New("too many people sign in at once")}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openIDTimeout, fmt.Errorf("no whole answer within %s", openIDTimeout))
	defer cancel()
	caller, base := o.own, strings.TrimRight(o.cfg.HomeserverURL, "/")
	if server != o.cfg.ServerName {
		caller, base = o.cfg.Guarded, o.federation(ctx, server)
	}
	r, err := caller.Do(ctx, egress.Request{
		Method: http.MethodGet, Limit: maxUserInfo,
		URL: base + "/_matrix/federation/v1/openid/userinfo?access_token=" + url.QueryEscape(token),
	})
	if err != nil {
		return "", &bridge.ErrRetry{After: usualWait, Err: fmt.Errorf("ask whose an OpenID token is: %w", err)}
	}
	info := readObject(r.Body)
	if r.Status != http.StatusOK || r.Cut || info == nil {
		return "", unvouched(r)
	}
	if sub := info.string("sub"); isUserOf(sub, server) {
		return bridge.UserID(sub), nil
	}
	return "", notVouched("the homeserver names no user of its own for this token")
}

// unvouched makes an error of a response that names nobody. Only a Matrix error refuses the token: whatever stands before
// the homeserver may answer in its place.
func unvouched(r egress.Response) error {
	var said mautrix.RespError
	isMatrix := json.Unmarshal(r.Body, &said) == nil && said.ErrCode != ""
	refused := mautrix.HTTPError{Response: &http.Response{StatusCode: r.Status, Header: r.Header}, RespError: &said}
	switch {
	case isMatrix && answered(refused, http.StatusUnauthorized, http.StatusForbidden):
		return notVouched("the homeserver does not know this token, or it has expired")
	case answered(refused, http.StatusTooManyRequests):
		return &bridge.ErrRetry{After: retryAfter(refused), Err: errors.New("the homeserver limits how often it is asked whose an OpenID token is")}
	}
	return &bridge.ErrRetry{After: usualWait, Err: fmt.Errorf("asked whose an OpenID token is, the homeserver answers %d", r.Status)}
}

func notVouched(reason string) error {
	return &bridge.Error{Code: bridge.CodeOpenIDRefused, Reason: reason}
}

// isUserOf is true of a valid id of a user of the server. Localparts may be of any kind that was ever given out.
func isUserOf(user, server string) bool {
	name, of, err := id.UserID(user).ParseAndValidateRelaxed()
	return err == nil && of == server && name != "" && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
