package app

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/measure"
)

var soakWaits = flag.Duration("soak.waits", 8*time.Second, "how long TestD2OnTheServer keeps everybody busy; from a minute on it also waits for the bridge to tidy up by itself")

// The load of field case D2.
const (
	d2Waits  = 300
	d2Listed = 10_000
	d2Writes = 50 // each second
	d2Log    = 40_000_000
)

// TestD2OnTheServer (field case D2): 300 clients wait and renew their waits, one reads a list of 10,000 questions at a
// kilobyte a second, and others write fifty times a second. SQLite's log stays small, for neither a wait nor a list that
// is being sent holds anything of the database; it is cut to nothing when all is quiet, and no goroutine is left behind.
func TestD2OnTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bridge.db")
	fill(t, path, d2Listed)
	l := &load{crowd: newCrowd(t, path), log: path + "-wal"}
	t.Cleanup(l.end)
	before := l.goroutines()
	busy := l.run(*soakWaits)
	if l.largest == 0 || l.largest > d2Log {
		t.Errorf("the log grew to %d bytes", l.largest)
	}
	idle := l.settle(before)
	t.Logf("%v: %d waits served, %d written, p50 %v, p99 %v; %d kB of the list read in %d attempts; the log grew to %d kB; goroutines %d before, %d busy, %d after",
		*soakWaits, l.served, len(l.took), measure.Median(l.took), measure.Quantile(l.took, 0.99), l.read/1000, l.attempts, l.largest/1000, before, busy, idle)
	if busy < before+d2Waits {
		t.Errorf("%d goroutines at work: nobody waited", busy)
	}
}

// load is what everybody does to a bridge, and what came of it.
type load struct {
	*crowd
	log string // the file

	mu       sync.Mutex
	served   int             // waits
	took     []time.Duration // of each write
	read     int             // bytes of the list
	attempts int             // to read it
	largest  int64           // the log was
}

// goroutines asks the bridge how many goroutines it has.
func (l *load) goroutines() (n int) {
	l.tb.Helper()
	l.ok(l.process.Process.Signal(syscall.SIGUSR1))
	line, err := l.out.ReadString('\n')
	l.ok(err)
	_, err = fmt.Sscanf(line, "goroutines %d", &n)
	l.ok(err)
	return n
}

// tidy asks the bridge to do its chores now.
func (l *load) tidy() { l.ok(l.process.Process.Signal(syscall.SIGUSR2)) }

// report says how many goroutines a bridge under test has, and does its chores, when it gets the signal for that.
func (b *parts) report(ctx context.Context) {
	asked := make(chan os.Signal, 10)
	signal.Notify(asked, syscall.SIGUSR1, syscall.SIGUSR2)
	for {
		select {
		case <-ctx.Done():
			return
		case what := <-asked:
			if what == syscall.SIGUSR1 {
				fmt.Println("goroutines", runtime.NumGoroutine())
				continue
			}
		}
		for _, chore := range b.sweeper.Chores {
			if err := chore.Do(ctx, now()); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
}

// run keeps everybody busy for a while, and gives how many goroutines the bridge has towards the end.
func (l *load) run(long time.Duration) (busy int) {
	l.tb.Helper()
	end := time.Now().Add(long)
	working, stop := context.WithDeadline(l.tb.Context(), end)
	defer stop()
	var all sync.WaitGroup
	for i := range d2Waits {
		all.Go(func() { l.keepWaiting(working, l.ids[i]) })
	}
	writes := make(chan struct{})
	for range 8 {
		all.Go(func() { l.write(working, writes) })
	}
	all.Go(func() { l.readSlowly(working) })
	pace := time.NewTicker(time.Second / d2Writes)
	defer pace.Stop()
	for working.Err() == nil {
		select {
		case <-pace.C:
			l.look()
			select {
			case writes <- struct{}{}:
			case <-working.Done():
			}
		case <-working.Done():
		}
		if busy == 0 && time.Until(end) < long/4 {
			busy = l.goroutines()
		}
	}
	all.Wait()
	return busy
}

// look notes how large the log is.
func (l *load) look() {
	if info, err := os.Stat(l.log); err == nil {
		l.largest = max(l.largest, info.Size())
	}
}

// keepWaiting waits for one question, which nobody settles, again and again.
func (l *load) keepWaiting(ctx context.Context, id string) {
	one := newClient(1)
	defer one.CloseIdleConnections()
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.address+"/api/agent/questions/"+id+"/wait?timeout=60", nil)
		if err != nil {
			l.tb.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+l.token)
		resp, err := one.Do(req)
		if err != nil {
			if ctx.Err() == nil {
				l.tb.Errorf("a wait: %v", err)
			}
			return
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"state":"pending"`) {
			l.tb.Errorf("a wait: %d %s, %v", resp.StatusCode, body, err)
			return
		}
		l.mu.Lock()
		l.served++
		l.mu.Unlock()
	}
}

// write asks, and cancels what it asked, each time it is told to.
func (l *load) write(ctx context.Context, told <-chan struct{}) {
	c, err := client.New(client.Config{Server: "http://" + l.address, Token: l.token})
	if err != nil {
		l.tb.Error(err)
		return
	}
	ask, asked := coreAsk(), ""
	ask.Data = map[string]any{"padding": strings.Repeat("x", 6000)}
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		}
		began := time.Now()
		if asked == "" {
			var q *client.Question
			if q, err = c.Ask(l.tb.Context(), string(filledRoom(0)), ask); err == nil {
				asked = q.ID
			}
		} else {
			_, err = c.Cancel(l.tb.Context(), asked)
			asked = ""
		}
		if err != nil {
			l.tb.Errorf("a write: %v", err)
			return
		}
		l.mu.Lock()
		l.took = append(l.took, time.Since(began))
		l.mu.Unlock()
	}
}

// readSlowly reads a long list at a kilobyte a second, and begins again where the server has had enough of that.
func (l *load) readSlowly(ctx context.Context) {
	pace := time.NewTicker(time.Second)
	defer pace.Stop()
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", l.address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(2048)
		}
		if err == nil {
			_, err = fmt.Fprintf(conn, "GET /api/agent/questions?limit=200 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", l.token)
		}
		if err != nil {
			l.tb.Errorf("a slow client: %v", err)
			return
		}
		l.attempts++
		some, first := make([]byte, 1024), true
		for ctx.Err() == nil && err == nil {
			<-pace.C
			var n int
			n, err = io.ReadFull(conn, some)
			if first && !strings.HasPrefix(string(some[:n]), "HTTP/1.1 200 ") {
				l.tb.Errorf("a list begins with %q, %v", some[:n], err)
			}
			first = false
			l.read += n
		}
		_ = conn.Close()
	}
}

// settle waits until the bridge has as many goroutines as before, and its log is empty, and gives how many those are.
func (l *load) settle(before int) (idle int) {
	l.tb.Helper()
	l.eventually("the goroutines are gone", func() bool {
		idle = l.goroutines()
		return idle <= before+20 // connections to the homeserver are kept for a while
	})
	l.eventually("the log is cut to nothing", func() bool {
		info, err := os.Stat(l.log)
		if *soakWaits < time.Minute {
			l.tidy()
		}
		return err == nil && info.Size() == 0
	})
	return idle
}

// eventually waits for what the bridge tells nobody; it tidies up every five minutes.
func (l *load) eventually(what string, true func() bool) {
	l.tb.Helper()
	long := 30 * time.Second
	if *soakWaits >= time.Minute {
		long = 7 * time.Minute
	}
	for end := time.Now().Add(long); !true(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			l.tb.Fatalf("it never came to this: %s", what)
		}
	}
}
