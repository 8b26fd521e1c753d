package testserver

import (
	"context"
	"errors"
	"sync"
)

var errStopped = errors.New("the shared PostgreSQL was stopped")

// SharedPostgres is one PostgreSQL for all tests of a package, see [Postgres], which starts when the first of them wants
// a database. The zero value is ready; its methods may be called from several goroutines.
type SharedPostgres struct {
	once   sync.Once
	server string
	stop   func()
	err    error
}

// NewDatabase makes a fresh empty database and returns its URL, see the function [NewDatabase].
func (p *SharedPostgres) NewDatabase(ctx context.Context, name string) (string, error) {
	p.once.Do(func() { p.server, p.stop, p.err = Postgres(context.WithoutCancel(ctx)) })
	if p.err != nil {
		return "", p.err
	}
	return NewDatabase(ctx, p.server, name)
}

// Stop ends the server if it was started. No database is made after that.
func (p *SharedPostgres) Stop() {
	p.once.Do(func() { p.err = errStopped })
	if p.stop != nil {
		p.stop()
	}
}
