package app

import (
	"context"
	"encoding/json"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/matrix"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// reader understands what the adapters keep in the store.
type reader struct{}

var _ sqlstore.Reader = reader{}

func (reader) SaidBy(raw json.RawMessage, who bridge.UserID) bool { return matrix.SaidBy(raw, who) }

func (reader) Present(member json.RawMessage) bool { return matrix.Present(member) }

func (reader) ForgetProgress(p json.RawMessage, who bridge.UserID, ended bool) (json.RawMessage, bool) {
	return matrix.ForgetProgress(p, who, ended)
}

func (reader) ForgetIn(document []byte, who bridge.UserID) ([]byte, bool) {
	return dialect.Forget(document, who)
}

// Forgotten is what there was of a person, and what is left.
type Forgotten struct {
	sqlstore.Traces
	// Mentions are the columns of the database that still have their id in them.
	Mentions []sqlstore.Mention
	// Settings are those of the configuration that name them.
	Settings []string
	// Audited says that there is an audit log, which may name them.
	Audited bool
	// LogLeft says that SQLite's write-ahead log could not be emptied yet: it may hold rows as they were. Whoever serves
	// the database empties it within five minutes, and at its end.
	LogLeft bool
}

// How often what came meanwhile is looked for, and how long readers of SQLite are waited for.
const (
	forgetPasses = 3
	logEmptied   = 5 * time.Second
)

// Forget takes a person out of the configured database, also while a bridge serves it, or with dry only says what there
// is. It may be called again after an error.
func Forget(ctx context.Context, cfg config.Config, who string, dry bool) (Forgotten, error) {
	store, err := openBeside(ctx, cfg)
	if err != nil {
		return Forgotten{}, err
	}
	defer store.Close()
	person := sqlstore.Person{ID: bridge.UserID(who), Reader: reader{}, Dry: dry}
	f := Forgotten{Settings: cfg.Naming(who), Audited: cfg.Audit.File != ""}
	if f.Traces, err = store.ForgetPerson(ctx, person); err != nil || dry {
		return f, err
	}
	for range forgetPasses { // a bridge that runs may just have written what it had read before
		late, err := store.ForgetPerson(ctx, person)
		if err != nil {
			return f, err
		}
		if !late.Any() {
			break
		}
	}
	if f.LogLeft, err = emptyLog(ctx, store); err != nil {
		return f, err
	}
	f.Mentions, err = store.Mentions(ctx, who)
	return f, err
}

// emptyLog moves SQLite's log into the database, and says whether something is left of it because of readers.
func emptyLog(ctx context.Context, store *sqlstore.Store) (left bool, err error) {
	for end := time.Now().Add(logEmptied); ; {
		if err := store.Checkpoint(ctx); err != nil {
			return true, err
		}
		load, err := store.Load(ctx, time.Now())
		if err != nil || load.LogBytes == 0 || time.Now().After(end) {
			return load.LogBytes > 0, err
		}
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
