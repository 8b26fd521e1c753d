package app

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
)

// TestD2 has 300 clients wait and one read a list very slowly, while others write: SQLite's log stays small, for neither
// a wait nor a list that is being sent holds anything of the database.
func TestD2(t *testing.T) {
	s := newStage(t)
	s.start("")
	waiting, _ := s.ask(threeWays)
	address := strings.TrimPrefix(s.api, "http://")
	open := func(path string) net.Conn {
		c, err := net.Dial("tcp", address)
		s.ok(err)
		t.Cleanup(func() { _ = c.Close() })
		s.ok(c.(*net.TCPConn).SetReadBuffer(2048))
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, s.token)
		s.ok(err)
		return c
	}
	ask := coreAsk()
	ask.Context, ask.Data = strings.Repeat("c", 200), map[string]any{"padding": strings.Repeat("x", 6000)}
	for range 50 { // something to list
		_, err := s.client().Ask(s.ctx, "OPS", ask)
		s.ok(err)
	}
	for range 300 {
		open("/api/agent/questions/" + waiting + "/wait?timeout=30")
	}
	slow := open("/api/agent/questions?limit=50")
	reader := bufio.NewReaderSize(slow, 16)
	first, err := reader.ReadString('\n')
	s.ok(err)
	if !strings.Contains(first, " 200 ") {
		t.Fatalf("the list begins with %q", first)
	}

	log := filepath.Join(filepath.Dir(s.config), "bridge.db-wal")
	var largest int64
	end := time.Now().Add(6 * time.Second)
	var writing sync.WaitGroup
	var mu sync.Mutex
	written := 0
	for range 4 {
		writing.Go(func() {
			c, err := client.New(client.Config{Server: s.api, Token: s.token})
			if err != nil {
				t.Error(err)
				return
			}
			for time.Now().Before(end) {
				q, err := c.Ask(s.ctx, "OPS", ask)
				if err == nil {
					_, err = c.Cancel(s.ctx, q.ID)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				_, _ = reader.ReadByte() // the list goes on, a byte at a time
				written++
				if info, err := os.Stat(log); err == nil {
					largest = max(largest, info.Size())
				}
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	t.Logf("%d questions asked and cancelled; the log grew to %d kB", written, largest/1000)
	if largest == 0 || largest > 12e6 {
		t.Errorf("the log grew to %d bytes", largest)
	}
}
