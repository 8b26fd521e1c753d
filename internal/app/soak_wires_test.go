package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// place is where something passes between the processes.
type place int

const (
	requestToServer  place = iota // a request of the bridge, while the homeserver has it
	responseOfServer              // what the homeserver answered, before the bridge hears of it
	eventsToBridge                // a transaction, before the bridge has it
	eventsTaken                   // the bridge has taken a transaction, and the homeserver has not heard so
	callToBridge                  // a program's request, before the bridge has it
	replyOfBridge                 // what the bridge replied, before the program hears of it
	places
)

// trap kills at the n-th passing of a place.
type trap struct {
	mu     sync.Mutex
	at     place
	left   int // 0: not set
	kill   func()
	sprung chan struct{}
}

// set makes the trap ready; the channel is closed after it has killed.
func (t *trap) set(at place, n int, kill func()) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.left, t.kill, t.sprung = at, n, kill, make(chan struct{})
	return t.sprung
}

// lift takes the trap away; ok is false when it has sprung, or is just about to.
func (t *trap) lift() (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ok = t.left > 0
	t.left = 0
	return ok
}

// pass is told of everything that passes. It returns after the killing, with true, if this passing was the one.
func (t *trap) pass(p place) bool {
	t.mu.Lock()
	if t.left == 0 || t.at != p {
		t.mu.Unlock()
		return false
	}
	t.left--
	now, kill, sprung := t.left == 0, t.kill, t.sprung
	t.mu.Unlock()
	if now {
		kill()
		close(sprung)
	}
	return now
}

// listen serves one wire and gives its address.
func (s *soak) listen(h http.HandlerFunc) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.ok(err)
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// response is what came back over a wire.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (r response) write(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}

// cut breaks the connection off, as a process that dies does.
func cut() { panic(http.ErrAbortHandler) }

var wireClient = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 32},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func received(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut()
	}
	return body
}

func forward(ctx context.Context, target string, r *http.Request, body []byte) (response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header = r.Header.Clone()
	resp, err := wireClient.Do(req)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header, got}, err
}

// toServer is the wire from the bridge to the homeserver. What was sent arrives, also when its sender has died.
func (s *soak) toServer(w http.ResponseWriter, r *http.Request) {
	body, ctx := received(r), r.Context()
	if r.Method != http.MethodGet {
		ctx = context.WithoutCancel(ctx)
	}
	type result struct {
		response
		err error
	}
	done := make(chan result, 1)
	go func() {
		got, err := forward(ctx, s.server.URL, r, body)
		done <- result{got, err}
	}()
	counts := r.Method != http.MethodGet
	died := counts && s.trap.pass(requestToServer)
	got := <-done
	if died || got.err != nil || counts && s.trap.pass(responseOfServer) {
		cut()
	}
	got.write(w)
}

// toBridge is the wire from the homeserver to the bridge. While the bridge is down it tries again for the homeserver,
// which would back off for long; now and then it lets the homeserver fail all the same, repeats a transaction that was
// taken, or loses the word that it was.
func (s *soak) toBridge(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, ctx := received(r), r.Context()
		s.trap.pass(eventsToBridge)
		again := time.NewTicker(25 * time.Millisecond)
		defer again.Stop()
		for {
			got, err := forward(ctx, target, r, body)
			switch {
			case err == nil:
				if got.status == http.StatusOK {
					s.acked.add(body)
					if s.trap.pass(eventsTaken) || s.chance.of(2) {
						cut()
					}
					if s.chance.of(5) {
						_, _ = forward(ctx, target, r, body)
					}
				}
				got.write(w)
				return
			case s.chance.of(1):
				cut()
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				cut()
			}
		}
	}
}

// toAPI is the wire from the asking programs to the bridge.
func (s *soak) toAPI(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := received(r)
		if s.trap.pass(callToBridge) {
			cut()
		}
		got, err := forward(r.Context(), target, r, body)
		if err != nil || s.trap.pass(replyOfBridge) {
			cut()
		}
		got.write(w)
	}
}

// ackedEvents are the messages and reactions that the bridge has answered 200 for, by their room.
type ackedEvents struct {
	mu  sync.Mutex
	ids map[string][]string
}

func (a *ackedEvents) add(transaction []byte) {
	var t struct {
		Events []struct {
			ID   string `json:"event_id"`
			Room string `json:"room_id"`
			Type string `json:"type"`
		} `json:"events"`
	}
	if json.Unmarshal(transaction, &t) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = map[string][]string{}
	}
	for _, e := range t.Events {
		if e.Type == "m.room.message" || e.Type == "m.room.encrypted" || e.Type == "m.reaction" {
			a.ids[e.Room] = append(a.ids[e.Room], e.ID)
		}
	}
}

func (a *ackedEvents) of(room string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.ids[room]...)
}
