package testserver

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A data directory may have any name; everything stays inside it, and starting on it again resumes.
func TestStartAgainResumes(t *testing.T) {
	ctx := within(t)
	parent := t.TempDir()
	dir := filepath.Join(parent, "a #1 100%25 & 50% ?x=y")
	first := own(t, Options{DataDir: dir})
	alice := must(first.Register(ctx, Account{Name: "alice", Password: "keep this one"}))(t)
	equal(t, "user id", alice.ID, "@alice:question.test")
	room := must(alice.CreateRoom(ctx, Room{Name: "Ops"}))(t)
	sent := must(alice.Send(ctx, room, "still here"))(t)
	noError(t, first.Stop())

	second := own(t, Options{DataDir: dir})
	again := must(second.Login(ctx, "alice", "keep this one"))(t)
	equal(t, "event found", must(again.WaitFor(ctx, room, withBody("still here")))(t).ID, sent)
	old := must(second.WithToken(ctx, alice.AccessToken))(t)
	equal(t, "owner of the old token", old.ID, alice.ID)
	must(second.Register(ctx, Account{Name: "bob"}))(t)

	entries := must(os.ReadDir(parent))(t)
	equal(t, "files beside the data directory", len(entries), 1)
	for _, name := range []string{"roomserver.db", "userapi.db", "jetstream", configFile, keyFile, logFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestKillAndRestartKeepAddressAndData(t *testing.T) {
	ctx := within(t)
	server := own(t, Options{})
	alice := register(t, server, Account{Name: "alice"})
	room := must(alice.CreateRoom(ctx, Room{}))(t)
	sent := must(alice.Send(ctx, room, "before the kill"))(t)
	url, pid, done := server.URL, server.Pid(), server.Done()
	noError(t, server.Kill())
	<-done
	noError(t, server.Kill()) // nothing left to kill
	noError(t, server.Restart(ctx))
	equal(t, "address", server.URL, url)
	if server.Pid() == pid {
		t.Fatal("the process is the old one")
	}
	equal(t, "event found", must(alice.WaitFor(ctx, room, withID(sent)))(t).ID, sent)
	noError(t, server.Restart(ctx)) // also while it runs
	equal(t, "address", server.URL, url)
	must(alice.Send(ctx, room, "after"))(t)
}

// Somebody else's homeserver on our port is neither taken for ours nor a reason to give up.
func TestStartTriesAnotherPort(t *testing.T) {
	asked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default:
		}
		_, _ = w.Write([]byte(`{"versions":["v1.2"],"verify_keys":{"ed25519:x":{"key":"AAAA"}}}`))
	}))
	defer other.Close()
	taken := other.Listener.Addr().(*net.TCPAddr).Port
	server := must(prepare(Options{DataDir: t.TempDir()}))(t)
	picks := 0
	server.pickPort = func(ctx context.Context) (int, error) {
		if picks++; picks < 3 {
			return taken, nil
		}
		return freePort(ctx)
	}
	noError(t, server.launch(within(t)))
	defer server.Stop()
	equal(t, "ports tried", picks, 3)
	if server.port == taken {
		t.Fatal("took the other server for ours")
	}
	must(server.Register(within(t), Account{Name: "alice"}))(t)

	_, err := Start(within(t), Options{DataDir: t.TempDir(), Port: taken})
	wantError(t, err, "taken")
}

// Who took our port may also accept connections and never say a word.
func TestStartOnASilentPort(t *testing.T) {
	silent := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(within(t), 15*time.Second)
	defer cancel()
	_, err := Start(ctx, Options{DataDir: t.TempDir(), Port: silent.Addr().(*net.TCPAddr).Port})
	if !errors.Is(err, ErrPortTaken) {
		t.Fatalf("got %v, want %v", err, ErrPortTaken)
	}
}

func TestStartOnABusyDirectoryWaits(t *testing.T) {
	server := own(t, Options{})
	short, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	_, err := Start(short, Options{DataDir: server.DataDir})
	wantError(t, err, "in use by another homeserver")

	started := make(chan error, 1)
	go func() {
		second, err := Start(within(t), Options{DataDir: server.DataDir})
		if err == nil {
			err = second.Stop()
		}
		started <- err
	}()
	noError(t, server.Stop())
	noError(t, <-started)
}

func TestStartFailsWithTheLog(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "registration.yaml")
	noError(t, os.WriteFile(bad, []byte("id: [unclosed"), 0o600))
	_, err := Start(within(t), Options{DataDir: t.TempDir(), Registrations: []string{bad}})
	wantError(t, err, "Invalid config file")
	wantError(t, err, "ended while starting")

	_, err = Start(within(t), Options{})
	wantError(t, err, "no data directory")

	ended, cancel := context.WithCancel(within(t))
	cancel()
	_, err = Start(ended, Options{DataDir: t.TempDir()})
	wantError(t, err, context.Canceled.Error())
}

// The registration files reach the homeserver, and it pushes events to the appservice.
func TestAppserviceGetsEvents(t *testing.T) {
	ctx := within(t)
	type push struct{ token, body string }
	pushes := make(chan push, 100)
	appservice := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		pushes <- push{r.Header.Get("Authorization"), string(body)}
		_, _ = w.Write([]byte("{}"))
	}))
	defer appservice.Close()
	registration := filepath.Join(t.TempDir(), "questions #1.yaml")
	noError(t, os.WriteFile(registration, []byte(`
id: questions
url: `+appservice.URL+`
as_token: as-secret
hs_token: hs-secret
sender_localpart: questions
namespaces: {users: [{exclusive: true, regex: "@questions:question\\.test"}]}
`), 0o600))
	server := own(t, Options{Registrations: []string{registration}})
	bot := must(server.WithToken(ctx, "as-secret"))(t)
	equal(t, "bot", bot.ID, "@questions:question.test")

	alice := register(t, server, Account{Name: "alice"})
	room := must(alice.CreateRoom(ctx, Room{Invite: []string{bot.ID}}))(t)
	noError(t, bot.WaitForInvite(ctx, room))
	must(bot.Join(ctx, room))(t)
	noError(t, alice.WaitForMember(ctx, room, bot.ID, "join"))
	sent := must(alice.Send(ctx, room, "hello bot"))(t)
	for {
		select {
		case got := <-pushes:
			equal(t, "token", got.token, "Bearer hs-secret")
			if strings.Contains(got.body, sent) {
				return
			}
		case <-ctx.Done():
			t.Fatal("the event never came")
		}
	}
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Fatalf("got error %v, want one with %q", err, part)
	}
}
