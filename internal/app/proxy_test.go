package app

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// proxy stands between the bridge and the homeserver. After a send that it is told about it cuts the connection, so that
// the bridge never learns what became of it.
type proxy struct {
	url string
	mu  sync.Mutex
	cut func(r *http.Request) bool

	held map[string]chan struct{} // by path: requests that wait until it is closed
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	reverse := httputil.NewSingleHostReverseProxy(to)
	reverse.ErrorLog = log.New(io.Discard, "", 0) // a bridge that ends cuts what it asked for
	reverse.ModifyResponse = func(r *http.Response) error {
		p.waitFor(r.Request)
		p.mu.Lock()
		cut := p.cut
		p.mu.Unlock()
		if cut != nil && r.StatusCode == http.StatusOK && cut(r.Request) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.waitFor(r)
		reverse.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	p.url = "http://" + l.Addr().String()
	return p
}

func (p *proxy) cutAfter(cut func(r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

// hold keeps the requests for a path back, and the answers to those under way, until release is called.
func (p *proxy) hold(path string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.held = map[string]chan struct{}{path: held}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held = nil
		close(held)
	}
}

func (p *proxy) waitFor(r *http.Request) {
	p.mu.Lock()
	held := p.held[r.URL.Path]
	p.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
}
