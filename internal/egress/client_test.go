package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// names is a resolver; each lookup of a name takes its next addresses, and the last ones stay.
type names map[string][][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	left := n[host]
	if len(left) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(left) > 1 {
		n[host] = left[1:]
	}
	return left[0], nil
}

func ips(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, t := range texts {
		out = append(out, netip.MustParseAddr(t))
	}
	return out
}

func client(t *testing.T, c Config) *Client {
	t.Helper()
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// receiver counts what reaches it.
func receiver(t *testing.T, h http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var hits atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s, &hits
}

func port(s *httptest.Server) string {
	u, _ := url.Parse(s.URL)
	return u.Port()
}

func wantRefused(t *testing.T, err error) {
	t.Helper()
	var r *RefusedError
	if !errors.As(err, &r) {
		t.Errorf("got %v, want a refusal", err)
	}
}

// Field case D9: what points inside is refused when it is dialled, in every spelling.
func TestD9RefusesWhatIsInside(t *testing.T) {
	server, hits := receiver(t, nil)
	c := client(t, Config{Resolver: names{
		"mixed.test":  {ips("93.184.215.14", "127.0.0.1")},
		"mixed2.test": {ips("127.0.0.1", "93.184.215.14")},
		"inside.test": {ips("10.0.0.7")},
		"0":           {ips("0.0.0.0")}, // as the C library reads it
		"2130706433":  {ips("127.0.0.1")},
		"localhost":   {ips("::1", "127.0.0.1")},
	}})
	for _, host := range []string{
		"127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "[::]", "0.0.0.0", "0", "2130706433", "localhost",
		"169.254.169.254", "[fe80::1%25lo]", "mixed.test", "mixed2.test", "inside.test",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
	} {
		for _, scheme := range []string{"http", "https"} {
			_, err := c.Do(t.Context(), Request{Method: "POST", URL: scheme + "://" + host + ":" + port(server) + "/secret-path"})
			if err == nil || strings.Contains(err.Error(), "secret-path") {
				t.Errorf("%s://%s: %v", scheme, host, err)
			}
			wantRefused(t, err)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d calls got through", hits.Load())
	}
}

// Field case D9: an address with a user, and what is no address of a web server, is refused before anything is dialled.
func TestD9URLsThatAreNeverCalled(t *testing.T) {
	c := client(t, Config{Allow: []string{"127.0.0.1"}})
	for _, u := range []string{
		"https://user:pw@127.0.0.1/", "https://user@127.0.0.1/", "ftp://127.0.0.1/", "file:///etc/passwd", "//127.0.0.1/", "https://",
		"https://:80/", "gopher://127.0.0.1", "http://127.0.0.1:pw/", "", "127.0.0.1",
	} {
		_, err := c.Do(t.Context(), Request{Method: "POST", URL: u})
		wantRefused(t, err)
		wantRefused(t, CheckURL(u))
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: the error shows it: %v", u, err)
		}
	}
}

// Field case D9: the name is looked up once for a call, so that it cannot mean something else by the time that it is dialled.
func TestD9ANameThatChangesItsMeaning(t *testing.T) {
	server, hits := receiver(t, nil)
	c := client(t, Config{
		Resolver: names{"rebind.test": {ips("192.0.2.1"), ips("127.0.0.1")}}, Allow: []string{"192.0.2.1"},
		Timeouts: Timeouts{Dial: 200 * time.Millisecond},
	})
	for range 2 {
		if _, err := c.Do(t.Context(), Request{Method: "POST", URL: "http://rebind.test:" + port(server)}); err == nil {
			t.Error("the call went through")
		}
	}
	if hits.Load() != 0 {
		t.Error("the call reached what the name was changed to")
	}
}

// A name with one address that is refused is refused whole: the other one is not dialled either.
func TestD9ANameWithOneAddressInside(t *testing.T) {
	server, hits := receiver(t, nil)
	for _, mixed := range [][]netip.Addr{ips("127.0.0.1", "10.0.0.7"), ips("10.0.0.7", "127.0.0.1")} {
		c := client(t, Config{Allow: []string{"127.0.0.1"}, Resolver: names{"mixed.test": {mixed}}})
		_, err := c.Do(t.Context(), Request{Method: "POST", URL: "http://mixed.test:" + port(server)})
		wantRefused(t, err)
	}
	if hits.Load() != 0 {
		t.Error("it was reached by its other address")
	}
}

// What the operator lists is reached: by network, by address, by name; and only then is http:// spoken.
func TestAllowed(t *testing.T) {
	server, _ := receiver(t, nil)
	resolver := names{"hooks.test": {ips("127.0.0.1")}, "other.test": {ips("127.0.0.1")}}
	for _, tt := range []struct {
		allow string
		host  string
		want  bool
	}{
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.1", "[::ffff:127.0.0.1]", true},
		{"127.0.0.2", "127.0.0.1", false},
		{"hooks.test", "hooks.test", true},
		{"Hooks.Test.", "HOOKS.test", true},
		{"hooks.test", "other.test", false},
		{"hooks.test", "127.0.0.1", false},
		{"::/0", "127.0.0.1", false},
	} {
		c := client(t, Config{Allow: []string{tt.allow}, Resolver: lower{resolver}})
		r, err := c.Do(t.Context(), Request{Method: "POST", URL: "http://" + tt.host + ":" + port(server)})
		if (err == nil) != tt.want || tt.want && r.Status != 200 {
			t.Errorf("%s with %s allowed: %d, %v", tt.host, tt.allow, r.Status, err)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "10.0.0", "http://x", "a b", "x:80", "*"} {
		if CheckAllow(bad) == nil {
			t.Errorf("%q may be allowed", bad)
		}
	}
}

// lower resolves names in any case.
type lower struct{ names }

func (l lower) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return l.names.LookupNetIP(ctx, network, strings.ToLower(host))
}

// Plain http:// is refused to a public address: nothing is dialled.
func TestPlainIsOnlyForWhatIsAllowed(t *testing.T) {
	g := guard{plain: true}
	wantRefused(t, g.check(netip.MustParseAddr("93.184.215.14"), false))
	if err := (guard{}).check(netip.MustParseAddr("93.184.215.14"), false); err != nil {
		t.Errorf("https to a public address: %v", err)
	}
}

// Field case D9: a redirect is a response like any other, and what was sent does not go where it points.
func TestD9RedirectsAreNotFollowed(t *testing.T) {
	inside, hits := receiver(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		public, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "a=b")
			if r.Header.Get("Cookie") != "" {
				t.Error("a cookie came back")
			}
			http.Redirect(w, r, inside.URL, status)
		})
		c := client(t, Config{Allow: []string{"public.test"}, Resolver: names{"public.test": {ips("127.0.0.1")}}})
		for range 2 {
			r, err := c.Do(t.Context(), Request{Method: "POST", URL: "http://public.test:" + port(public), Body: []byte("secret")})
			if err != nil || r.Status != status {
				t.Errorf("%d: got %d, %v", status, r.Status, err)
			}
		}
	}
	if hits.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// Field case D9: of a body of a gigabyte only the limit is read.
func TestD9BodiesAreBounded(t *testing.T) {
	var sent atomic.Int64
	server, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for range 1 << 10 {
			n, err := w.Write(block)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	c := client(t, Config{Allow: []string{"127.0.0.1"}})
	for _, limit := range []int64{0, 1000} {
		r, err := c.Do(t.Context(), Request{Method: "POST", URL: server.URL, Limit: limit})
		if err != nil || r.Status != 200 || int64(len(r.Body)) != limit || r.Cut != (limit > 0) {
			t.Errorf("limit %d: %d with %d bytes, %v, %v", limit, r.Status, len(r.Body), r.Cut, err)
		}
	}
	server.Close() // waits for its handlers
	if sent.Load() > 100<<20 {
		t.Errorf("%d bytes were read", sent.Load())
	}
}

func TestABodyWithinTheLimitIsWhole(t *testing.T) {
	server, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	c := client(t, Config{Allow: []string{"127.0.0.1"}})
	r, err := c.Do(t.Context(), Request{Method: "POST", URL: server.URL, Body: []byte("12345"), Limit: 5})
	if err != nil || string(r.Body) != "12345" || r.Cut {
		t.Errorf("got %q, %v, %v", r.Body, r.Cut, err)
	}
}

// A server that hangs, at whatever point, is left.
func TestTimeouts(t *testing.T) {
	release := make(chan struct{})
	quiet, _ := receiver(t, func(http.ResponseWriter, *http.Request) { <-release })
	slow, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-release
	})
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(release); _ = deaf.Close() })
	for name, tt := range map[string]struct {
		url   string
		limit Timeouts
	}{
		"no header":    {quiet.URL, Timeouts{Header: 50 * time.Millisecond}},
		"no whole":     {quiet.URL, Timeouts{Whole: 50 * time.Millisecond}},
		"no body":      {slow.URL, Timeouts{Whole: 50 * time.Millisecond}},
		"no handshake": {fmt.Sprintf("https://%s", deaf.Addr()), Timeouts{TLS: 50 * time.Millisecond}},
	} {
		begun := time.Now()
		_, err := client(t, Config{Allow: []string{"127.0.0.1"}, Timeouts: tt.limit}).Do(t.Context(), Request{Method: "POST", URL: tt.url, Limit: 10})
		if err == nil || time.Since(begun) > 4*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(begun))
		}
	}
}

// The proxy of the environment is not used: it would dial for us what the guard refuses.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	proxy, hits := receiver(t, nil)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	c := client(t, Config{Allow: []string{"hooks.test"}, Resolver: names{"hooks.test": {ips("127.0.0.1")}}})
	server, reached := receiver(t, nil)
	if _, err := c.Do(t.Context(), Request{Method: "POST", URL: "http://hooks.test:" + port(server)}); err != nil {
		t.Error(err)
	}
	if hits.Load() != 0 || reached.Load() != 1 {
		t.Errorf("the proxy was asked %d times, the server %d times", hits.Load(), reached.Load())
	}
}

// What a call would be refused for is said before there is one; a host that cannot be looked up may be there later.
func TestCheckBeforeTheCall(t *testing.T) {
	resolver := names{
		"inside.ex.org": {ips("10.0.0.7")}, "mixed.ex.org": {ips("93.184.215.14", "127.0.0.1")}, "good.ex.org": {ips("93.184.215.14")},
		"listed.ex.org": {ips("10.0.0.8")},
	}
	c := client(t, Config{Resolver: resolver, Allow: []string{"10.9.0.0/16", "listed.ex.org"}})
	for target, want := range map[string]string{
		"https://good.ex.org/responses": "", "https://listed.ex.org": "", "https://10.9.1.1:8443/": "", "https://93.184.215.14/": "",
		"https://nowhere.ex.org/": "", "http://listed.ex.org/": "",
		"https://inside.ex.org/": "10.0.0.7 is not a public address", "https://mixed.ex.org/": "127.0.0.1 is not a public address",
		"https://127.0.0.1/": "127.0.0.1 is not a public address", "https://[::1]/": "::1 is not a public address",
		"http://good.ex.org/": "http:// is only spoken", "https://u:p@good.ex.org/": "user or password", "ftp://good.ex.org/": "only https://",
	} {
		err := c.Check(t.Context(), target)
		var refused *RefusedError
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", target, err)
		case want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "-7": 0, "soon": 0, "99999999999": 1 << 62,
		"Sun, 01 Nov 2026 12:01:00 GMT": time.Minute, "Sun, 01 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := (Response{Header: http.Header{"Retry-After": {value}}}).RetryAfter(now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
