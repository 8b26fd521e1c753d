-- v9 -> v10 (compatible with v8+): What was asked in a room, whoever asked it

CREATE INDEX questions_room ON questions (conversation, state, created_at, id) WHERE state <> 'pending';
