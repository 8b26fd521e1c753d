-- v2 -> v3 (compatible with v1+): Two index entries fewer for every ask

-- This one also finds the effects of a question that is forgotten.
DROP INDEX effects_question;
DROP INDEX effects_order;
CREATE INDEX effects_order ON effects (question, lane, id);

DROP INDEX questions_settled;
CREATE INDEX questions_settled ON questions (conversation, settled_at) WHERE state <> 'pending';
