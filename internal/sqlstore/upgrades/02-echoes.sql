-- v1 -> v2 (compatible with v1+): When a message of ours was sent, as its echo has it

ALTER TABLE message_links ADD COLUMN sent_at BIGINT;
