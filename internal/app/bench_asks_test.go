package app

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
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
// the same size in each transaction, durably, and does nothing else.
func BenchmarkAsks(b *testing.B) {
	r := newRig(b, few, nowhere)
	measure.Compare(b.Loop, r.newAskers().slice, newInserter(b).slice).
		Report(b, "asks by 64 askers; limit: one durable insert a transaction on one connection", measure.Goal{AtLeast: 0.5}, measure.PerSecond("asks"))
}

// noChannel posts nothing, and takes every question.
type noChannel struct{ bridge.Channel }

func (noChannel) Supports(context.Context, bridge.ConversationID) error { return nil }
func (noChannel) Check(bridge.Question) error                           { return nil }
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
	url    string
	client *http.Client
}

func (r *rig) newAskers() *askingMany {
	api := r.api
	api.Rooms = noRooms{}
	api.Engine = bridge.NewEngine(bridge.Parts{
		Store: r.store, Channel: noChannel{}, Gatekeeper: r.channel, Notifier: r.hub, Clock: bridge.SystemClock{}, Deadline: r.sweeper.Deadline,
	})
	return &askingMany{rig: r, url: listen(r.b, httpapi.New(api)), client: newClient(askers)}
}

// slice gives the asks a second of some asks, which are shared out among the askers.
func (a *askingMany) slice() float64 {
	const each = 4
	return measure.Rate(askers*each, func() {
		var asking sync.WaitGroup
		for i := range askers {
			asking.Go(func() {
				for n := range each {
					a.ask(filledRoom(i*each + n))
				}
			})
		}
		asking.Wait()
	})
}

// ask gives the new question's id.
func (r *rig) askAt(client *http.Client, url string, room bridge.ConversationID) bridge.QuestionID {
	r.b.Helper()
	req, err := http.NewRequest(http.MethodPost, url+"/api/agent/rooms/"+string(room)+"/questions", strings.NewReader(askBody))
	r.ok(err)
	var q struct{ ID bridge.QuestionID }
	r.ok(json.Unmarshal(r.do(client, req, http.StatusCreated), &q))
	return q.ID
}

func (a *askingMany) ask(room bridge.ConversationID) { a.askAt(a.client, a.url, room) }

// do makes a request as the agent and gives the body of the answer.
func (r *rig) do(client *http.Client, req *http.Request, want int) []byte {
	r.b.Helper()
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := client.Do(req)
	r.ok(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r.ok(err)
	if resp.StatusCode != want {
		r.b.Fatalf("%s was answered with %d: %s", req.URL, resp.StatusCode, body)
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
