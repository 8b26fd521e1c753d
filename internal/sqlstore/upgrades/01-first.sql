-- v0 -> v1: Questions and what hangs on them, the inbox, rooms and tokens

-- Every time is in milliseconds since 1970, UTC. What may be large stands last in its table, so that what is searched
-- stays on the first page of a row. BYTEA keeps bytes exactly as they came.

CREATE TABLE questions (
	id               TEXT    NOT NULL PRIMARY KEY,
	asker            TEXT    NOT NULL,
	elicitation_id   TEXT    NOT NULL,
	conversation     TEXT    NOT NULL,
	correlation_id   TEXT,

	state            TEXT    NOT NULL CHECK (state IN ('pending', 'answered', 'expired', 'cancelled')),
	revision         BIGINT  NOT NULL CHECK (revision >= 0),
	settled_at       BIGINT,
	cancelled_by     TEXT    CHECK (cancelled_by IN ('asker', 'responder', 'superseded')),
	reason           TEXT    NOT NULL,

	created_at       BIGINT  NOT NULL,
	expires_at       BIGINT  NOT NULL,
	forget_after     BIGINT  NOT NULL,

	delivery_state   TEXT    NOT NULL CHECK (delivery_state IN ('queued', 'posted', 'failed', 'unanswerable')),
	delivery_message TEXT    NOT NULL,
	delivery_reason  TEXT    NOT NULL,

	answer           TEXT,
	definition       TEXT    NOT NULL,
	data             BYTEA,
	content          BYTEA,

	UNIQUE (asker, elicitation_id),
	CHECK ((state = 'pending') = (settled_at IS NULL)),
	CHECK ((state = 'answered') = (answer IS NOT NULL)),
	CHECK (cancelled_by IS NULL OR state = 'cancelled')
);
CREATE INDEX questions_deadline ON questions (expires_at) WHERE state = 'pending';
CREATE INDEX questions_pending ON questions (conversation, created_at, id) WHERE state = 'pending';
CREATE INDEX questions_settled ON questions (conversation, settled_at);
CREATE INDEX questions_asked ON questions (asker, created_at, id);
CREATE INDEX questions_asked_state ON questions (asker, state, created_at, id);
CREATE INDEX questions_correlation ON questions (asker, correlation_id, created_at, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX questions_forget ON questions (forget_after) WHERE state <> 'pending';

CREATE TABLE postings (
	question     TEXT    NOT NULL PRIMARY KEY REFERENCES questions (id) ON DELETE CASCADE,
	conversation TEXT    NOT NULL,
	moving       BOOLEAN NOT NULL,
	changed_at   BIGINT  NOT NULL,
	messages     TEXT    NOT NULL,
	progress     BYTEA
);

-- A message stays linked after it has left its posting.
CREATE TABLE message_links (
	conversation TEXT   NOT NULL,
	message      TEXT   NOT NULL,
	question     TEXT   NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
	seq          BIGINT,

	PRIMARY KEY (conversation, message)
);
CREATE INDEX message_links_question ON message_links (question);

CREATE TABLE replies (
	id           TEXT    NOT NULL PRIMARY KEY,
	conversation TEXT    NOT NULL,
	sender       TEXT    NOT NULL,
	question     TEXT    NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
	revision     BIGINT  NOT NULL,
	encrypted    BOOLEAN NOT NULL
);
CREATE INDEX replies_question ON replies (question);

CREATE TABLE courtesies (
	question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
	key      TEXT NOT NULL,

	PRIMARY KEY (question, key)
);

-- An effect that is done is deleted. While claimed, due is the end of the lease.
CREATE TABLE effects (
	-- only: sqlite
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	-- only: postgres
	id        BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	question  TEXT    REFERENCES questions (id) ON DELETE CASCADE,
	lane      TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	due       BIGINT  NOT NULL,
	claimed   BOOLEAN NOT NULL DEFAULT FALSE,
	failed    BOOLEAN NOT NULL DEFAULT FALSE,
	attempts  BIGINT  NOT NULL DEFAULT 0,
	failures  BIGINT  NOT NULL DEFAULT 0,
	why       TEXT    NOT NULL DEFAULT '',
	payload   BYTEA
);
CREATE INDEX effects_due ON effects (due, id) WHERE NOT failed;
CREATE INDEX effects_order ON effects (question, lane, id) WHERE NOT failed;
CREATE INDEX effects_question ON effects (question);

CREATE TABLE inbox (
	-- only: sqlite
	seq          INTEGER PRIMARY KEY AUTOINCREMENT,
	-- only: postgres
	seq          BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	conversation TEXT    NOT NULL,
	state        TEXT    NOT NULL CHECK (state IN ('waiting', 'handled', 'aside')),
	received_at  BIGINT  NOT NULL,
	due          BIGINT  NOT NULL,
	attempts     BIGINT  NOT NULL DEFAULT 0,
	why          TEXT    NOT NULL,
	raw          BYTEA,

	CHECK ((state = 'handled') = (raw IS NULL))
);
CREATE INDEX inbox_waiting ON inbox (conversation, seq) WHERE state = 'waiting';
CREATE INDEX inbox_finished ON inbox (received_at) WHERE state <> 'waiting';

CREATE TABLE sends (
	-- only: sqlite
	number         INTEGER PRIMARY KEY AUTOINCREMENT,
	-- only: postgres
	number         BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key            TEXT    NOT NULL UNIQUE,
	question       TEXT    REFERENCES questions (id) ON DELETE CASCADE,
	conversation   TEXT    NOT NULL,
	transaction_id TEXT    NOT NULL,
	first_try      BIGINT  NOT NULL,
	message        TEXT    NOT NULL
);
CREATE INDEX sends_question ON sends (question, number);
CREATE INDEX sends_conversation ON sends (conversation) WHERE question IS NOT NULL;

CREATE TABLE room_state (
	conversation TEXT   NOT NULL,
	type         TEXT   NOT NULL,
	key          TEXT   NOT NULL,
	event        TEXT   NOT NULL,
	sender       TEXT   NOT NULL,
	sent_at      BIGINT NOT NULL,
	content      BYTEA,

	PRIMARY KEY (conversation, type, key)
);

CREATE TABLE room_standing (
	conversation TEXT    NOT NULL PRIMARY KEY,
	known        BOOLEAN NOT NULL DEFAULT FALSE,
	doubtful     BOOLEAN NOT NULL DEFAULT FALSE,
	encrypted    BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL
);

CREATE TABLE tokens (
	id         TEXT   NOT NULL PRIMARY KEY,
	hash       BYTEA  NOT NULL UNIQUE,
	agent      TEXT   NOT NULL,
	rooms      TEXT   NOT NULL,
	scopes     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT,
	used_at    BIGINT
);
