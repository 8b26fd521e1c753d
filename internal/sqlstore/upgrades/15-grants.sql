-- v14 -> v15 (compatible with v11+): What answers granted for longer than once

-- What each is about stands in its question, which stays as long as the grant does.
CREATE TABLE grants (
	id           TEXT   NOT NULL PRIMARY KEY,
	question     TEXT   NOT NULL UNIQUE REFERENCES questions (id) ON DELETE CASCADE,
	asker        TEXT   NOT NULL,
	conversation TEXT   NOT NULL,
	given_at     BIGINT NOT NULL,
	lapses_at    BIGINT,
	revoked_at   BIGINT,
	revoked_by   TEXT,

	CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
	CHECK (revoked_at IS NULL OR lapses_at IS NULL OR revoked_at < lapses_at)
);
CREATE INDEX grants_asker ON grants (asker, given_at, id);
CREATE INDEX grants_conversation ON grants (conversation, given_at, id);
