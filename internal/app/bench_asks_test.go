package app

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/measure"
)

// askers is how many ask at the same time.
const askers = 64

// BenchmarkAsks asks by HTTP, with no homeserver: nothing is posted. Its limit is one connection that inserts one row of
// the same size in each transaction, durably, and does nothing else. The askers share the processors with the bridge, so
// they do as little as can be: each writes a request that was made before, and reads the answer that it wants.
func BenchmarkAsks(b *testing.B) {
	r := newRig(b, few, nowhere)
	measure.Compare(b.Loop, r.newAskers().slice, newInserter(b).slice).
		Report(b, "asks by 64 askers; limit: one durable insert a transaction on one connection", measure.Goal{AtLeast: 0.5}, measure.PerSecond("asks"))
}

// noChannel posts nothing, and takes every question.
type noChannel struct{ bridge.Channel }

func (noChannel) Supports(context.Context, bridge.ConversationID) error { return nil }
func (noChannel) Check(context.Context, bridge.Question) error          { return nil }
func (noChannel) Render(context.Context, bridge.Question, bridge.Posting, string) (bridge.Change, error) {
	return bridge.Change{}, &bridge.ErrHeld{Reason: "there is no homeserver", Again: time.Hour}
}

// noRooms takes every room for what it is called.
type noRooms struct{}

func (noRooms) Resolve(_ context.Context, room string) (httpapi.Room, error) {
	return httpapi.Room{ID: bridge.ConversationID(room)}, nil
}

type askingMany struct {
	*rig
	conns    []net.Conn // one of each asker
	requests [][]byte   // one for each room
}

func (r *rig) newAskers() *askingMany {
	api := r.api
	api.Rooms = noRooms{}
	api.Engine = bridge.NewEngine(bridge.Parts{
		Store: r.store, Channel: noChannel{}, Gatekeeper: r.channel, Notifier: r.hub, Clock: bridge.SystemClock{}, Deadline: r.sweeper.Deadline,
		Quota: func(bridge.AgentID) bridge.Quota { return bridge.Quota{Asker: 100_000, Conversation: 100_000} }, // counted, and never reached
	})
	a := &askingMany{rig: r}
	address := strings.TrimPrefix(listen(r.tb, httpapi.New(api)), "http://")
	for range askers {
		conn, err := net.Dial("tcp", address)
		r.ok(err)
		r.tb.Cleanup(func() { _ = conn.Close() })
		a.conns = append(a.conns, conn)
	}
	var token string
	for n := range askers * asksEach {
		if n%asksEach == 0 { // each asker is an agent of its own
			token = r.newToken(bridge.AgentID(fmt.Sprintf("asker-%d", n/asksEach)))
		}
		a.requests = append(a.requests, fmt.Appendf(nil, "POST /api/agent/rooms/%s/questions HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			filledRoom(n), token, len(askBody), askBody))
	}
	return a
}

func (r *rig) newToken(agent bridge.AgentID) string {
	r.tb.Helper()
	secret, token, err := httpapi.NewToken(httpapi.TokenTerms{Agent: agent, Rooms: []string{"*"}, Now: time.Now()})
	r.ok(err)
	r.ok(r.store.AddToken(r.tb.Context(), token))
	return secret
}

// asksEach is how many questions each asker asks in a slice.
const asksEach = 4

// slice gives the asks a second of some asks, which are shared out among the askers.
func (a *askingMany) slice() float64 {
	return measure.Rate(askers*asksEach, func() {
		var asking sync.WaitGroup
		for i, conn := range a.conns {
			asking.Go(func() {
				answer := make([]byte, 16<<10)
				for _, request := range a.requests[i*asksEach : (i+1)*asksEach] {
					_, err := conn.Write(request)
					a.ok(err)
					a.ok(readCreated(conn, answer))
				}
			})
		}
		asking.Wait()
	})
}

// readCreated reads one answer whole and says what is wrong with it.
func readCreated(conn io.Reader, into []byte) error {
	const length = "\r\nContent-Length: "
	for n := 0; ; {
		more, err := conn.Read(into[n:])
		if err != nil {
			return err
		}
		n += more
		head, body, whole := bytes.Cut(into[:n], []byte("\r\n\r\n"))
		if !whole {
			continue
		}
		_, digits, _ := bytes.Cut(head, []byte(length))
		digits, _, _ = bytes.Cut(digits, []byte("\r"))
		if size, err := strconv.Atoi(string(digits)); err != nil || !bytes.HasPrefix(head, []byte("HTTP/1.1 201 ")) {
			return fmt.Errorf("the answer is %s", into[:n])
		} else if len(body) == size {
			return nil
		}
	}
}

// askAt gives the new question's id.
func (r *rig) askAt(client *http.Client, url string, room bridge.ConversationID) bridge.QuestionID {
	r.tb.Helper()
	req, err := http.NewRequest(http.MethodPost, url+"/api/agent/rooms/"+string(room)+"/questions", strings.NewReader(askBody))
	r.ok(err)
	var q struct{ ID bridge.QuestionID }
	r.ok(json.Unmarshal(r.do(client, req, http.StatusCreated), &q))
	return q.ID
}

// do makes a request as the agent and gives the body of the answer.
func (r *rig) do(client *http.Client, req *http.Request, want int) []byte {
	r.tb.Helper()
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := client.Do(req)
	r.ok(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r.ok(err)
	if resp.StatusCode != want {
		r.tb.Fatalf("%s was answered with %d: %s", req.URL, resp.StatusCode, body)
	}
	return body
}

// inserter writes to a database with our settings and a table as bare as can be.
type inserter struct {
	b      *testing.B
	insert *sql.Stmt
	next   int
	row    []byte
}

func newInserter(b *testing.B) *inserter {
	b.Helper()
	in := &inserter{b: b, row: bytes.Repeat([]byte("x"), 1000)}
	db, err := sql.Open("sqlite3-question-bridge", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_txlock=immediate&_secure_delete=on")
	in.ok(err)
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(b.Context(), `CREATE TABLE q (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, due INTEGER, content BLOB);
		CREATE INDEX q_due ON q (due) WHERE due IS NOT NULL`)
	in.ok(err)
	in.insert, err = db.PrepareContext(b.Context(), `INSERT INTO q (id, due, content) VALUES (?, ?, ?)`)
	in.ok(err)
	return in
}

func (in *inserter) ok(err error) {
	in.b.Helper()
	if err != nil {
		in.b.Fatal(err)
	}
}

// slice gives the rows a second of some rows, each in a transaction of its own.
func (in *inserter) slice() float64 {
	const rows = 250
	return measure.Rate(rows, func() {
		for range rows {
			in.add()
		}
	})
}

func (in *inserter) add() {
	in.next++
	_, err := in.insert.Exec(bridge.NewQuestionID(), in.next, in.row)
	in.ok(err)
}
