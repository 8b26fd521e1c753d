-- v10 -> v11: Events that wait for the key they were encrypted with

-- Their rows of the inbox count as handled meanwhile, so that nothing else waits for them.
CREATE TABLE locked_events (
	id           TEXT   NOT NULL PRIMARY KEY,
	conversation TEXT   NOT NULL,
	session      TEXT   NOT NULL,
	received_at  BIGINT NOT NULL,
	raw          BYTEA  NOT NULL
);
CREATE INDEX locked_events_session ON locked_events (conversation, session);
CREATE INDEX locked_events_age ON locked_events (received_at);
