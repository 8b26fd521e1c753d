-- v12 -> v13 (compatible with v11+): Gated exchanges, as their collector

-- While it is open, a gate holds the protected query, which nobody may see; due is when it expires by itself.
CREATE TABLE gates (
	id              TEXT   NOT NULL PRIMARY KEY,
	agent           TEXT   NOT NULL,
	conversation    TEXT   NOT NULL,
	question        TEXT,
	state           TEXT   NOT NULL CHECK (state IN ('open', 'approved', 'declined', 'expired', 'answered', 'withheld')),
	reason          TEXT   NOT NULL,
	due             BIGINT,
	correlation_id  TEXT,
	created_at      BIGINT NOT NULL,
	forget_after    BIGINT NOT NULL,
	principal_kind  TEXT   NOT NULL,
	principal_id    TEXT   NOT NULL,
	principal_scope TEXT   NOT NULL CHECK (principal_scope IN ('pairwise', 'local')),
	request_key     TEXT,
	request         BYTEA,
	definition      TEXT   NOT NULL,
	protected       TEXT,

	CHECK ((state = 'open') = (protected IS NOT NULL)),
	CHECK ((state = 'withheld') = (reason <> '')),
	CHECK (due IS NULL OR state IN ('open', 'approved')),
	CHECK (state <> 'approved' OR due IS NOT NULL),
	CHECK ((request_key IS NULL) = (request IS NULL))
);
CREATE UNIQUE INDEX gates_request ON gates (agent, conversation, request_key) WHERE request_key IS NOT NULL;
CREATE UNIQUE INDEX gates_question ON gates (question) WHERE question IS NOT NULL;
CREATE INDEX gates_due ON gates (due) WHERE due IS NOT NULL;
CREATE INDEX gates_listed ON gates (agent, created_at, id);
CREATE INDEX gates_listed_state ON gates (agent, state, created_at, id);
CREATE INDEX gates_correlation ON gates (agent, correlation_id, created_at, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX gates_principal ON gates (principal_id);
CREATE INDEX gates_forgotten ON gates (forget_after);

-- The approval query of a gate, and its continuation once there is one, each with the response that was accepted.
CREATE TABLE gate_queries (
	id           TEXT    NOT NULL PRIMARY KEY,
	gate         TEXT    NOT NULL REFERENCES gates (id) ON DELETE CASCADE,
	continuation BOOLEAN NOT NULL,
	expires_at   BIGINT  NOT NULL,
	definition   TEXT    NOT NULL,
	response     TEXT,
	respondent   TEXT    CHECK (respondent IN ('human', 'agent')),
	provenance   TEXT    CHECK (provenance IN ('mediated', 'remembered', 'direct')),
	answer       TEXT,
	responded_at BIGINT,
	received_at  BIGINT,

	UNIQUE (gate, continuation),
	CHECK ((response IS NULL) = (respondent IS NULL)),
	CHECK ((response IS NULL) = (provenance IS NULL)),
	CHECK ((response IS NULL) = (answer IS NULL)),
	CHECK ((response IS NULL) = (responded_at IS NULL)),
	CHECK ((response IS NULL) = (received_at IS NULL)),
	CHECK (received_at < expires_at)
);
