package app

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// bareWaiters is what a long poll needs at the least: a channel for each waiter.
type bareWaiters struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

func newBareWaiters() *bareWaiters { return &bareWaiters{waiting: map[string]chan struct{}{}} }

func (b *bareWaiters) wait(w http.ResponseWriter, r *http.Request) {
	told := make(chan struct{})
	b.mu.Lock()
	b.waiting[r.PathValue("id")] = told
	b.mu.Unlock()
	end := time.NewTimer(30 * time.Second)
	defer end.Stop()
	select {
	case <-told:
	case <-end.C:
	case <-r.Context().Done():
	}
	_, _ = w.Write([]byte(`{"state":"answered"}`))
}

func (b *bareWaiters) release(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.waiting[r.PathValue("id")])
	delete(b.waiting, r.PathValue("id"))
}

func (b *bareWaiters) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// serveBare serves long polls as a process of its own, and says where.
func serveBare() error {
	b := newBareWaiters()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /wait/{id}", b.wait)
	mux.HandleFunc("POST /release/{id}", b.release)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return (&http.Server{Handler: mux}).Serve(l)
}
