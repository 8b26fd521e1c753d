package client

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// DefaultRequestTimeout bounds a request that does not wait for a person.
	DefaultRequestTimeout = 30 * time.Second
	// DefaultRetryFor is how long an ask is tried again: long enough for a restart of the server.
	DefaultRetryFor = time.Minute
)

// Config says which server to talk to, and as whom.
type Config struct {
	// Server is the address of the API, for example "https://questions.example.org". A path is kept as a prefix.
	Server string
	// Token is the bearer token: an agent's, or for a [Responder] a person's own. It is sent to Server alone: redirects are never followed.
	Token string
	// HTTPClient sends the requests; nil for one of our own. Its Timeout and CheckRedirect are not used: a wait outlasts
	// any sensible timeout, and the token must not travel elsewhere.
	HTTPClient *http.Client
	// RequestTimeout bounds every request, beside the time a wait is held; 0 for DefaultRequestTimeout.
	RequestTimeout time.Duration
	// RetryFor is how long [Client.Ask] and [Client.Cancel] try again after a failure that may pass; 0 for DefaultRetryFor,
	// negative for not at all. A server that does not know the header Idempotency-Key may be asked twice by such a retry,
	// after a connection that was lost before its response.
	RetryFor time.Duration
	// OnRetry, if set, is told why such a try failed, and how long it is until the next. It must not block.
	OnRetry func(err error, in time.Duration)
	// OnPoll, if set, is told of every poll of [Client.Await] that did not end the wait. It is called by the goroutine
	// that waits, and must not block.
	OnPoll func(Poll)
}

// Client speaks to one server as one agent. It is safe for concurrent use.
type Client struct {
	base     string // without a slash at the end
	token    string
	http     *http.Client
	timeout  time.Duration
	retryFor time.Duration
	onRetry  func(error, time.Duration)
	onPoll   func(Poll)
	pace     pace
}

// New checks the configuration; it does not connect.
func New(cfg Config) (*Client, error) {
	base, err := parseServer(cfg.Server)
	if err != nil {
		return nil, err
	}
	if err := checkToken(cfg.Token); err != nil {
		return nil, err
	}
	c := &Client{
		base: base, token: cfg.Token, timeout: cfg.RequestTimeout, retryFor: cfg.RetryFor,
		onRetry: cfg.OnRetry, onPoll: cfg.OnPoll, pace: defaultPace,
	}
	if c.timeout <= 0 {
		c.timeout = DefaultRequestTimeout
	}
	if c.retryFor == 0 {
		c.retryFor = DefaultRetryFor
	}
	var h http.Client
	if cfg.HTTPClient != nil {
		h = *cfg.HTTPClient
	}
	h.Timeout = 0
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &h
	return c, nil
}

func parseServer(server string) (string, error) {
	if server == "" {
		return "", errors.New("client: no server address")
	}
	u, err := url.Parse(server)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", errors.New("client: the server address is not an http or https URL")
	case u.User != nil:
		return "", errors.New("client: the server address holds a user name or password; the token is what authenticates")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("client: the server address has a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func checkToken(token string) error {
	if token == "" {
		return errors.New("client: no token")
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return errors.New("client: the token holds a space, a line break or another character that no token has")
		}
	}
	return nil
}
