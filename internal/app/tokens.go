package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/httpapi"
	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// Tokens are the bearer tokens of agents and of people who answer, as the token commands manage them, also while the bridge runs.
type Tokens struct {
	book  httpapi.TokenBook
	cfg   config.Config
	close func() error
}

// Token is one that was made, without its secret.
type Token = bridge.Token

// Scopes are all scopes that an agent's token may carry.
func Scopes() []string { return httpapi.Scopes() }

// ScopesOf are the scopes of an agent's token.
func ScopesOf(t Token) []string { return httpapi.ScopesOf(t) }

// Grant says what a new token is for.
type Grant struct {
	Agent     string
	User      string   // in place of an agent: the Matrix id of a person, who answers with it
	Rooms     []string // of an agent: room ids, aliases or codes; "*" for every room
	Scopes    []string // of an agent: some of [Scopes]; empty for ask, read and cancel
	ExpiresAt *time.Time
}

// openBeside opens the configured database for a command, also while a bridge serves it.
func openBeside(ctx context.Context, cfg config.Config) (*sqlstore.Store, error) {
	return sqlstore.Open(ctx, databaseOf(cfg, zerolog.Nop()))
}

// databaseOf is where the configured database is.
func databaseOf(cfg config.Config, log zerolog.Logger) sqlstore.Config {
	return sqlstore.Config{Type: cfg.Database.Type, Path: cfg.Database.Path, URI: cfg.Database.URI, Log: log}
}

// OpenTokens opens the tokens of the configured database.
func OpenTokens(ctx context.Context, cfg config.Config) (*Tokens, error) {
	store, err := openBeside(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Tokens{book: store, cfg: cfg, close: store.Close}, nil
}

// Close closes the database.
func (t *Tokens) Close() error { return t.close() }

// Add makes a token and gives its secret, which is kept nowhere.
func (t *Tokens) Add(ctx context.Context, g Grant) (secret string, kept Token, err error) {
	secret, kept, err = httpapi.NewToken(httpapi.TokenTerms{
		Agent: bridge.AgentID(g.Agent), User: bridge.UserID(g.User), Rooms: g.Rooms, Scopes: g.Scopes,
		Now: time.Now().Truncate(time.Millisecond), ExpiresAt: g.ExpiresAt,
	})
	if err != nil {
		return "", Token{}, err
	}
	err = t.recorded(ctx, bridge.AuditTokenAdded, func() (Token, error) { return kept, t.book.AddToken(ctx, kept) })
	if err != nil {
		return "", Token{}, fmt.Errorf("store token: %w", err)
	}
	return secret, kept, nil
}

// List gives every token that was ever made.
func (t *Tokens) List(ctx context.Context) ([]Token, error) { return t.book.ListTokens(ctx) }

// Valid says whether a secret opens the API now.
func (t *Tokens) Valid(ctx context.Context, secret string) (bool, error) {
	_, ok, err := t.book.TokenByHash(ctx, sha256.Sum256([]byte(secret)), time.Now())
	return ok, err
}

// Revoke ends a token at once; found is false when there is none of this id.
func (t *Tokens) Revoke(ctx context.Context, id string) (found bool, err error) {
	err = t.recorded(ctx, bridge.AuditTokenRevoked, func() (Token, error) {
		found, err = t.book.RevokeToken(ctx, id, time.Now().Truncate(time.Millisecond))
		if err == nil && !found {
			return Token{}, nil
		}
		return Token{ID: id}, err
	})
	return found, err
}

// recorded does something to a token and tells the audit log, unless it was none. It is not done where the log cannot be
// opened. A command has no log: what else goes wrong is said where its user looks.
func (t *Tokens) recorded(ctx context.Context, action bridge.AuditAction, do func() (Token, error)) error {
	auditor, closeLog, err := openAuditBeside(t.cfg)
	if err != nil {
		return err
	}
	defer func() { _ = closeLog() }()
	done, err := do()
	if err != nil || done.ID == "" {
		return err
	}
	auditor.Record(zerolog.New(os.Stderr).WithContext(ctx), bridge.AuditRecord{
		At: time.Now(), Action: action, Agent: done.Agent, User: done.User, Via: bridge.ViaCommand, Origin: bridge.Origin{Token: done.ID},
	})
	return nil
}
