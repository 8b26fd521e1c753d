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
	server := &http.Server{Handler: reverse, ReadHeaderTimeout: time.Minute}
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
