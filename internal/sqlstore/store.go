// Package sqlstore keeps everything in one SQL database, SQLite or PostgreSQL, by one code path and one SQL text. It is
// the only package that writes SQL.
//
// Inside a transaction every call needs the ctx of that transaction: with an outer one it waits for a lock that its own
// caller holds. No read leaves rows or a transaction open: lists are read whole before they are returned.
package sqlstore

import (
	"context"
	"errors"
	"fmt"

	_ "github.com/lib/pq"
	"github.com/rs/zerolog"
	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/sqlstore/upgrades"
)

var _ bridge.Store = (*Store)(nil)

// The values of Config.Type.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// owner marks our databases, so that another program's is refused.
const owner = "question-bridge"

// Config says where the database is.
type Config struct {
	Type         string // SQLite or Postgres
	Path         string // of the file, for SQLite
	URI          string // postgres://…, for Postgres
	MaxOpenConns int    // 0 for 8 (SQLite: readers beside the one writer) or 16 (Postgres)
	// Serving takes the lock that one process at a time may hold; ErrServed says that another has it. Commands that
	// only look or change a token open without it.
	Serving bool
	// Waiting makes Open wait for that other one to end. It is called once, with who that is, if there is one.
	Waiting func(holder string)
	Log     zerolog.Logger
}

// Store is the database.
type Store struct {
	db      *dbutil.Database
	dialect dialect
	door    door
	path    string // of SQLite's file
	serving serving
}

// Open opens the database, makes it if there is none (SQLite), and brings its schema up to date. One written by a newer
// program is refused.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := s.prepare(ctx, c); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), s.Close())
	}
	return s, nil
}

func connect(c Config) (*Store, error) {
	s := &Store{path: c.Path, serving: serving{release: func() {}}}
	config := dbutil.Config{}
	switch c.Type {
	case SQLite:
		uri, err := sqliteURI(c.Path)
		if err != nil {
			return nil, err
		}
		config.PoolConfig = dbutil.PoolConfig{Type: sqliteDriver, URI: uri, MaxOpenConns: 8}
		s.dialect = sqliteDialect
	case Postgres:
		if c.URI == "" {
			return nil, errors.New("no PostgreSQL address")
		}
		config.PoolConfig = dbutil.PoolConfig{Type: "postgres", URI: c.URI, MaxOpenConns: 16}
		s.dialect = postgresDialect
	default:
		return nil, fmt.Errorf("database type %q is neither %s nor %s", c.Type, SQLite, Postgres)
	}
	if c.MaxOpenConns > 0 {
		config.MaxOpenConns = c.MaxOpenConns
	}
	s.door = newDoor(config.MaxOpenConns)
	if c.Type == SQLite {
		s.door = newSharedDoor()
	} else if c.Serving {
		config.MaxOpenConns++ // the one that holds the lock
	}
	config.MaxIdleConns = config.MaxOpenConns
	db, err := dbutil.NewFromConfig(owner, config, queryLog{c.Log})
	if err != nil {
		return nil, err
	}
	db.IgnoreForeignTables = false
	db.UpgradeTable = upgrades.Table
	s.db = db
	return s, nil
}

func (s *Store) prepare(ctx context.Context, c Config) error {
	if c.Serving {
		lock, err := s.serve(ctx, c)
		if err != nil {
			return err
		}
		s.serving = lock
	}
	if err := s.db.RawDB.PingContext(ctx); err != nil {
		return err
	}
	return s.db.Upgrade(ctx)
}

// Close ends every connection and gives the serving lock back.
func (s *Store) Close() error {
	err := s.db.Close()
	s.serving.release()
	return err
}

// Database is the connection pool, for libraries that bring tables of their own.
func (s *Store) Database() *dbutil.Database { return s.db }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.db.QueryRow(ctx, "SELECT 1").Scan(&one)
}
