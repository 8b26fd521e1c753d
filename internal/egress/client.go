// Package egress is the one HTTP client for addresses that others give us. It reaches public addresses and what the
// operator allows, and nothing else: not this machine, not the network behind it. The address is checked when it is
// dialled, so that a name cannot change what it stands for between the check and the call.
package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Timeouts bound the phases of one call; zero is the default of each.
type Timeouts struct {
	Dial   time.Duration // of each address of a host; default 5 s
	TLS    time.Duration // default 5 s
	Header time.Duration // from the request to the first byte of the response's header; default 15 s
	Whole  time.Duration // of the whole call, the body included; default 20 s
}

// Config says what a client may reach beyond public addresses, and how long it waits.
type Config struct {
	// Allow lists networks (10.1.0.0/16), addresses and host names that are reached although they are not public, and
	// that plain http:// may be spoken to. A host name is allowed whatever it resolves to.
	Allow    []string
	Timeouts Timeouts
	// Resolver looks names up; nil for the machine's own.
	Resolver Resolver
	// Roots are the certificate authorities to trust; nil for the machine's own.
	Roots *x509.CertPool
}

// Resolver looks up the addresses of a host name; network is "ip". A *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Request is one call.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
	// Limit is how many bytes of the response's body are kept. What is beyond them is not read; with 0, nothing is.
	Limit int64
}

// Response is what came back. Its body was written by a stranger: nobody else is shown it.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Cut    bool // the body was longer than the limit
}

// RetryAfter is how long the other side asks to be left alone by its Retry-After header, which is seconds or a date (RFC
// 9110, 10.2.3); 0 where it asks for nothing, or cannot be understood.
func (r Response) RetryAfter(now time.Time) time.Duration {
	value := strings.TrimSpace(r.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return 1 << 62
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// RefusedError says that the guard would not let a call out. Nothing was sent.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

func refused(reason string, args ...any) error {
	return &RefusedError{fmt.Sprintf(reason, args...)}
}

// Client makes guarded calls. It keeps no cookies, follows no redirect (one is a response like any other), asks for no
// compression and knows no proxy, not even one of the environment: behind a proxy nobody could tell what is dialled.
type Client struct {
	tls, plain *http.Client
	guards     guard // of tls
	timeout    time.Duration
}

// maxHeader bounds a response's header.
const maxHeader = 64 << 10

// New makes a client. The error says which entry of Allow is not one.
func New(c Config) (*Client, error) {
	allowed, err := parseAllowed(c.Allow)
	if err != nil {
		return nil, err
	}
	t := c.Timeouts.orDefault()
	guards := guard{allowed: allowed, resolver: c.Resolver, timeout: t.Dial}
	client := func(plain bool) *http.Client {
		g := guards
		g.plain = plain
		return &http.Client{
			Transport: &http.Transport{
				DialContext: g.dial, TLSHandshakeTimeout: t.TLS, ResponseHeaderTimeout: t.Header,
				TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Roots},
				ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
				IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 2,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{tls: client(false), plain: client(true), guards: guards, timeout: t.Whole}, nil
}

func (t Timeouts) orDefault() Timeouts {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&t.Dial, 5 * time.Second}, {&t.TLS, 5 * time.Second}, {&t.Header, 15 * time.Second}, {&t.Whole, 20 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.or
		}
	}
	return t
}

// CheckURL says why a URL could never be called, whatever its host resolves to. The error never holds the URL.
func CheckURL(text string) error {
	_, err := parse(text)
	return err
}

func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // its text holds the URL
		return nil, refused("this is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refused("only https:// and http:// URLs are called")
	case u.Hostname() == "":
		return nil, refused("the URL has no host")
	case u.User != nil:
		return nil, refused("a URL with a user or password in it is not called")
	}
	return u, nil
}

// Check says why a call of a URL would be refused now, as a *RefusedError: by its text, or by what its host resolves to. A
// host that cannot be looked up is not refused, since it may be later. Do checks again, on the address that it dials.
func (c *Client) Check(ctx context.Context, text string) error {
	u, err := parse(text)
	if err != nil {
		return err
	}
	g := c.guards
	g.plain = u.Scheme == "http"
	_, err = g.reachable(ctx, u.Hostname())
	if r, ok := errors.AsType[*RefusedError](err); ok {
		return r
	}
	return nil
}

// Do makes one call. A *RefusedError says that the guard refused it; other errors are the network's. Neither holds the
// URL, whose path or query may be a secret. Every status is a response, also a redirect, which is not followed.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	u, err := parse(r.URL)
	if err != nil {
		return Response{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no whole response within %s", c.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, refused("this is not a request")
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	client := c.tls
	if u.Scheme == "http" {
		client = c.plain
	}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, withoutURL(ctx, err)
	}
	defer resp.Body.Close()
	out := Response{Status: resp.StatusCode, Header: resp.Header}
	if r.Limit <= 0 {
		return out, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, r.Limit+1))
	out.Body = body
	if int64(len(body)) > r.Limit {
		out.Body, out.Cut = body[:r.Limit], true
	} else if err != nil {
		return Response{}, withoutURL(ctx, err)
	}
	return out, nil
}

// withoutURL takes the URL out of what the client says, and names our own timeout for what it is.
func withoutURL(ctx context.Context, err error) error {
	var r *RefusedError
	if errors.As(err, &r) {
		return r
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}
