-- v6 -> v7 (compatible with v4+): Since when an effect is owed, for whoever watches

-- When it was first due, however often it was put off since.
ALTER TABLE effects ADD COLUMN owed_since BIGINT;
UPDATE effects SET owed_since = due;
CREATE INDEX effects_owed ON effects (owed_since) WHERE NOT failed;
