package matrix

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/egress"
)

// vouching answers like a homeserver's federation API: sub for the one token that it knows.
func vouching(token, sub string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/_matrix/federation/v1/openid/userinfo" || r.URL.Query().Get("access_token") != token {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"errcode":"M_UNKNOWN_TOKEN","error":"Access Token unknown or expired"}`))
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sub": sub, "expires_in": 1})
	}
}

// elsewhere is the rest of the network: names that lead to servers of the test, by the guarded client, with certificates
// for example.com, its subdomains and 127.0.0.1 alone. The well-known ports stand for those that the servers really have.
type elsewhere struct {
	*egress.Client
	ports map[string]string
	asked []string
}

func (e *elsewhere) Do(ctx context.Context, r egress.Request) (egress.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return egress.Response{}, err
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	e.asked = append(e.asked, net.JoinHostPort(u.Hostname(), port)+u.Path)
	if really, ok := e.ports[port]; ok {
		u.Host = net.JoinHostPort(u.Hostname(), really)
	}
	r.URL = u.String()
	return e.Client.Do(ctx, r)
}

type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if ip, ok := n[host]; ok {
		return []netip.Addr{netip.MustParseAddr(ip)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

const openIDToken = "secret+token/with=signs"

// abroad makes a resolver of tokens in a network where port 443 leads to site and port 8448 to federation.
func abroad(t *testing.T, site, federation http.HandlerFunc, allow ...string) (*OpenID, *elsewhere) {
	t.Helper()
	e, roots := &elsewhere{ports: map[string]string{}}, x509.NewCertPool()
	for port, handler := range map[string]http.HandlerFunc{"443": site, "8448": federation, "8449": federation} {
		server := httptest.NewUnstartedServer(handler)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // that a certificate is refused is wanted
		server.StartTLS()
		t.Cleanup(server.Close)
		roots.AddCert(server.Certificate())
		_, e.ports[port], _ = net.SplitHostPort(server.Listener.Addr().String())
	}
	var err error
	e.Client, err = egress.New(egress.Config{Allow: allow, Roots: roots, Resolver: names{
		"example.com": "127.0.0.1", "matrix.example.com": "127.0.0.1", "stolen.test": "127.0.0.1", "inside.example.com": "10.0.0.7",
	}})
	noError(t, err)
	o, err := NewOpenID(OpenIDConfig{
		ServerName: "ex.org", HomeserverURL: "http://127.0.0.1:1", Guarded: e,
		Servers: []string{"ex.org", "example.com", "example.com:8449", "127.0.0.1", "stolen.test", "inside.example.com"},
	})
	noError(t, err)
	return o, e
}

func nowhere(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }

func wellKnown(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/matrix/server" {
			nowhere(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"m.server":%q}`, name)
	}
}

// TestOpenIDElsewhere: where another server is asked, and that it is asked for its own users alone.
func TestOpenIDElsewhere(t *testing.T) {
	const info, known = "/_matrix/federation/v1/openid/userinfo", "example.com:443/.well-known/matrix/server"
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://matrix.example.com:8448"+r.URL.Path, http.StatusFound)
	}
	long := func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, `{"m.server":"matrix.example.com"}`, strings.Repeat(" ", maxWellKnown))
	}
	missing := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		wellKnown("matrix.example.com")(w, r)
	}
	for name, c := range map[string]struct {
		server string
		site   http.HandlerFunc
		asked  []string
	}{
		"by its name":                {"example.com", nowhere, []string{known, "example.com:8448" + info}},
		"where it says":              {"example.com", wellKnown("matrix.example.com:8449"), []string{known, "matrix.example.com:8449" + info}},
		"where it says, by name":     {"example.com", wellKnown("matrix.example.com"), []string{known, "matrix.example.com:8448" + info}},
		"where it says, by address":  {"example.com", wellKnown("127.0.0.1"), []string{known, "127.0.0.1:8448" + info}},
		"where it says nothing":      {"example.com", wellKnown("https://matrix.example.com/x"), []string{known, "example.com:8448" + info}},
		"where it says too much":     {"example.com", long, []string{known, "example.com:8448" + info}},
		"where it says it is none":   {"example.com", missing, []string{known, "example.com:8448" + info}},
		"where it sends us on":       {"example.com", redirect, []string{known, "example.com:8448" + info}},
		"a name with a port":         {"example.com:8449", wellKnown("matrix.example.com"), []string{"example.com:8449" + info}},
		"an address":                 {"127.0.0.1", wellKnown("matrix.example.com"), []string{"127.0.0.1:8448" + info}},
		"where .well-known is other": {"example.com", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, []string{known, "example.com:8448" + info}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := "@dana:" + c.server
			o, e := abroad(t, c.site, vouching(openIDToken, sub), "127.0.0.0/8")
			got, err := o.OpenIDUser(t.Context(), c.server, openIDToken)
			if err != nil || string(got) != sub {
				t.Errorf("it is %q, %v", got, err)
			}
			if fmt.Sprint(e.asked) != fmt.Sprint(c.asked) {
				t.Errorf("asked %q, want %q", e.asked, c.asked)
			}
		})
	}
}

// TestOpenIDIsGuarded: what is inside is not called, whoever names it; a certificate must be the server's own; an answer is
// bounded, and sends us nowhere.
func TestOpenIDIsGuarded(t *testing.T) {
	reached := 0
	counts := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { reached++; next(w, r) }
	}
	good := vouching(openIDToken, "@dana:example.com")
	for name, c := range map[string]struct {
		server           string
		site, federation http.HandlerFunc
		allow            []string
		reached          bool
	}{
		"this machine":            {"example.com", nowhere, counts(good), nil, false},
		"a private address":       {"inside.example.com", nowhere, counts(good), nil, false},
		"delegated to inside":     {"example.com", wellKnown("127.0.0.1:8449"), counts(good), []string{"example.com"}, false},
		"delegated to nobody":     {"example.com", wellKnown("none.example.com"), counts(good), []string{"127.0.0.1"}, false},
		"another's certificate":   {"stolen.test", nowhere, counts(vouching(openIDToken, "@dana:stolen.test")), []string{"127.0.0.1"}, false},
		"an answer without end":   {"example.com", nowhere, counts(endless), []string{"127.0.0.1"}, true},
		"an answer that leads on": {"example.com", nowhere, counts(leadsOn), []string{"127.0.0.1"}, true},
		"no JSON":                 {"example.com", nowhere, counts(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }), []string{"127.0.0.1"}, true},
		"no such endpoint":        {"example.com", nowhere, counts(unrecognized), []string{"127.0.0.1"}, true},
		"a proxy that asks":       {"example.com", nowhere, counts(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }), []string{"127.0.0.1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			reached = 0
			o, _ := abroad(t, c.site, c.federation, c.allow...)
			got, err := o.OpenIDUser(t.Context(), c.server, openIDToken)
			if again := new(bridge.ErrRetry); got != "" || !errors.As(err, &again) || again.After <= 0 {
				t.Errorf("%q, %v", got, err)
			}
			if (reached > 0) != c.reached || reached > 1 {
				t.Errorf("reached %d times", reached)
			}
			noToken(t, err)
		})
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprint(w, `{"sub":"@dana:example.com"}`, strings.Repeat(" ", maxUserInfo))
}

func leadsOn(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://matrix.example.com:8449/?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
}

func unrecognized(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"errcode":"M_UNRECOGNIZED","error":"Unrecognized request"}`))
}

// noToken fails where an error shows the token.
func noToken(t *testing.T, err error) {
	t.Helper()
	if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), url.QueryEscape(openIDToken))) {
		t.Errorf("the error shows the token: %v", err)
	}
}

// TestOpenIDServersThatAreNotListed are not asked, however alike their names are.
func TestOpenIDServersThatAreNotListed(t *testing.T) {
	o, e := abroad(t, nowhere, vouching(openIDToken, "@dana:evil.example.com"), "127.0.0.0/8")
	for _, server := range []string{"evil.example.com", "matrix.example.com", "EXAMPLE.COM", "example.com.", "example.com:8448", "", "ex.org@example.com"} {
		if _, err := o.OpenIDUser(t.Context(), server, openIDToken); bridge.CodeOf(err) != bridge.CodeServerNotListed {
			t.Errorf("%q: %v", server, err)
		}
	}
	if len(e.asked) > 0 {
		t.Errorf("asked %q", e.asked)
	}
}

// TestOpenIDVouchesForOwnUsersAlone: a server says nothing about the users of another one, and names somebody.
func TestOpenIDVouchesForOwnUsersAlone(t *testing.T) {
	for _, sub := range []string{
		"@dana:ex.org", "@dana:matrix.example.com", "@dana:example.com:8448", "@dana:EXAMPLE.COM", "@dana:ex.org:example.com", "@:example.com",
		"dana:example.com", "@dana", "", "@da na:example.com", "@dana\n:example.com", "@da\u0000na:example.com", "@dana:example.com ",
		"@" + strings.Repeat("d", 250) + ":example.com", "!room:example.com",
	} {
		o, _ := abroad(t, nowhere, vouching(openIDToken, sub), "127.0.0.0/8")
		if got, err := o.OpenIDUser(t.Context(), "example.com", openIDToken); got != "" || bridge.CodeOf(err) != bridge.CodeOpenIDRefused {
			t.Errorf("%q: %q, %v", sub, got, err)
		}
	}
	for _, sub := range []string{"@dana:example.com", "@Dana|=ö:example.com"} { // a historical one
		o, _ := abroad(t, nowhere, vouching(openIDToken, sub), "127.0.0.0/8")
		if got, err := o.OpenIDUser(t.Context(), "example.com", openIDToken); string(got) != sub {
			t.Errorf("%q: %q, %v", sub, got, err)
		}
	}
}

// TestOpenIDAtHome: our own server is asked where the configuration says that it is, and by nobody's word elsewhere.
func TestOpenIDAtHome(t *testing.T) {
	answer := vouching(openIDToken, "@dana:ex.org")
	var path, auth string
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/below")
		answer(w, r)
	}))
	defer home.Close()
	o, e := abroad(t, nowhere, nowhere, "127.0.0.0/8")
	at := func(address string) *OpenID {
		o, err := NewOpenID(OpenIDConfig{ServerName: "ex.org", HomeserverURL: address, Servers: o.cfg.Servers, Guarded: e})
		noError(t, err)
		return o
	}
	for _, base := range []string{home.URL, home.URL + "/", home.URL + "/below/"} {
		if got, err := at(base).OpenIDUser(t.Context(), "ex.org", openIDToken); got != "@dana:ex.org" || err != nil {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
	if path != "/below/_matrix/federation/v1/openid/userinfo" || auth != "" || len(e.asked) > 0 {
		t.Errorf("asked %q with %q, and %q", path, auth, e.asked)
	}
	_, err := at(home.URL).OpenIDUser(t.Context(), "ex.org", "another")
	if bridge.CodeOf(err) != bridge.CodeOpenIDRefused {
		t.Errorf("another token: %v", err)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		after  time.Duration
	}{
		"by the header": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, 7 * time.Second},
		"by the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			_, _ = w.Write([]byte(`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":9000}`))
		}, 9 * time.Second},
		"broken": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, usualWait},
	} {
		answer = c.answer
		_, err := at(home.URL).OpenIDUser(t.Context(), "ex.org", openIDToken)
		if again := new(bridge.ErrRetry); !errors.As(err, &again) || again.After != c.after {
			t.Errorf("%s: %v", name, err)
		}
		noToken(t, err)
	}
	home.Close()
	_, err = at(home.URL).OpenIDUser(t.Context(), "ex.org", openIDToken)
	if again := new(bridge.ErrRetry); !errors.As(err, &again) {
		t.Errorf("while nobody is there: %v", err)
	}
	noToken(t, err)
}

// TestOpenIDIsAskedOfFewAtOnce: whoever comes when many are being asked about is told at once to come again.
func TestOpenIDIsAskedOfFewAtOnce(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		vouching(openIDToken, "@dana:ex.org")(w, r)
	}))
	defer home.Close()
	o, err := NewOpenID(OpenIDConfig{ServerName: "ex.org", HomeserverURL: home.URL, Servers: []string{"ex.org"}})
	noError(t, err)
	var all sync.WaitGroup
	for range openIDAtOnce {
		all.Go(func() {
			if _, err := o.OpenIDUser(t.Context(), "ex.org", openIDToken); err != nil {
				t.Error(err)
			}
		})
	}
	for range openIDAtOnce {
		<-asked
	}
	_, err = o.OpenIDUser(t.Context(), "ex.org", openIDToken)
	if again := new(bridge.ErrRetry); !errors.As(err, &again) {
		t.Errorf("one more: %v", err)
	}
	close(release)
	all.Wait()
	go func() { <-asked }()
	if _, err := o.OpenIDUser(t.Context(), "ex.org", openIDToken); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
