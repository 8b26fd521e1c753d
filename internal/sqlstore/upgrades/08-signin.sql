-- v7 -> v8: Sessions of people who signed in, and the OpenID tokens that they did it with

-- An older program would take a session for a person's own token, which may do more.
ALTER TABLE tokens ADD COLUMN session BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX tokens_session ON tokens (expires_at) WHERE session;

-- Each is accepted once. Only its hash is kept.
CREATE TABLE openid_tokens (
	hash    BYTEA  NOT NULL PRIMARY KEY,
	used_at BIGINT NOT NULL
);
CREATE INDEX openid_tokens_used ON openid_tokens (used_at);
