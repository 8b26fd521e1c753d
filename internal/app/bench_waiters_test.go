package app

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/measure"
)

// idleWaiters is how many wait while nothing happens.
const idleWaiters = 5000

// releases is how many of them are told something in the end, one after the other.
const releases = 200

// BenchmarkWaiters measures what a waiter costs in memory, and how soon one of them hears that its question was
// cancelled. The server is a process of its own: the whole bridge, and net/http with a channel for each waiter.
func BenchmarkWaiters(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.db")
	fill(b, path, 4*idleWaiters) // some are cancelled in each slice
	compareWaiters(b, func() *crowd { return newCrowd(b, path) }, func() *crowd { return newBareCrowd(b) }).
		report(b, fmt.Sprintf("among %d idle waiters", idleWaiters), "a bare net/http long poll", 2)
}

type waiterCosts struct {
	measure.Result
	ours, limit []time.Duration
}

func compareWaiters(b *testing.B, ours, limit func() *crowd) *waiterCosts {
	c := &waiterCosts{}
	memory := func(start func() *crowd, all *[]time.Duration) func() float64 {
		return func() float64 {
			w := start()
			defer w.end()
			bytes := w.gather()
			*all = append(*all, w.wake()...)
			return bytes
		}
	}
	c.Result = measure.Compare(measure.AtLeast(3, b.Loop), memory(ours, &c.ours), memory(limit, &c.limit))
	return c
}

func (c *waiterCosts) report(b *testing.B, what, limit string, goal float64) {
	c.Result.Report(b, "memory of one "+what+"; limit: "+limit, measure.Goal{AtMost: goal}, measure.KiB)
	for _, share := range []float64{0.5, 0.99} {
		ours, bare := measure.Quantile(c.ours, share), measure.Quantile(c.limit, share)
		measure.Row{
			What: fmt.Sprintf("release of one %s, p%.0f", what, 100*share), Ours: measure.Duration(ours), Limit: measure.Duration(bare),
			Ratio: fmt.Sprintf("%.1f", ours.Seconds()/bare.Seconds()), Met: true,
		}.Report(b)
	}
}

// crowd is a server in a process of its own, and those who wait there.
type crowd struct {
	tb      testing.TB
	process *exec.Cmd
	out     *bufio.Reader // what the process says
	address string
	token   string
	ids     []string
	wait    string // the path, with an id in it
	release string
	look    string

	waiting []net.Conn
	told    []chan time.Time
}

// newCrowd starts the bridge on a filled database.
func newCrowd(tb testing.TB, path string) *crowd {
	tb.Helper()
	h := newFastHomeserver(tb)
	cfg := benchConfig(path, h.url)
	api, appservice := freeAddress(tb), freeAddress(tb)
	cfg.API.Listen, cfg.Appservice.Listen, cfg.Appservice.URL = api, appservice, "http://"+appservice
	dir := tb.TempDir()
	cfg.Appservice.Registration = filepath.Join(dir, "registration.yaml")
	c := &crowd{tb: tb, address: api, wait: "GET /api/agent/questions/%s/wait?timeout=30", release: "/api/agent/questions/%s/cancel", look: "/api/agent/questions/%s"}
	reg := cfg.NewRegistration()
	c.ok(reg.Save(cfg.Appservice.Registration, false))
	c.ok(cfg.Save(filepath.Join(dir, "config.yaml"), "A bridge that is measured."))
	c.token, c.ids = prepare(tb, cfg)
	c.start(envServe+"="+filepath.Join(dir, "config.yaml"), "ready")
	h.serve("http://"+appservice, reg)
	return c
}

// prepare makes a token and finds pending questions.
func prepare(tb testing.TB, cfg config.Config) (token string, ids []string) {
	tb.Helper()
	tokens, err := OpenTokens(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	defer tokens.Close()
	if token, _, err = tokens.Add(tb.Context(), Grant{Agent: "ci", Rooms: []string{"*"}}); err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("sqlite3", cfg.Database.Path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT id FROM questions WHERE state = 'pending' LIMIT ?`, idleWaiters)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, id)
	}
	return token, ids
}

// newBareCrowd starts the bare long poll.
func newBareCrowd(b *testing.B) *crowd {
	b.Helper()
	c := &crowd{tb: b, wait: "GET /wait/%s", release: "/release/%s", look: "/look/%s"}
	for i := range idleWaiters {
		c.ids = append(c.ids, fmt.Sprint(i))
	}
	c.address = c.start(envBare+"=yes", "")
	return c
}

// start runs this program as something else and gives its first line, which begins as it should.
func (c *crowd) start(env, first string) string {
	c.tb.Helper()
	c.process = exec.Command(os.Args[0])
	c.process.Env = append(os.Environ(), env)
	out, err := c.process.StdoutPipe()
	c.ok(err)
	c.ok(c.process.Start())
	c.out = bufio.NewReader(out)
	line, err := c.out.ReadString('\n')
	c.ok(err)
	if !strings.HasPrefix(line, first) {
		c.tb.Fatalf("the server says %q", line)
	}
	return strings.TrimSpace(line)
}

func (c *crowd) end() {
	for _, conn := range c.waiting {
		_ = conn.Close()
	}
	_ = c.process.Process.Kill()
	_ = c.process.Wait()
}

func (c *crowd) ok(err error) {
	c.tb.Helper()
	if err != nil {
		c.tb.Fatal(err)
	}
}

// warm makes the server do what it does once: connect to its database and fill the caches of that.
func (c *crowd) warm() {
	client := newClient(16)
	defer client.CloseIdleConnections()
	var warming sync.WaitGroup
	for some := range slices.Chunk(c.ids, len(c.ids)/16+1) {
		warming.Go(func() {
			for _, id := range some {
				req, err := http.NewRequest(http.MethodGet, "http://"+c.address+fmt.Sprintf(c.look, id), nil)
				c.ok(err)
				req.Header.Set("Authorization", "Bearer "+c.token)
				resp, err := client.Do(req)
				c.ok(err)
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	warming.Wait()
}

// gather lets everybody wait and gives the memory of each.
func (c *crowd) gather() float64 {
	c.warm()
	before := c.resident()
	for _, id := range c.ids {
		conn, err := net.Dial("tcp", c.address)
		c.ok(err)
		c.waiting = append(c.waiting, conn)
		_, err = fmt.Fprintf(conn, c.wait+" HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", id, c.token)
		c.ok(err)
		told := make(chan time.Time, 1)
		c.told = append(c.told, told)
		go func() {
			if _, err := conn.Read(make([]byte, 4096)); err == nil {
				told <- time.Now()
			}
			close(told)
		}()
	}
	time.Sleep(3 * time.Second) // from here on there is nothing to wait for: they are idle
	return (c.resident() - before) / float64(len(c.ids))
}

// wake tells some of those who wait, and gives how long that took, from the call that does it.
func (c *crowd) wake() (took []time.Duration) {
	client := newClient(1)
	for i := range releases {
		n := (i*37 + 11) % len(c.ids)
		req, err := http.NewRequest(http.MethodPost, "http://"+c.address+fmt.Sprintf(c.release, c.ids[n]), nil)
		c.ok(err)
		req.Header.Set("Authorization", "Bearer "+c.token)
		began := time.Now()
		resp, err := client.Do(req)
		c.ok(err)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		told, ok := <-c.told[n]
		if !ok || resp.StatusCode != http.StatusOK {
			c.tb.Fatalf("%s was answered with %d", req.URL, resp.StatusCode)
		}
		took = append(took, told.Sub(began))
	}
	return took
}

// resident is the memory of the process in bytes.
func (c *crowd) resident() float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Process.Pid))
	c.ok(err)
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib * 1024
		}
	}
	c.tb.Fatal("the system does not say how much memory the server has")
	return 0
}
