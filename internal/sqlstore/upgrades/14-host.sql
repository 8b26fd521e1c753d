-- v13 -> v14 (compatible with v11+): Queries that agents handed in, and what became of their answers

CREATE TABLE host_queries (
	question      TEXT NOT NULL PRIMARY KEY REFERENCES questions (id) ON DELETE CASCADE,
	agent         TEXT NOT NULL,
	query_id      TEXT NOT NULL,
	status        TEXT NOT NULL CHECK (status IN ('waiting', 'submitting', 'accepted', 'duplicate', 'expired', 'rejected', 'failed')),
	response_id   TEXT,
	reason        TEXT NOT NULL DEFAULT '',
	refused       TEXT NOT NULL DEFAULT '',
	next_query_id TEXT,
	principal_id  TEXT NOT NULL, -- of whom the query is about: its subject's id
	query         TEXT NOT NULL, -- until the submission has ended, with its capability
	receipt       TEXT,
	next_query    TEXT,

	UNIQUE (agent, query_id),
	CHECK ((status = 'waiting') = (response_id IS NULL)),
	CHECK ((receipt IS NULL) = (status IN ('waiting', 'submitting', 'failed'))),
	CHECK ((next_query IS NULL) = (next_query_id IS NULL)),
	CHECK (next_query IS NULL OR (status IN ('accepted', 'duplicate') AND refused = ''))
);
CREATE INDEX host_queries_query ON host_queries (query_id);
CREATE UNIQUE INDEX host_queries_next ON host_queries (next_query_id);

-- Submissions are looked for apart from all else that is owed.
CREATE INDEX effects_kind ON effects (kind, due, id) WHERE NOT failed;
