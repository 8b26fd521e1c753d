package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/measure"
)

// BenchmarkReplies measures from the moment a homeserver sends a reply to the moment the asker has read that its question
// is answered. A hundred replies come every second, each to a question that somebody waits for. Meanwhile the bridge does
// everything else: it says in the room how each question ended, and takes the echoes of that. The limit does one durable
// insert for each reply, and nothing else.
func BenchmarkReplies(b *testing.B) {
	compareReplies(b, newAnswered(b, newRunning(b, few)).slice, newBareAnswered(b).slice).
		report(b, fmt.Sprintf("reply PUT to waiter's return, %d replies/s", repliesPerSecond), "; limit: one durable insert, and a bare long poll", 25*time.Millisecond)
}

const repliesPerSecond = 100

// latencies are those of both sides, and the ratio of the medians slice by slice.
type latencies struct {
	measure.Result
	ours, limit []time.Duration
}

func compareReplies(b *testing.B, ours, limit func() []time.Duration) *latencies {
	l := &latencies{}
	median := func(all *[]time.Duration, slice func() []time.Duration) func() float64 {
		return func() float64 {
			took := slice()
			*all = append(*all, took...)
			return measure.Median(took).Seconds()
		}
	}
	l.Result = measure.Compare(measure.AtLeast(8, b.Loop), median(&l.ours, ours), median(&l.limit, limit))
	return l
}

func (l *latencies) report(b *testing.B, what, limit string, goal time.Duration) {
	l.Result.Report(b, what+", p50"+limit, measure.Goal{}, measure.Millis)
	p99, limit99 := measure.Quantile(l.ours, 0.99), measure.Quantile(l.limit, 0.99)
	row := measure.Row{
		What: what + ", p99", Ours: measure.Duration(p99), Limit: measure.Duration(limit99),
		Ratio: fmt.Sprintf("%.1f", p99.Seconds()/limit99.Seconds()),
	}
	if goal > 0 {
		row.Goal, row.Met = fmt.Sprintf("at most %v", goal), p99 <= goal
	}
	row.Report(b)
}

// exchange is a reply that somebody waits for.
type exchange struct {
	reply func() (began time.Time)
	told  <-chan time.Time // when the waiter knew
}

// pace replies at the usual rate and gives how long each waiter had to wait.
func pace(exchanges []exchange) []time.Duration {
	began := make([]time.Time, len(exchanges))
	start := time.Now()
	for i, x := range exchanges {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / repliesPerSecond)))
		began[i] = x.reply()
	}
	took := make([]time.Duration, len(exchanges))
	for i, x := range exchanges {
		took[i] = (<-x.told).Sub(began[i])
	}
	return took
}

// newRunning is a bridge that runs on a homeserver that takes no time.
func newRunning(b *testing.B, pending int) *running {
	h := newFastHomeserver(b)
	return run(b, newRig(b, pending, h.url), h)
}

// answered asks questions, waits for them and answers them.
type answered struct {
	*running
	client *http.Client
}

func newAnswered(b *testing.B, r *running) *answered {
	b.Helper()
	return &answered{r, newClient(2 * repliesPerSecond)}
}

// slice takes a second.
func (a *answered) slice() []time.Duration {
	exchanges := make([]exchange, repliesPerSecond)
	ids := make([]bridge.QuestionID, repliesPerSecond)
	for i := range ids {
		ids[i] = a.askAt(a.client, a.url, filledRoom(i%20))
	}
	for i, id := range ids {
		a.posted(id)
		told := make(chan time.Time, 1)
		go func() {
			req, err := http.NewRequest(http.MethodGet, a.url+"/api/agent/questions/"+string(id)+"/wait?timeout=30", nil)
			a.ok(err)
			var q struct{ State bridge.State }
			a.ok(json.Unmarshal(a.do(a.client, req, http.StatusOK), &q))
			if q.State != bridge.Answered {
				a.tb.Errorf("a question is %s", q.State)
			}
			told <- time.Now()
		}()
		reply := json.RawMessage(saidIn(filledRoom(i%20), newEventID(), a.homeserver.event(id), "2"))
		exchanges[i] = exchange{func() time.Time { return a.homeserver.push(reply) }, told}
	}
	a.until("everybody waits", func() bool { return a.hub.Waiting() == len(ids) })
	return pace(exchanges)
}

// posted waits until a question stands in its room and the bridge knows it.
func (a *answered) posted(id bridge.QuestionID) {
	a.until("the question is posted", func() bool {
		q, err := a.store.Question(a.tb.Context(), id)
		a.ok(err)
		return q.Delivery.State == bridge.Posted
	})
}

// bareAnswered is an application service that inserts a row and closes a channel, and a long poll on that channel.
type bareAnswered struct {
	*inserter
	waiters *bareWaiters
	url     string
	client  *http.Client
}

func newBareAnswered(b *testing.B) *bareAnswered {
	a := &bareAnswered{inserter: newInserter(b), waiters: newBareWaiters(), client: newClient(2 * repliesPerSecond)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /wait/{id}", a.waiters.wait)
	mux.HandleFunc("PUT /reply/{id}", func(w http.ResponseWriter, r *http.Request) {
		a.add()
		a.waiters.release(w, r)
	})
	a.url = listen(b, mux)
	return a
}

func (a *bareAnswered) slice() []time.Duration {
	exchanges := make([]exchange, repliesPerSecond)
	call := func(method, path string) {
		req, err := http.NewRequest(method, a.url+path, nil)
		a.ok(err)
		resp, err := a.client.Do(req)
		a.ok(err)
		_ = resp.Body.Close()
	}
	for i := range exchanges {
		id, told := bridge.NewQuestionID(), make(chan time.Time, 1)
		go func() {
			call(http.MethodGet, "/wait/"+string(id))
			told <- time.Now()
		}()
		exchanges[i] = exchange{func() time.Time {
			began := time.Now()
			call(http.MethodPut, "/reply/"+string(id))
			return began
		}, told}
	}
	for a.waiters.count() < len(exchanges) {
		time.Sleep(time.Millisecond)
	}
	return pace(exchanges)
}
