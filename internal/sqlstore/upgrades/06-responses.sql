-- v5 -> v6 (compatible with v4+): What requests with an Idempotency-Key were answered

CREATE TABLE responses (
	agent    TEXT    NOT NULL,
	scope    TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	question TEXT    NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
	kept_at  BIGINT  NOT NULL,
	created  BOOLEAN NOT NULL,
	request  BYTEA   NOT NULL,
	body     BYTEA   NOT NULL,

	PRIMARY KEY (agent, scope, key)
);
CREATE INDEX responses_question ON responses (question);
CREATE INDEX responses_kept ON responses (kept_at);
