package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

// Identity finds out whose a Matrix OpenID token is; the channel implements it.
type Identity interface {
	// OpenIDUser asks a homeserver whose token this is. The error is a *bridge.Error: CodeServerNotListed for a homeserver
	// whose people may not sign in, CodeOpenIDRefused where it does not vouch for a user of its own. Any other error says
	// that it could not be asked; of a *bridge.ErrRetry, when to ask again.
	OpenIDUser(ctx context.Context, server, token string) (bridge.UserID, error)
}

// Sessions keeps the sessions of people who signed in. [Tokens] finds them as other tokens, and they are revoked as such.
type Sessions interface {
	// OpenSession keeps a session, and the hash of the OpenID token that it was opened with; opened is false, and nothing is
	// kept, where that token was used before. Of several at once one wins.
	OpenSession(ctx context.Context, openID [32]byte, t bridge.Token) (opened bool, err error)
}

// SignIn is how people sign in. Without an Identity nobody does, and no session opens anything.
type SignIn struct {
	Identity   Identity
	Sessions   Sessions
	MayApprove bool // as the engine is told: a session may do whatever a person's own token may
}

// SessionLifetime is how long a session lives, whatever the OpenID token says of itself.
const SessionLifetime = 15 * time.Minute

// signIn exchanges a Matrix OpenID token for a session. Who that is, the homeserver says, and nothing else of the request.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) error {
	err := s.openSession(w, r)
	s.refused(r.Context(), &bridge.AuditRecord{Action: bridge.AuditSignInRefused, Via: bridge.ViaOpenID}, err)
	return err
}

func (s *server) openSession(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if s.SignIn.Identity == nil {
		return newProblem(codeSignInOff, "Nobody signs in here with a Matrix OpenID token. Whoever runs the server can make a responder token.")
	}
	if err := s.spend(s.signInBudget(s.clientAddress(r))); err != nil {
		return err
	}
	token, err := openIDToken(w, r)
	if err != nil {
		return err
	}
	who, err := s.SignIn.Identity.OpenIDUser(ctx, token.MatrixServerName, token.AccessToken)
	if err != nil {
		return signInProblem(ctx, err)
	}
	now := s.Clock.Now()
	until := now.Add(SessionLifetime)
	secret, session, err := NewToken(TokenTerms{User: who, Session: true, Now: now, ExpiresAt: &until})
	if err != nil {
		return err
	}
	opened, err := s.SignIn.Sessions.OpenSession(ctx, sha256.Sum256([]byte(token.AccessToken)), session)
	if err != nil {
		return err
	}
	if !opened {
		return newProblem(codeOpenIDUsed, "This token was used already: each one signs in once. Ask the homeserver for another one.").
			with("WWW-Authenticate", invalidToken)
	}
	s.Audit.Record(ctx, bridge.AuditRecord{
		At: now, Action: bridge.AuditSignedIn, User: who, Via: bridge.ViaOpenID,
		Origin: bridge.Origin{Request: bridge.OriginOf(ctx).Request, Token: session.ID},
	})
	zerolog.Ctx(ctx).Info().Str("user_id", string(who)).Str("token", session.ID).Msg("Signed in")
	return reply(w, http.StatusOK, dialect.ToSession(session, secret, s.SignIn.MayApprove))
}

func openIDToken(w http.ResponseWriter, r *http.Request) (*schema.OpenIDToken, error) {
	raw, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	token, err := schema.Decode[schema.OpenIDToken](raw)
	var refused *schema.Refusal
	if errors.As(err, &refused) {
		return nil, problemOfRefusal(refused, codeOfSignInFault)
	}
	return token, err
}

// signInProblem words why nobody is vouched for.
func signInProblem(ctx context.Context, err error) error {
	var known *bridge.Error
	if ctx.Err() != nil || errors.As(err, &known) {
		p := problemOf(err)
		if p.Status == http.StatusUnauthorized {
			p.with("WWW-Authenticate", invalidToken)
		}
		return p
	}
	p := unavailable("The homeserver cannot be asked right now who this is. Please try again.", err)
	if later := new(bridge.ErrRetry); errors.As(err, &later) {
		p.retryAfter(later.After)
	}
	return p
}

// surface is the one that a person's token answers by.
func surface(t bridge.Token) bridge.Via {
	if t.Session {
		return bridge.ViaOpenID
	}
	return bridge.ViaAPI
}
