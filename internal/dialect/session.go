package dialect

import (
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// ToSession shows a session to whoever opened it, this once with its secret.
func ToSession(t bridge.Token, secret string, mayApprove bool) schema.Session {
	return schema.Session{
		AccessToken: secret, TokenType: "Bearer", UserID: string(t.User), MayApprove: mayApprove,
		ExpiresIn: int(t.ExpiresAt.Sub(t.CreatedAt) / time.Second), ExpiresAt: timestamp(*t.ExpiresAt),
	}
}
