package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
)

// openWait waits for a question on a connection of its own, and sends what came of it.
func (s *site) openWait(id string, ended chan<- error) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.api+"/api/agent/questions/"+id+"/wait?timeout=30", nil)
	s.ok(err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	go func() {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			ended <- err
			return
		}
		defer resp.Body.Close()
		var q struct{ State string }
		if err := json.NewDecoder(resp.Body).Decode(&q); err != nil || resp.StatusCode != http.StatusOK || q.State != "pending" {
			err = errors.Join(err, fmt.Errorf("the wait ended with %s, %q", resp.Status, q.State))
			ended <- err
			return
		}
		ended <- nil
	}()
}

// post asks on a connection of its own.
func (s *site) post(prompt string) (id string, err error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.api+"/api/agent/rooms/OPS/questions", strings.NewReader(`{"prompt": "`+prompt+`"}`))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var q struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&q); err != nil || resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("%s: %w", resp.Status, err)
	}
	return q.ID, nil
}

// halfAsk is an ask whose handler runs and waits for the rest of its body.
type halfAsk struct {
	conn net.Conn
	read *bufio.Reader
	rest string
}

func (s *site) beginAsk(prompt string) *halfAsk {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
	s.ok(err)
	s.t.Cleanup(func() { _ = conn.Close() })
	body := `{"prompt": "` + prompt + `"}`
	_, err = fmt.Fprintf(conn, "POST /api/agent/rooms/OPS/questions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", s.token, len(body))
	s.ok(err)
	a := &halfAsk{conn: conn, read: bufio.NewReader(conn), rest: body}
	line, err := a.read.ReadString('\n')
	s.ok(err)
	if !strings.Contains(line, " 100 ") {
		s.t.Fatalf("the handler does not read: %s", line)
	}
	_, err = a.read.ReadString('\n')
	s.ok(err)
	return a
}

// finish sends the rest of the ask, and gives the id of its question.
func (a *halfAsk) finish(t *testing.T) (id string) {
	t.Helper()
	if _, err := io.WriteString(a.conn, a.rest); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(a.read, nil)
	if err != nil {
		t.Fatalf("the request under way was cut off: %v", err)
	}
	defer resp.Body.Close()
	var q struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&q); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status, err)
	}
	return q.ID
}

// refuses waits until nobody is let in any more.
func (s *site) refuses() {
	s.t.Helper()
	for s.ctx.Err() == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.api, "http://"))
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	s.t.Fatal("it goes on to listen")
}

// Asked to end under load, the bridge answers every wait at once with the pending question, lets nobody new in, finishes
// what is under way, and ends well; what it owes is done after the next start.
func TestStopUnderLoad(t *testing.T) {
	at := freeAddress(t)
	s := newSite(t, "metrics: {listen: \""+at+"\"}\nlimits: {agent: {burst: 1000}, room: {burst: 1000, pending: 1000}}")
	p := s.serve()
	q, _ := s.ask("Deploy?")
	const waits = 50
	waited := make(chan error, waits)
	for range waits {
		s.openWait(q.ID, waited)
	}
	s.waitForSeries(at, "question_waits", waits)

	var asking sync.WaitGroup
	var mu sync.Mutex
	asked := map[string]string{} // prompts by id
	var notLetIn []string
	load := make(chan struct{}, 100_000)
	for i := range 8 {
		asking.Go(func() {
			for n := 0; ; n++ {
				prompt := fmt.Sprintf("%d asks %d", i, n)
				id, err := s.post(prompt)
				mu.Lock()
				switch {
				case err == nil:
					asked[id] = prompt
					load <- struct{}{}
				case errors.Is(err, syscall.ECONNREFUSED):
				case errors.Is(err, syscall.ECONNRESET): // at the door, when it closed: see below
					notLetIn = append(notLetIn, prompt)
				default:
					t.Errorf("an ask ended with %v", err)
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	for range 30 {
		<-load
	}
	half := s.beginAsk("Is it under way?")
	p.signal(syscall.SIGTERM)
	for range waits {
		if err := <-waited; err != nil {
			t.Error(err)
		}
	}
	s.refuses()
	asking.Wait()
	select {
	case <-p.ended:
		t.Fatal("it did not wait for what is under way")
	default:
	}
	asked[half.finish(t)] = "Is it under way?"
	if code := p.exit(); code != exitOK {
		t.Errorf("it ended with %d", code)
	}
	p.waitFor(`"Ended"`)
	if info, err := os.Stat(s.file("question-bridge.db-wal")); err == nil && info.Size() > 0 {
		t.Errorf("%d bytes are left in the log", info.Size())
	}

	again := s.serve()
	t.Logf("%d questions were asked, %d were not let in", len(asked), len(notLetIn))
	for id, prompt := range asked {
		if q, err := s.client().Fetch(s.ctx, id); err != nil || q.Prompt != prompt {
			t.Errorf("a question that was accepted is lost: %v", err)
		}
	}
	for q, err := range s.client().List(s.ctx, client.ListOptions{}) {
		s.ok(err)
		if slices.Contains(notLetIn, q.Prompt) {
			t.Errorf("%q was asked, and its asker was cut off", q.Prompt)
		}
	}
	s.waitForSeries(at, "question_outbox_effects", 0)
	again.stop()
}

// Asked a second time, it ends at once, whatever is under way.
func TestStopAtOnce(t *testing.T) {
	s := newSite(t, "")
	p := s.serve()
	s.beginAsk("Is it under way?")
	p.signal(syscall.SIGTERM)
	p.waitFor("Asked to end")
	for ended := false; !ended; { // the first one may be heard a moment later
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		select {
		case <-p.ended:
			ended = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", p.cmd.ProcessState)
	}
	s.serve().stop() // nothing is broken
}

// What does not come to its end is cut off: the stop is bounded.
func TestStopIsBounded(t *testing.T) {
	s := newSite(t, "")
	p := s.serve()
	half := s.beginAsk("Is it under way?")
	p.stop()
	p.waitFor("Requests were cut off")
	if _, err := half.read.ReadByte(); err == nil {
		t.Error("there is an answer")
	}
}
