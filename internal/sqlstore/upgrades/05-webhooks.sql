-- v4 -> v5 (compatible with v4+): What is owed to webhooks, and how their endpoints are

CREATE TABLE webhook_endpoints (
	name         TEXT   NOT NULL PRIMARY KEY,
	disabled_at  BIGINT,
	paused_until BIGINT,
	succeeded_at BIGINT,
	failed_at    BIGINT,
	failure      TEXT   NOT NULL DEFAULT ''
);

-- While claimed, due is the end of the lease.
CREATE TABLE webhook_deliveries (
	-- only: sqlite
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	-- only: postgres
	seq         BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	endpoint    TEXT    NOT NULL,
	question    TEXT    REFERENCES questions (id) ON DELETE CASCADE,
	event       TEXT    NOT NULL,
	state       TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
	created_at  BIGINT  NOT NULL,
	due         BIGINT  NOT NULL,
	claimed     BOOLEAN NOT NULL DEFAULT FALSE,
	attempts    BIGINT  NOT NULL DEFAULT 0,
	first_try   BIGINT,
	finished_at BIGINT,
	why         TEXT    NOT NULL DEFAULT '',
	body        BYTEA   NOT NULL,

	CHECK ((state = 'pending') = (finished_at IS NULL)),
	CHECK (state = 'pending' OR NOT claimed)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint, due, seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_question ON webhook_deliveries (question);
CREATE INDEX webhook_deliveries_state ON webhook_deliveries (state, endpoint);
