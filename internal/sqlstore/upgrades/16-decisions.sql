-- v15 -> v16 (compatible with v11+): What people decided, where that is remembered

-- Whom a decision is about is opaque. One that was taken back leaves its revision; created_at is when the one that stands
-- was made.
CREATE TABLE decisions (
	id         TEXT    NOT NULL PRIMARY KEY,
	agent      TEXT    NOT NULL,
	requester  TEXT    NOT NULL,
	purpose    TEXT    NOT NULL,
	principal  BYTEA   NOT NULL,
	revision   BIGINT  NOT NULL CHECK (revision > 0),
	approved   BOOLEAN,
	decided_by TEXT,
	created_at BIGINT,
	gate       TEXT,
	emptied_at BIGINT,

	UNIQUE (agent, requester, purpose, principal),
	CHECK ((approved IS NULL) = (emptied_at IS NOT NULL)),
	CHECK ((approved IS NULL) = (created_at IS NULL)),
	CHECK ((approved IS NULL) = (gate IS NULL)),
	CHECK (approved IS NOT NULL OR decided_by IS NULL)
);
CREATE INDEX decisions_agent ON decisions (agent, created_at, id) WHERE approved IS NOT NULL;
CREATE INDEX decisions_person ON decisions (decided_by, created_at, id) WHERE approved IS NOT NULL;
CREATE INDEX decisions_all ON decisions (created_at, id) WHERE approved IS NOT NULL;
CREATE INDEX decisions_emptied ON decisions (emptied_at) WHERE emptied_at IS NOT NULL;

-- Each time that one answered in place of its person, at the revision that it had.
CREATE TABLE decision_uses (
	decision TEXT   NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
	revision BIGINT NOT NULL,
	gate     TEXT   NOT NULL,
	used_at  BIGINT NOT NULL,

	PRIMARY KEY (decision, revision, gate)
);
