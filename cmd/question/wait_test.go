package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

// TestMain lets the test's own binary be the program, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("QUESTION_IS_THE_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// program gives a folder that holds the program under its own name.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "question")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUESTION_IS_THE_PROGRAM", "1")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would sleep a second at each exit
	return folder
}

func TestShellGate(t *testing.T) {
	path := program(t)
	const script = `if [ "$(question ask ROOM "Deploy?" --yes-no --wait)" = approve ]; then echo deployed; else echo held; fi
id=$(question ask ROOM "Again?" --yes-no) || exit 9
if question watch "$id" >/dev/null; then echo "somebody answered"; else echo "exit $?"; fi`
	tests := []struct {
		name string
		how  func(*schema.Question)
		want string
	}{
		{"approved", func(q *schema.Question) { choose(q, "approve") }, "deployed\nsomebody answered\n"},
		{"said no", func(q *schema.Question) { choose(q, "deny") }, "held\nsomebody answered\n"},
		{"expired", func(q *schema.Question) { end(q, schema.Expired) }, "held\nexit 3\n"},
		{"cancelled", func(q *schema.Question) { end(q, schema.Cancelled) }, "held\nexit 4\n"},
		{"typed the word", func(q *schema.Question) { answer(q, schema.Answer{Text: new("approve ")}) }, "held\nsomebody answered\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := newFakeAPI()
			api.serve(t, "127.0.0.1:0")
			go func() {
				for range 2 {
					api.change(<-api.waiting, tt.how)
				}
			}()
			cmd := exec.Command("sh", "-c", script)
			cmd.Env = append(os.Environ(), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || string(out) != tt.want {
				t.Errorf("%v: printed %q, want %q\n%s", err, out, tt.want, stderr.String())
			}
		})
	}
}

// watchedOutput is an output that tells of every write.
type watchedOutput struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{}
}

func newWatchedOutput() *watchedOutput { return &watchedOutput{written: make(chan struct{}, 10000)} }

func (o *watchedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written <- struct{}{}
	return o.text.Write(p)
}

func (o *watchedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// until waits until the output holds a text so many times.
func (o *watchedOutput) until(text string, times int) {
	for strings.Count(o.String(), text) < times {
		<-o.written
	}
}

// runWatched carries out a command line whose stderr is watched.
func runWatched(errs *watchedOutput, args ...string) result {
	var out bytes.Buffer
	code := run(context.Background(), args, strings.NewReader(""), &out, errs)
	return result{code, out.String(), errs.String()}
}

func TestWaitSurvivesARestart(t *testing.T) {
	api := newFakeAPI()
	server := api.serve(t, "127.0.0.1:0")
	errs := newWatchedOutput()
	go func() {
		<-api.waiting
		server.Listener.Close()
		server.CloseClientConnections()
		errs.until("reconnecting", 1)
		api.start(t, server.Listener.Addr().String())
		api.change(<-api.waiting, func(q *schema.Question) { choose(q, "approve") })
	}()
	got := runWatched(errs, "ask", "OPS", "Deploy?", "--wait")
	if got.code != 0 || got.out != "approve\n" || strings.Count(got.err, "question: lost the server, reconnecting: ") != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestWatchBeginsWhileTheServerIsAway(t *testing.T) {
	api := newFakeAPI()
	server := api.serve(t, "127.0.0.1:0")
	asked(t, api, nil)
	server.Close()
	onTerminal(t)
	errs := newWatchedOutput()
	go func() {
		errs.until("reconnecting", 1)
		api.start(t, server.Listener.Addr().String())
		api.change(<-api.waiting, func(q *schema.Question) { choose(q, "deny") })
	}()
	got := runWatched(errs, "watch", "q_1")
	if got.code != 0 || got.out != "deny\n" || !strings.Contains(got.err, eraseLine+"reconnecting (Ctrl-C") {
		t.Errorf("got %+v", got)
	}
}

// onTerminal makes stderr a terminal of 60 columns whose seconds are short. Standard output is none.
func onTerminal(t *testing.T) {
	was, tick := terminalWidth, liveTick
	t.Cleanup(func() { terminalWidth, liveTick = was, tick })
	liveTick = 10 * time.Millisecond
	terminalWidth = func(w io.Writer) int {
		if stdout := command.Underlying(w) != w; stdout {
			return 0
		}
		return 60
	}
}

func TestLiveLine(t *testing.T) {
	onTerminal(t)
	line := regexp.MustCompile(`^1m(30|2\d)s left, waiting for an answer to q_1 \(Ctrl-C`)
	for _, command := range [][]string{{"ask", "OPS", "Deploy?", "--wait"}, {"watch", "q_1"}} {
		api := newFakeAPI()
		api.lifetime = 90 * time.Second
		api.serve(t, "127.0.0.1:0")
		if command[0] == "watch" {
			asked(t, api, nil)
		}
		errs := newWatchedOutput()
		go func() {
			errs.until(eraseLine, 5)
			api.change("q_1", func(q *schema.Question) { end(q, schema.Expired) })
		}()
		got := runWatched(errs, command...)
		if got.out != "" || got.code != exitExpired {
			t.Errorf("%v: %+v", command, got)
		}
		drawn := strings.Split(got.err, eraseLine)
		for _, d := range drawn[1 : len(drawn)-1] {
			if !line.MatchString(d) || len([]rune(d)) > 59 || strings.Contains(d, "\n") {
				t.Errorf("%v: drew %q", command, d)
			}
		}
		if last := drawn[len(drawn)-1]; drawn[0] != "" || !strings.HasPrefix(last, "question: no answer") {
			t.Errorf("%v: begins with %q and ends with %q", command, drawn[0], last)
		}
	}
}

func TestLiveLineMakesWayForWhatIsSaid(t *testing.T) {
	onTerminal(t)
	api := newFakeAPI()
	api.onAsk = func(q *schema.Question) {
		q.Delivery = &schema.Delivery{State: "queued", Reason: new("nobody_in_room"), Detail: "Nobody has joined\u202e. Somebody will."}
	}
	api.serve(t, "127.0.0.1:0")
	go func() { api.change(<-api.waiting, func(q *schema.Question) { choose(q, "approve") }) }()
	got := call{args: []string{"ask", "OPS", "Deploy?", "--wait"}}.run(t)
	if got.code != 0 || got.out != "approve\n" || !strings.HasSuffix(got.err, eraseLine) {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.err, "question: nobody can see the question yet: Nobody has joined\\u{202E}. Somebody will; still waiting\n") {
		t.Errorf("stderr is %q", got.err)
	}

	var out bytes.Buffer
	line := newLiveLine(&out)
	line.start(func(time.Time) string { return "live" })
	line.say("lost %d", 1)
	line.end()
	line.end()
	drawn := out.String()
	if !strings.HasPrefix(drawn, eraseLine+"live") || !strings.HasSuffix(drawn, eraseLine) ||
		!strings.Contains(drawn, eraseLine+"question: lost 1\n"+eraseLine+"live") {
		t.Errorf("drew %q", drawn)
	}
}

func TestNoLiveLineOnAPipe(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	go func() { api.change(<-api.waiting, func(q *schema.Question) { choose(q, "approve") }) }()
	got := call{args: []string{"ask", "OPS", "Deploy?", "--wait"}}.run(t)
	if strings.ContainsAny(got.err, "\r\x1b") || got.err != announcement(got.err) {
		t.Errorf("stderr is %q", got.err)
	}
}

func TestTypedTextIsEscapedOnATerminal(t *testing.T) {
	onTerminal(t)
	terminalWidth = func(io.Writer) int { return 60 }
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	asked(t, api, func(q *schema.Question) { answer(q, schema.Answer{Text: new("\x1b]0;x\u202e")}) })
	got := call{args: []string{"watch", "q_1"}}.run(t)
	if got.out != "\\u{001B}]0;x\\u{202E}\n" {
		t.Errorf("stdout is %q", got.out)
	}
}

func TestInterrupted(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	path := program(t)
	for _, sig := range []os.Signal{os.Interrupt, os.Kill} {
		cmd := exec.Command(filepath.Join(path, "question"), "ask", "OPS", "Deploy?", "--wait")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		id := <-api.waiting
		cmd.Process.Signal(sig)
		var failed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &failed) || out.Len() > 0 {
			t.Fatalf("%v, printed %q", err, out.String())
		}
		if sig == os.Interrupt && (failed.ExitCode() != exitInterrupted || !strings.HasSuffix(errs.String(), "To go on waiting: question watch "+id+"\n")) {
			t.Errorf("exit code %d, stderr %q", failed.ExitCode(), errs.String())
		}
		if q, _ := api.document(id); q.State != schema.Pending {
			t.Errorf("the question is %s", q.State)
		}
	}

	// A context that ends does the same.
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-api.waiting; cancel() }()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"watch", "q_1"}, strings.NewReader(""), &out, &errs)
	if code != exitInterrupted || out.Len() > 0 || !strings.Contains(errs.String(), "question watch q_1") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}

// An interrupted wait withdraws its question where the command line says so, and never pretends that it did.
func TestCancelOnInterrupt(t *testing.T) {
	api := newFakeAPI()
	api.serve(t, "127.0.0.1:0")
	path := program(t)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(filepath.Join(path, "question"), "ask", "OPS", "Deploy?", "--wait", "--cancel-on-interrupt")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		id := <-api.waiting
		cmd.Process.Signal(sig)
		var failed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &failed) || failed.ExitCode() != exitInterrupted || out.Len() > 0 || !strings.HasSuffix(errs.String(), "interrupted; the question was withdrawn\n") {
			t.Errorf("%v: %v, printed %q and %q", sig, err, out.String(), errs.String())
		}
		if q, _ := api.document(id); q.State != schema.Cancelled {
			t.Errorf("%v: the question is %s", sig, q.State)
		}
	}

	for name, c := range map[string]struct {
		meanwhile func(*httptest.Server, string)
		says      string
	}{
		"somebody was faster": {func(_ *httptest.Server, id string) { api.change(id, func(q *schema.Question) { choose(q, "approve") }) }, "interrupted; question q_%s was answered already: label of approve, by Federica"},
		"it expired first": {func(_ *httptest.Server, id string) {
			api.change(id, func(q *schema.Question) { end(q, schema.Expired) })
		}, "interrupted; no answer: question q_%s expired"},
		"the server is away": {func(s *httptest.Server, _ string) { s.Listener.Close(); s.CloseClientConnections() }, "interrupted; the question may still be pending, since it could not be withdrawn: "},
	} {
		// The answer of a wait must not come before the interrupt: this server holds it back.
		routes, waiting := api.routes(), make(chan string, 10)
		holding := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/wait") {
				waiting <- r.URL.Path
				<-r.Context().Done()
				return
			}
			routes.ServeHTTP(w, r)
		}))
		id := asked(t, api, nil)
		ctx, interrupt := context.WithCancel(t.Context())
		go func() { <-waiting; c.meanwhile(holding, id); interrupt() }()
		var out, errs bytes.Buffer
		code := run(ctx, []string{"watch", id, "--cancel-on-interrupt", "--server", holding.URL}, strings.NewReader(""), &out, &errs)
		if says := strings.Replace(c.says, "q_%s", id, 1); code != exitInterrupted || out.Len() > 0 || !strings.Contains(errs.String(), says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", name, code, out.String(), errs.String())
		}
		holding.CloseClientConnections()
		holding.Close()
	}
}

func TestShellWord(t *testing.T) {
	for id, want := range map[string]string{"q_8t2k-.:Z": "q_8t2k-.:Z", "$(rm x)": "'$(rm x)'", "a'b": `'a'\''b'`, "": ""} {
		if got := shellWord(id); got != want {
			t.Errorf("%q: got %s, want %s", id, got, want)
		}
	}
}
