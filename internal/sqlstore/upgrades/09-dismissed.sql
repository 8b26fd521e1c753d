-- v8 -> v9 (compatible with v8+): Who dismissed a question

ALTER TABLE questions ADD COLUMN dismissed_by TEXT CHECK (dismissed_by IS NULL OR cancelled_by = 'responder');
