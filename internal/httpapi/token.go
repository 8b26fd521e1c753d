package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// TokenTerms is what a new token is to be good for: an agent's, or a person's, which answers and does nothing else.
type TokenTerms struct {
	Agent     bridge.AgentID
	User      bridge.UserID // in place of Agent
	Rooms     []string      // of an agent: room ids, aliases, codes, or "*" for every room; at least one
	Scopes    []string      // of an agent: some of [Scopes]; none for ask, read and cancel
	Session   bool          // of a user who signed in; it has an end
	Now       time.Time
	ExpiresAt *time.Time // nil for never
}

// NewToken makes a token for an agent or a person, or a session: the secret, "qb_", "qu_" or "qs_" and 256 random bits,
// which is to be shown once and kept nowhere, and the record to store. It fails for terms that no request could ever meet.
func NewToken(terms TokenTerms) (secret string, t bridge.Token, err error) {
	if err := terms.check(); err != nil {
		return "", bridge.Token{}, err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand.Read crashes the program instead
	prefix, kind := "qb_", "tok_"
	switch {
	case terms.Session:
		prefix, kind = "qs_", "ses_"
	case terms.User != "":
		prefix = "qu_"
	}
	secret = prefix + base64.RawURLEncoding.EncodeToString(random[:])
	return secret, bridge.Token{
		ID: kind + strings.ToLower(rand.Text()[:12]), Agent: terms.Agent, User: terms.User, Hash: sha256.Sum256([]byte(secret)),
		Rooms: terms.Rooms, Scopes: terms.Scopes, Session: terms.Session, CreatedAt: terms.Now, ExpiresAt: terms.ExpiresAt,
	}, nil
}

func (terms TokenTerms) check() error {
	agent := strings.TrimSpace(string(terms.Agent)) != ""
	switch {
	case agent == (terms.User != ""):
		return errors.New("a token needs either an agent or a person")
	case terms.User != "" && (len(terms.Rooms) > 0 || len(terms.Scopes) > 0):
		return errors.New("a person's token has neither rooms nor scopes: it answers where the person may")
	case terms.Session && (agent || terms.ExpiresAt == nil):
		return errors.New("a session is a person's, and has an end")
	case agent && (len(terms.Rooms) == 0 || slices.Contains(terms.Rooms, "")):
		return errors.New(`a token needs the rooms that it is for, or "*"`)
	case terms.ExpiresAt != nil && !terms.ExpiresAt.After(terms.Now):
		return errors.New("a token must expire in the future")
	}
	for _, scope := range terms.Scopes {
		if !slices.Contains(Scopes(), scope) {
			return fmt.Errorf("there is no scope %q: the scopes are %s", scope, strings.Join(Scopes(), ", "))
		}
	}
	return nil
}
