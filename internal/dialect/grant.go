package dialect

import (
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/schema"
)

// toGranted gives what an answer grants.
func toGranted(g bridge.Granted) schema.Granted {
	out := schema.Granted{Scope: string(g.Grant), Option: string(g.Option.ID), RunID: orNil(g.Run), By: string(g.By), Until: instant(g.Until)}
	if s := g.Subject; s != nil {
		out.Subject = &schema.SubjectRef{ID: s.ID, Digest: s.Digest, Schema: s.Schema, Revision: int(s.Revision)}
	}
	return out
}

func instant(at *time.Time) *schema.Timestamp {
	if at == nil {
		return nil
	}
	return new(timestamp(*at))
}

// ToGrant shows a grant as it stands to anybody who may see it. The correlation id, which is the asker's alone, is the
// caller's to add.
func ToGrant(g grant.Grant, room schema.QuestionRoom, now time.Time) schema.Grant {
	return schema.Grant{
		ID: string(g.ID), State: string(g.State(now)), Granted: toGranted(g.Granted), QuestionID: string(g.Question.ID),
		AskedBy: g.Question.AskedBy, Label: g.Option.Label, Room: room,
		GivenAt: timestamp(g.At), RevokedAt: instant(g.RevokedAt), RevokedBy: orNil(string(g.RevokedBy)),
	}
}
