package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
)

func open(t *testing.T, path string) *Log {
	t.Helper()
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// record records that a question was asked, and gives what was logged of it.
func record(l *Log, id bridge.QuestionID) (logged string) {
	var said bytes.Buffer
	log := zerolog.New(&said)
	l.Record(log.WithContext(context.Background()), bridge.AuditRecord{At: time.Now(), Action: bridge.AuditAsked, Question: id})
	return said.String()
}

// ids are the questions in a file, each in a line that is JSON of its own.
func ids(t *testing.T, path string) (found []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(raw)) {
		var l struct {
			Question string `json:"question_id"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		found = append(found, l.Question)
	}
	return found
}

func want(t *testing.T, path string, questions ...string) {
	t.Helper()
	if got := ids(t, path); !slices.Equal(got, questions) {
		t.Errorf("%s has %q, want %q", filepath.Base(path), got, questions)
	}
}

// A line has these fields, in this order, and those that are empty are left out.
func TestLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	l.Record(t.Context(), bridge.AuditRecord{
		At: time.Date(2026, 11, 1, 13, 0, 0, 5e6, time.FixedZone("CET", 3600)), Action: bridge.AuditAnswered, Question: "q_1", Conversation: "!ops:example.org",
		Agent: "ci", User: "@dana:example.org", Via: bridge.ViaReply, Code: "c", Chosen: []bridge.AuditChoice{{Item: 1, Option: 2, Value: "prod"}, {Item: 2, Typed: true}},
		Meaning: bridge.Choose, Event: "$e1", Origin: bridge.Origin{Request: "R", Token: "tok_1"},
	})
	l.Record(t.Context(), bridge.AuditRecord{At: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), Action: bridge.AuditExpired})
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const whole = `{"time":"2026-11-01T12:00:00.005Z","action":"answered","question_id":"q_1","room_id":"!ops:example.org","agent":"ci",` +
		`"user":"@dana:example.org","via":"reply","code":"c","chosen":[{"item":1,"option":2,"value":"prod"},{"item":2,"typed":true}],` +
		`"meaning":"choose","event_id":"$e1","request_id":"R","token_id":"tok_1"}` + "\n" + `{"time":"2026-11-01T12:00:00.000Z","action":"expired"}` + "\n"
	if string(raw) != whole {
		t.Errorf("got\n%s\nwant\n%s", raw, whole)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// The log goes on in a new file when its own is moved away or removed, at the beginning of one that is cut to nothing, and
// at the end of one that was there.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	record(l, "q_1")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	record(l, "q_2")
	want(t, path+".1", "q_1")
	want(t, path, "q_2")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	record(l, "q_3")
	want(t, path, "q_3")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	record(l, "q_4")
	want(t, path, "q_4")
	record(open(t, path), "q_5") // another process
	record(l, "q_6")
	want(t, path, "q_4", "q_5", "q_6")
}

// Where the new file cannot be made, the log goes on in the old one, and says so.
func TestRotationThatFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "logs", "audit.jsonl")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l := open(t, path)
	if err := os.Rename(filepath.Dir(path), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if said := record(l, "q_1"); !strings.Contains(said, `"level":"error"`) || !strings.Contains(said, "goes on where it was moved to") {
		t.Errorf("logged %q", said)
	}
	want(t, filepath.Join(dir, "moved", "audit.jsonl"), "q_1")
}

func TestUnusableFile(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none", "audit.jsonl")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "audit log") {
		t.Errorf("%v", err)
	}
}

// A full disk is said loudly, once, and again when it is over; nothing waits for it.
func TestFullDisk(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "audit.jsonl"))
	file := l.to
	disk, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no full disk here: ", err)
	}
	defer disk.Close()
	l.to = disk
	if said := record(l, "q_1"); !strings.Contains(said, `"level":"error"`) || !strings.Contains(said, "no space left") || !strings.Contains(said, "not recorded") {
		t.Errorf("logged %q", said)
	}
	if said := record(l, "q_2"); said != "" {
		t.Errorf("logged again %q", said)
	}
	l.to = file
	if said := record(l, "q_3"); !strings.Contains(said, `"lost":2`) || !strings.Contains(said, "written again") {
		t.Errorf("logged %q", said)
	}
	if said := record(l, "q_4"); said != "" {
		t.Errorf("logged %q", said)
	}
	want(t, l.path, "q_3", "q_4")
}

// A line that was cut off spoils no other.
func TestCutOffLine(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "audit.jsonl"))
	file := l.to
	l.to = &half{file, 0}
	record(l, "q_1")
	record(l, "q_2") // not even the line break of that
	l.to = file
	record(l, "q_3")
	record(l, "q_4")
	raw, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], `"q_3"}`) || !strings.Contains(lines[2], `"q_4"}`) || json.Valid([]byte(lines[0])) {
		t.Errorf("got %q", lines)
	}
}

// half has room for half of the first line.
type half struct {
	io.Writer
	calls int
}

func (h *half) Write(b []byte) (int, error) {
	if h.calls++; h.calls > 1 {
		return 0, errors.New("full")
	}
	n, _ := h.Writer.Write(b[:len(b)/2])
	return n, errors.New("full")
}

// Lines of many at once are whole.
func TestManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	logs := []*Log{open(t, path), open(t, path)} // as of two processes
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { record(logs[i%2], "q_1") })
	}
	all.Wait()
	if n := len(ids(t, path)); n != 50 {
		t.Errorf("%d lines", n)
	}
}

func TestStreams(t *testing.T) {
	for path, to := range map[string]*os.File{Stdout: os.Stdout, Stderr: os.Stderr} {
		if l := open(t, path); l.to != io.Writer(to) || !IsStream(path) || l.Close() != nil {
			t.Errorf("%s goes elsewhere", path)
		}
	}
	if IsStream("audit.jsonl") {
		t.Error("a file is taken for a stream")
	}
}
