package app

import (
	"bufio"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/measure"
	"superpipeline.dev/question-bridge/schema"
)

var soakAnswers = flag.Duration("soak.answers", 0, "how long people answer in TestD1OnTheServer, which does it once at least")

// TestD1OnTheServer (field case D1): 50 people answer 500 questions by HTTP, while a sweep comes by every 100 ms, a
// webhook is told of every answer, askers look at their lists, and somebody else holds the write lock for three seconds.
// Nobody gets a 5xx, everybody is given the answer that is stored, and the webhook is told of each once.
func TestD1OnTheServer(t *testing.T) {
	onBoth(t, func(t *testing.T, d config.Database) {
		var people []string
		for i := range 50 {
			people = append(people, fmt.Sprintf("@p%d:%s", i, benchDomain))
		}
		came, hook := newHook(t)
		b := &busy{served: serve(t, arrangement{database: d, people: people, hurried: true, configure: hook}), database: d, came: came}
		for _, p := range people {
			b.tokens = append(b.tokens, b.person(p))
		}
		for end := time.Now().Add(*soakAnswers); ; {
			b.round()
			if t.Failed() || time.Now().After(end) {
				break
			}
		}
		t.Logf("%d answers; the p99 took %v, the longest %v", len(b.took), measure.Quantile(b.took, 0.99), measure.Quantile(b.took, 1))
	})
}

type busy struct {
	*served
	database config.Database
	came     <-chan hooked
	tokens   []string // of the people

	mu   sync.Mutex
	took []time.Duration
}

const (
	lockHeld    = 3 * time.Second
	busyAnswers = 20 // by each of 50 people: every question gets two at least
)

// busyAsked is how many questions there are. PostgreSQL, which the case is not about, has fewer.
var busyAsked = map[string]int{config.SQLite: 500, config.Postgres: 100}

func (b *busy) round() {
	b.t.Helper()
	ids := b.askMany(busyAsked[b.database.Type])
	unlock := b.lock()
	stop := b.beside()
	answers := make([][]string, len(ids)) // what those who answered a question were given
	var answering sync.WaitGroup
	for p := range b.tokens {
		answering.Go(func() {
			for _, i := range rand.Perm(busyAnswers) {
				n := (p*len(ids)/len(b.tokens) + i*7) % len(ids)
				given := b.answer(p, ids[n])
				b.mu.Lock()
				answers[n] = append(answers[n], given)
				b.mu.Unlock()
			}
		})
	}
	answering.Wait()
	stop()
	b.ok(unlock())
	b.compare(ids, answers)
}

// askMany asks so many questions and gives their ids.
func (b *busy) askMany(n int) []string {
	b.t.Helper()
	ids := make([]string, n)
	var asking sync.WaitGroup
	for first := range 10 {
		asking.Go(func() {
			for i := first; i < n; i += 10 {
				ids[i] = b.ask(b.token, askBody).ID
			}
		})
	}
	asking.Wait()
	if b.t.Failed() {
		b.t.FailNow()
	}
	return ids
}

// answer answers a question as one of the people, and gives who answered what according to the response.
func (b *busy) answer(person int, id string) string {
	value := []string{"staging", "prod"}[person%2]
	began := time.Now()
	r := b.call(call{method: http.MethodPost, path: "/api/questions/" + id + "/answer", token: b.tokens[person], body: fmt.Sprintf(`{"value":%q}`, value)})
	took := time.Since(began)
	b.mu.Lock()
	b.took = append(b.took, took)
	b.mu.Unlock()
	if r.status != http.StatusOK {
		b.t.Errorf("an answer is answered with %d: %s", r.status, r.body)
	}
	return answerIn(r.body)
}

// answerIn is who answered what and when, by a question's document; "" where nobody did.
func answerIn(document string) string {
	q, err := schema.Decode[schema.Question]([]byte(document))
	if err != nil || q.Answer == nil || q.Answer.Value == nil {
		return ""
	}
	return fmt.Sprint(*q.Answer.Value, " by ", q.Answer.Responder.ID, " at ", q.Answer.AnsweredAt)
}

// beside does what goes on meanwhile, until stop is called.
func (b *busy) beside() (stop func()) {
	stopped := make(chan struct{})
	var all sync.WaitGroup
	every := func(pause time.Duration, do func()) {
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-stopped:
					return
				case <-tick.C:
					do()
				}
			}
		})
	}
	every(100*time.Millisecond, func() {
		if _, err := b.sweeper.Expirer.Expire(b.log.WithContext(b.t.Context()), b.sweeper.Batch); err != nil {
			b.t.Errorf("a sweep failed: %v", err)
		}
	})
	for _, query := range []string{"?state=pending", "?state=answered&limit=200"} {
		every(20*time.Millisecond, func() {
			if r := b.call(call{method: http.MethodGet, path: "/api/agent/questions" + query, token: b.token}); r.status != http.StatusOK {
				b.t.Errorf("a list is answered with %d: %s", r.status, r.body)
			}
		})
	}
	return func() { close(stopped); all.Wait() }
}

// compare wants every question answered, every answer told as it is stored, and the webhook told of each once.
func (b *busy) compare(ids []string, answers [][]string) {
	b.t.Helper()
	told := map[string]string{} // the delivery of each question
	for range ids {
		select {
		case h := <-b.came:
			if other, again := told[h.Event.QuestionID]; again {
				b.t.Errorf("the webhook is told of %s as %s and as %s", h.Event.QuestionID, other, h.ID)
			}
			told[h.Event.QuestionID] = h.ID
		case <-time.After(time.Minute):
			b.t.Fatalf("the webhook is told of %d of %d answers", len(told), len(ids))
		}
	}
	for i, id := range ids {
		stored := answerIn(b.call(call{method: http.MethodGet, path: "/api/agent/questions/" + id, token: b.token}).body)
		if stored == "" || told[id] == "" || len(answers[i]) == 0 {
			b.t.Errorf("%s is answered %q, and told of as %q", id, stored, told[id])
		}
		for _, given := range answers[i] {
			if given != stored {
				b.t.Errorf("somebody was given %q, stored is %q", given, stored)
			}
		}
	}
}

// lock takes a lock that every writer needs, on SQLite in another process, and holds it for a while. unlocked waits until
// it is released.
func (b *busy) lock() (unlocked func() error) {
	b.t.Helper()
	ended := make(chan error, 1)
	release := func() error { return nil }
	if b.database.Type == config.Postgres {
		tx, err := b.store.Database().RawDB.BeginTx(b.t.Context(), nil)
		b.ok(err)
		_, err = tx.Exec("LOCK TABLE questions IN EXCLUSIVE MODE")
		b.ok(err)
		release = tx.Rollback
	} else {
		locker := exec.Command(os.Args[0])
		locker.Env = append(os.Environ(), envLock+"="+b.database.Path)
		in, err := locker.StdinPipe()
		b.ok(err)
		out, err := locker.StdoutPipe()
		b.ok(err)
		b.ok(locker.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		b.ok(err)
		if line != "locked\n" {
			b.t.Fatalf("the other process says %q", line)
		}
		release = func() error {
			_ = in.Close()
			return locker.Wait()
		}
	}
	time.AfterFunc(lockHeld, func() { ended <- release() })
	return func() error { return <-ended }
}

// holdWriteLock is another process, which holds the write lock of a SQLite file until its input ends.
func holdWriteLock(path string) error {
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_busy_timeout=5000")
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return tx.Rollback()
}
