package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// The scopes of a token. One without any has all three.
const (
	ScopeAsk    = "ask"
	ScopeRead   = "read" // fetch, wait and list
	ScopeCancel = "cancel"
)

// TokenTerms is what a new token is to be good for.
type TokenTerms struct {
	Agent     bridge.AgentID
	Rooms     []string // room ids, aliases, codes, or "*" for every room; at least one
	Scopes    []string // none for all three
	Now       time.Time
	ExpiresAt *time.Time // nil for never
}

// NewToken makes a token for an agent: the secret, "qb_" and 256 random bits, which is to be shown once and kept nowhere,
// and the record to store. It fails for terms that no request could ever meet.
func NewToken(terms TokenTerms) (secret string, t bridge.Token, err error) {
	switch {
	case strings.TrimSpace(string(terms.Agent)) == "":
		return "", bridge.Token{}, fmt.Errorf("a token needs an agent")
	case len(terms.Rooms) == 0 || slices.Contains(terms.Rooms, ""):
		return "", bridge.Token{}, fmt.Errorf(`a token needs the rooms that it is for, or "*"`)
	case terms.ExpiresAt != nil && !terms.ExpiresAt.After(terms.Now):
		return "", bridge.Token{}, fmt.Errorf("a token must expire in the future")
	}
	for _, scope := range terms.Scopes {
		if scope != ScopeAsk && scope != ScopeRead && scope != ScopeCancel {
			return "", bridge.Token{}, fmt.Errorf("there is no scope %q: a token may %s, %s and %s", scope, ScopeAsk, ScopeRead, ScopeCancel)
		}
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand.Read crashes the program instead
	secret = "qb_" + base64.RawURLEncoding.EncodeToString(random[:])
	return secret, bridge.Token{
		ID: "tok_" + strings.ToLower(rand.Text()[:12]), Agent: terms.Agent, Hash: sha256.Sum256([]byte(secret)),
		Rooms: terms.Rooms, Scopes: terms.Scopes, CreatedAt: terms.Now, ExpiresAt: terms.ExpiresAt,
	}, nil
}
