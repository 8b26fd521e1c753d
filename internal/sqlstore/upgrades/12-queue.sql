-- v11 -> v12 (compatible with v11+): The question queue

-- When an agent sent which turn last, and its budget.
CREATE TABLE queue_agents (
	agent         TEXT   NOT NULL PRIMARY KEY,
	highest_turn  BIGINT NOT NULL,
	last_ask_turn BIGINT,
	bucket_ends   BIGINT,

	CHECK ((last_ask_turn IS NULL) = (bucket_ends IS NULL))
);

CREATE TABLE queue_candidates (
	id             TEXT    NOT NULL PRIMARY KEY,
	agent          TEXT    NOT NULL,
	kind           TEXT    NOT NULL CHECK (kind IN ('disjunction', 'confirmation', 'referent')),
	signal         TEXT    NOT NULL CHECK (signal IN ('disjunction', 'gate_refusal', 'evidence_gap')),
	status         TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'answered', 'cooled', 'expired')),
	ask_count      BIGINT  NOT NULL CHECK (ask_count >= 0),
	created_turn   BIGINT  NOT NULL,
	expires_turn   BIGINT  NOT NULL,
	last_seen_turn BIGINT  NOT NULL,
	delivered_turn BIGINT,
	cooldown_until BIGINT,
	resolved_turn  BIGINT,
	answer_option  BIGINT,
	applied        BOOLEAN NOT NULL,
	created_at     BIGINT  NOT NULL,
	same_text      BYTEA   NOT NULL, -- a hash of what texts are compared by
	disjunction    TEXT,
	question       TEXT,
	leader         TEXT,
	definition     TEXT    NOT NULL,

	CHECK ((ask_count = 0) = (delivered_turn IS NULL)),
	CHECK (status <> 'delivered' OR delivered_turn IS NOT NULL),
	CHECK ((status = 'cooled') = (cooldown_until IS NOT NULL)),
	CHECK ((status IN ('pending', 'delivered')) = (resolved_turn IS NULL)),
	CHECK ((status = 'answered') = (answer_option IS NOT NULL)),
	CHECK (status = 'answered' OR NOT applied)
);
CREATE INDEX queue_waiting ON queue_candidates (agent, last_seen_turn DESC, ask_count, created_turn, id) WHERE status IN ('pending', 'cooled');
CREATE INDEX queue_lapsing ON queue_candidates (agent, expires_turn) WHERE status IN ('pending', 'cooled');
CREATE INDEX queue_asked ON queue_candidates (agent, delivered_turn) WHERE status = 'delivered';
CREATE INDEX queue_resolved ON queue_candidates (agent, COALESCE(resolved_turn, last_seen_turn)) WHERE status <> 'pending';
CREATE INDEX queue_text ON queue_candidates (agent, same_text);
CREATE INDEX queue_disjunction ON queue_candidates (agent, disjunction) WHERE disjunction IS NOT NULL;
CREATE INDEX queue_question ON queue_candidates (question) WHERE question IS NOT NULL;
CREATE INDEX queue_leader ON queue_candidates (leader) WHERE leader IS NOT NULL;
CREATE INDEX queue_listed ON queue_candidates (agent, created_at, id);
CREATE INDEX queue_listed_status ON queue_candidates (agent, status, created_at, id);

-- The target keys of the candidates that have not expired.
CREATE TABLE queue_keys (
	candidate TEXT NOT NULL REFERENCES queue_candidates (id) ON DELETE CASCADE,
	agent     TEXT NOT NULL,
	key       TEXT NOT NULL,

	PRIMARY KEY (candidate, key)
);
CREATE INDEX queue_keys_key ON queue_keys (agent, key, candidate);

-- The cue tokens of the candidates that may still be delivered, each with the order of delivery.
CREATE TABLE queue_cues (
	candidate      TEXT   NOT NULL REFERENCES queue_candidates (id) ON DELETE CASCADE,
	agent          TEXT   NOT NULL,
	token          TEXT   NOT NULL,
	last_seen_turn BIGINT NOT NULL,
	ask_count      BIGINT NOT NULL,
	created_turn   BIGINT NOT NULL,

	PRIMARY KEY (candidate, token)
);
CREATE INDEX queue_cues_token ON queue_cues (agent, token, last_seen_turn DESC, ask_count, created_turn, candidate);

-- When a person, or a room as a whole, was asked, as long as it counts.
CREATE TABLE queue_person_asks (
	whom     TEXT   NOT NULL,
	asked_at BIGINT NOT NULL
);
CREATE INDEX queue_person_asks_whom ON queue_person_asks (whom, asked_at);

CREATE TABLE queue_evidence (
	agent      TEXT             NOT NULL,
	key        TEXT             NOT NULL,
	confidence DOUBLE PRECISION NOT NULL CHECK (confidence BETWEEN 0 AND 1),
	count      BIGINT           NOT NULL CHECK (count > 0),

	PRIMARY KEY (agent, key)
);

-- Where an agent's host is asked which candidates are stale.
CREATE TABLE queue_callbacks (
	agent TEXT NOT NULL PRIMARY KEY,
	url   TEXT NOT NULL
);
