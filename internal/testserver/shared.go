package testserver

import (
	"context"
	"errors"
	"sync"
	"time"
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

// NewDatabase makes a fresh empty database, see the function [NewDatabase], and gives its URL and what drops it.
func (p *SharedPostgres) NewDatabase(ctx context.Context, name string) (dsn string, drop func() error, err error) {
	p.once.Do(func() { p.server, p.stop, p.err = Postgres(context.WithoutCancel(ctx)) })
	if p.err != nil {
		return "", nil, p.err
	}
	if dsn, err = NewDatabase(ctx, p.server, name); err != nil {
		return "", nil, err
	}
	return dsn, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		return DropDatabase(ctx, dsn)
	}, nil
}

const dropTimeout = 10 * time.Second

// Stop ends the server if it was started. No database is made after that.
func (p *SharedPostgres) Stop() {
	p.once.Do(func() { p.err = errStopped })
	if p.stop != nil {
		p.stop()
	}
}
