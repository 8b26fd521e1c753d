package bridge

import "time"

// Observer hears, after commit, what became of questions: for counting. Its methods return at once and may be called at
// the same time.
type Observer interface {
	// Asked is one question that was asked, or adopted from its carrier.
	Asked()
	// Settled is one question that ended.
	Settled(s State)
	// Replied is how long an interaction took to answer its question, from when the channel received it.
	Replied(took time.Duration)
}

// unobserved hears nothing.
type unobserved struct{}

func (unobserved) Asked()                {}
func (unobserved) Settled(State)         {}
func (unobserved) Replied(time.Duration) {}

// Load is what waits in the store, at one moment.
type Load struct {
	Pending       int         // questions
	Outbox, Inbox Backlog     // what is owed in rooms, and what came in and is not handled
	Webhooks      []HooksLoad // of every endpoint that anything is known of
	Bytes         int64       // the size of the database
	LogBytes      int64       // of SQLite's write-ahead log beside it
}

// Backlog is how much waits, and since when the oldest of it.
type Backlog struct {
	Waiting int
	Oldest  *time.Time // nil where nothing waits
}

// HooksLoad is what waits for one webhook endpoint.
type HooksLoad struct {
	Endpoint string
	Pending  Backlog
	Failed   int // given up, and kept for a replay
	Disabled bool
}
