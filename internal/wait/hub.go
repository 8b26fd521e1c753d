// Package wait wakes whoever waits for a question. A waiter subscribes, then reads the question, then sleeps: whatever is
// settled after the read wakes it, so no wake-up is lost and nothing is polled.
package wait

import (
	"sync"

	"superpipeline.dev/question-bridge/bridge"
)

// Hub keeps the waiters of this process by question. It knows nothing of other processes. An idle waiter costs a channel
// and a map entry, and no goroutine. All methods may be called at once; the zero Hub is not ready, see [NewHub].
type Hub struct {
	mu      sync.Mutex
	waiters map[bridge.QuestionID]map[chan struct{}]struct{}
	closed  bool
}

var _ bridge.Notifier = (*Hub)(nil)

// NewHub makes a hub without waiters.
func NewHub() *Hub {
	return &Hub{waiters: make(map[bridge.QuestionID]map[chan struct{}]struct{})}
}

// Notify wakes everybody who waits for the question. It never blocks, and it remembers for a waiter that is not at its
// channel just now; several wake-ups may arrive as one.
func (h *Hub) Notify(id bridge.QuestionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.waiters[id] {
		select {
		case ch <- struct{}{}:
		default: // one is waiting to be read already
		}
	}
}

// Subscribe gives a channel that receives after each Notify from now on, and is closed when the hub is. cancel forgets
// the waiter and must be called; calling it again does nothing.
func (h *Hub) Subscribe(id bridge.QuestionID) (ch <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(c)
		return c, func() {}
	}
	if h.waiters[id] == nil {
		h.waiters[id] = make(map[chan struct{}]struct{})
	}
	h.waiters[id][c] = struct{}{}
	return c, func() { h.forget(id, c) }
}

func (h *Hub) forget(id bridge.QuestionID, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiters[id], c)
	if len(h.waiters[id]) == 0 {
		delete(h.waiters, id)
	}
}

// Waiting is how many waiters there are.
func (h *Hub) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, of := range h.waiters {
		n += len(of)
	}
	return n
}

// Close releases every waiter, and everyone who comes later at once: the server shuts down. Closing again does nothing.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, of := range h.waiters {
		for c := range of {
			close(c)
		}
	}
	clear(h.waiters)
}
