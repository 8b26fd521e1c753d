package app

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/internal/sqlstore"
	"superpipeline.dev/question-bridge/schema"
)

// askBody is what is asked in benchmarks: the ask of the protocol's document.
const askBody = `{"prompt":"Which environment?","context":"Release 2.4","responder_scope":"room","options":[{"value":"staging","label":"Staging"},{"value":"prod","label":"Production","style":"primary"}],"ttl":86400,"correlation_id":"rel-2.4","data":{"pipeline":"deploy"}}`

// roomsFilled is how many rooms the pending questions are spread over.
const roomsFilled = 1000

func filledRoom(n int) bridge.ConversationID {
	return bridge.ConversationID(fmt.Sprintf("!r%d:%s", n%roomsFilled, benchDomain))
}

// firstDeadline is when the first of the questions that fill puts there expires; a thousandth of them does so in every
// second from then on.
func firstDeadline(now time.Time) time.Time { return now.Truncate(24*time.Hour).AddDate(0, 0, 20) }

// fill makes a database with so many pending questions that were posted, like one that was asked by HTTP. It writes the
// rows by one statement for each table, without the indexes: by the store, a million would take longer than every
// benchmark together.
func fill(tb testing.TB, path string, pending int) {
	tb.Helper()
	ctx := tb.Context()
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	store, err := sqlstore.Open(ctx, sqlstore.Config{Type: sqlstore.SQLite, Path: path})
	check(err)
	now := bridge.SystemClock{}.Now()
	template := questionOf(tb, "!template:"+benchDomain, now)
	check(store.CreateQuestion(ctx, template))
	check(store.Close())

	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=OFF&_synchronous=OFF&_cache_size=-1000000")
	check(err)
	defer func() { check(db.Close()) }()
	db.SetMaxOpenConns(1)
	exec := func(query string, args ...any) {
		tb.Helper()
		_, err := db.ExecContext(ctx, query, args...)
		check(err)
	}
	indexes := indexesOf(ctx, tb, db)
	for name := range indexes {
		exec(`DROP INDEX ` + name)
	}
	exec(`
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
		INSERT INTO questions (id, asker, elicitation_id, conversation, correlation_id, state, revision, reason, created_at, expires_at,
			forget_after, delivery_state, delivery_message, delivery_reason, definition, data, content)
		SELECT 'q_' || x, asker, 'q_' || x, '!r' || (i % ?2) || ?3, correlation_id || i, state, revision, reason, created_at - i, ?4 + i % 1000 * 1000,
			forget_after, 'posted', '$' || x, '', definition, data, content
		FROM (SELECT i, lower(hex(randomblob(13))) AS x FROM n), questions WHERE id = ?5`,
		pending, roomsFilled, ":"+benchDomain, firstDeadline(now).UnixMilli(), string(template.ID))
	exec(`DELETE FROM questions WHERE id = ?`, string(template.ID))
	exec(`INSERT INTO postings (question, conversation, moving, changed_at, messages, progress) SELECT id, conversation, FALSE, created_at, '[{"ID":"' || delivery_message || '","PostedAt":' || created_at || ',"Item":0}]', NULL FROM questions`)
	exec(`INSERT INTO message_links (conversation, message, question, seq) SELECT conversation, delivery_message, id, rowid FROM questions ORDER BY conversation, delivery_message`)
	for _, definition := range indexes {
		exec(definition)
	}
	file, err := os.Open(path)
	check(err)
	check(file.Sync()) // or the first thing measured pays for it
	check(file.Close())
}

// indexesOf gives the definitions of the indexes that are no constraint's, by name.
func indexesOf(ctx context.Context, tb testing.TB, db *sql.DB) map[string]string {
	tb.Helper()
	rows, err := db.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			tb.Fatal(err)
		}
		all[name] = definition
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// questionOf makes a question as an ask by HTTP does.
func questionOf(tb testing.TB, room bridge.ConversationID, now time.Time) bridge.Question {
	tb.Helper()
	ask, err := schema.DecodeAsk([]byte(askBody))
	if err != nil {
		tb.Fatal(err)
	}
	q, err := dialect.FromAsk(ask, dialect.AskContext{Asker: "ci", AskedBy: "CI", Conversation: room, Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	return q
}
