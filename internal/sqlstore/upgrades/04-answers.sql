-- v3 -> v4: What is approved, what people are asked besides, their tokens, and the keys that sign certificates

ALTER TABLE questions ADD COLUMN subject_id TEXT;
ALTER TABLE questions ADD COLUMN subject_revision BIGINT;
-- only: sqlite until "end only"
UPDATE questions SET subject_id = json_extract(definition, '$.Subject.ID'), subject_revision = json_extract(definition, '$.Subject.Revision')
	WHERE json_extract(definition, '$.Subject.ID') IS NOT NULL;
-- end only sqlite
-- only: postgres until "end only"
UPDATE questions SET subject_id = definition::json -> 'Subject' ->> 'ID', subject_revision = (definition::json -> 'Subject' ->> 'Revision')::BIGINT
	WHERE definition::json -> 'Subject' ->> 'ID' IS NOT NULL;
-- end only postgres
CREATE INDEX questions_subject ON questions (asker, conversation, subject_id, subject_revision) WHERE subject_id IS NOT NULL;

ALTER TABLE postings ADD COLUMN asides TEXT NOT NULL DEFAULT '[]';

ALTER TABLE replies RENAME COLUMN revision TO step;

-- A token acts as an agent, or as a person.
ALTER TABLE tokens ADD COLUMN user_id TEXT;

CREATE TABLE signing_keys (
	id         TEXT   NOT NULL PRIMARY KEY,
	created_at BIGINT NOT NULL,
	retired_at BIGINT,
	seed       BYTEA  NOT NULL
);

-- The rooms of a person.
CREATE INDEX room_state_key ON room_state (type, key);
