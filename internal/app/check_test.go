package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/testserver"
)

func checked(t *testing.T, address string) (config.Config, config.Registration) {
	t.Helper()
	c := config.Default()
	c.Homeserver = config.Homeserver{URL: address, Domain: "question.test"}
	c.Database.Path = filepath.Join(t.TempDir(), "q.db")
	return c, c.NewRegistration()
}

// expect compares the findings, each given as "ok" or "FAIL", its statement, and its error or note.
func expect(t *testing.T, findings []Finding, want ...string) {
	t.Helper()
	for i, f := range findings {
		got := "ok " + f.What + "|" + f.Note
		if f.Err != nil {
			got = "FAIL " + f.What + "|" + f.Err.Error()
			if f.Hint == "" {
				t.Errorf("%s: no hint", f.What)
			}
			if strings.HasSuffix(got, `""`) {
				t.Errorf("%s: an empty word from the homeserver is shown", got)
			}
		}
		if i >= len(want) || !strings.HasPrefix(got, want[i]) {
			t.Errorf("finding %d: %s", i, got)
		}
	}
	if len(findings) != len(want) {
		t.Errorf("%d findings, want %d", len(findings), len(want))
	}
}

func TestCheckAgainstDendrite(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, reg := checked(t, "")
	registration := filepath.Join(t.TempDir(), "registration.yaml")
	if err := reg.Save(registration, false); err != nil {
		t.Fatal(err)
	}
	server, err := testserver.Start(ctx, testserver.Options{DataDir: t.TempDir(), Registrations: []string{registration}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	c.Homeserver.URL = server.URL + "/"
	alice, err := server.Register(ctx, testserver.Account{Name: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	room, err := alice.CreateRoom(ctx, testserver.Room{Alias: "ops", Public: true})
	if err != nil {
		t.Fatal(err)
	}
	bot, err := server.WithToken(ctx, reg.ASToken)
	if err == nil {
		_, err = bot.Join(ctx, room)
	}
	if err != nil {
		t.Fatal(err)
	}
	apart, err := alice.CreateRoom(ctx, testserver.Room{})
	if err != nil {
		t.Fatal(err)
	}
	c.Rooms = []config.Room{
		{Code: "A", Room: "#ops:question.test"}, {Code: "B", Room: room},
		{Code: "C", Room: apart}, {Code: "D", Room: "#none:question.test"},
	}
	expect(t, Check(ctx, c, reg),
		"ok the homeserver answers at "+server.URL+"/|speaks up to v1.2",
		"ok the homeserver knows the bot as @questions:question.test|",
		"ok the homeserver reaches the bridge at http://127.0.0.1:29331|cannot be checked: this homeserver has no ping",
		"ok the bot is in room A (#ops:question.test)|",
		"ok the bot is in room B ("+room+")|",
		"FAIL the bot is in room C ("+apart+")|it is not",
		"FAIL the bot is in room D (#none:question.test)|it answers 404 M_NOT_FOUND",
		"ok the sqlite database opens|",
	)

	stranger := c.NewRegistration()
	expect(t, Check(ctx, c, stranger),
		"ok the homeserver answers",
		"FAIL the homeserver knows the bot as @questions:question.test|it answers 401 M_UNKNOWN_TOKEN",
		"ok the sqlite database opens|",
	)
	stranger.ASToken = alice.AccessToken
	c.Database.Path = filepath.Join(t.TempDir(), "missing", "q.db")
	expect(t, Check(ctx, c, stranger),
		"ok the homeserver answers",
		"FAIL the homeserver knows the bot as @questions:question.test|the token belongs to @alice:question.test",
		"FAIL the sqlite database opens|",
	)
}

func TestCheckWhatIsNoHomeserver(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer web.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for address, want := range map[string]string{
		other.URL:            "FAIL the homeserver answers at " + other.URL + "|it answers 404",
		web.URL:              "FAIL the homeserver answers at " + web.URL + "|what answers is not a Matrix homeserver",
		"http://127.0.0.1:1": "FAIL the homeserver answers at http://127.0.0.1:1|dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		c, reg := checked(t, address)
		expect(t, Check(t.Context(), c, reg), want, "ok the sqlite database opens|")
	}
}

// A homeserver with a ping calls the bridge back, through a listener of the check's own or the running bridge's.
func TestCheckPing(t *testing.T) {
	c, reg := checked(t, "")
	c.Appservice.Listen = "127.0.0.1:0"
	bridge := httptest.NewServer(pingHandler(reg.HSToken))
	defer bridge.Close()
	refuse := false
	homeserver := http.NewServeMux()
	answer := func(path, body string) {
		homeserver.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(path, "versions") != (r.Header.Get("Authorization") == "") {
				t.Errorf("%s was asked with %q", path, r.Header.Get("Authorization"))
			}
			_, _ = w.Write([]byte(body))
		})
	}
	answer("GET /_matrix/client/versions", `{"versions":["v1.1","v1.11"]}`)
	answer("GET /_matrix/client/v3/account/whoami", `{"user_id":"@questions:question.test"}`)
	answer("GET /_matrix/client/v3/joined_rooms", `{"joined_rooms":[]}`)
	homeserver.HandleFunc("POST /_matrix/client/v1/appservice/question-bridge/ping", func(w http.ResponseWriter, r *http.Request) {
		token := reg.HSToken
		if refuse {
			token = "another"
		}
		req, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, bridge.URL+"/_matrix/app/v1/ping", strings.NewReader("{}"))
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte(`{"errcode":"M_BAD_STATUS","error":"the appservice answered 403"}`))
			return
		}
		_, _ = w.Write([]byte(`{"duration_ms":1}`))
	})
	server := httptest.NewServer(homeserver)
	defer server.Close()
	c.Homeserver.URL = server.URL
	expect(t, Check(t.Context(), c, reg),
		"ok the homeserver answers at "+server.URL+"|speaks up to v1.11",
		"ok the homeserver knows the bot", "ok the homeserver reaches the bridge at http://127.0.0.1:29331|", "ok the sqlite database opens")
	refuse = true
	c.Appservice.Listen = bridge.Listener.Addr().String()
	expect(t, Check(t.Context(), c, reg), "ok the homeserver answers", "ok the homeserver knows the bot",
		`FAIL the homeserver reaches the bridge at http://127.0.0.1:29331|it answers 502 M_BAD_STATUS "the appservice answered 403"`,
		"ok the sqlite database opens")
}

// A secret never gets into the database's file.
func TestTokensKeepNoSecret(t *testing.T) {
	c, _ := checked(t, "")
	tokens, err := OpenTokens(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	secret, kept, err := tokens.Add(t.Context(), Grant{Agent: "ci", Rooms: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	valid := func(secret string) bool {
		ok, err := tokens.Valid(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !valid(secret) || valid(secret+"x") || valid("") {
		t.Error("the token does not open what it should")
	}
	if found, err := tokens.Revoke(t.Context(), kept.ID); err != nil || !found {
		t.Error(found, err)
	}
	if valid(secret) {
		t.Error("revoked, and still valid")
	}
	if err := tokens.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(c.Database.Path)
	if err != nil || strings.Contains(string(data), secret) {
		t.Error("the secret is in the file", err)
	}
}
