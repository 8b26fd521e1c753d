package testserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
)

// databasePrefix begins the name of every database that NewDatabase makes.
const databasePrefix = "question_test_"

// NewDatabase makes a fresh empty database on the server at this URL, and returns the database's own URL. name, like
// t.Name(), becomes part of the database's name; two calls never get the same one.
func NewDatabase(ctx context.Context, server, name string) (string, error) {
	address, err := serverURL(server)
	if err != nil {
		return "", fmt.Errorf("new database: %w", err)
	}
	database := databaseName(name)
	// template0 has no sessions that could be in the way.
	if err := runSQL(ctx, *address, "CREATE DATABASE "+database+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return "", fmt.Errorf("new database %s: %w", database, err)
	}
	address.Path = "/" + database
	return address.String(), nil
}

// DropDatabase removes a database that NewDatabase made, and disconnects whoever uses it. It refuses any other.
func DropDatabase(ctx context.Context, dsn string) error {
	address, err := serverURL(dsn)
	if err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	database := strings.TrimPrefix(address.Path, "/")
	if !strings.HasPrefix(database, databasePrefix) || database != safeName(database) {
		return fmt.Errorf("drop database: %q is not one that NewDatabase made", database)
	}
	address.Path = "/postgres"
	if err := runSQL(ctx, *address, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %s: %w", database, err)
	}
	return nil
}

// databaseName makes a name within PostgreSQL's 63 bytes that needs no quotes.
func databaseName(name string) string {
	safe := safeName(name)
	return databasePrefix + safe[:min(len(safe), 35)] + "_" + strings.ToLower(rand.Text()[:12])
}

func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
}

func serverURL(dsn string) (*url.URL, error) {
	address, err := url.Parse(dsn)
	if err != nil {
		// Its text holds the whole URL, password and all.
		return nil, errors.New("the PostgreSQL address is not a URL")
	}
	if address.Scheme != "postgres" && address.Scheme != "postgresql" {
		return nil, fmt.Errorf("the PostgreSQL address must be a postgres:// URL, not %q", address.Scheme)
	}
	return address, nil
}

// runSQL runs one statement through psql, and keeps the password off its command line.
func runSQL(ctx context.Context, address url.URL, statement string) error {
	psql, err := psqlProgram()
	if err != nil {
		return err
	}
	password, _ := address.User.Password()
	if address.User != nil {
		address.User = url.User(address.User.Username())
	}
	cmd := exec.CommandContext(ctx, psql, "--no-psqlrc", "--quiet", "--no-password",
		"--set", "ON_ERROR_STOP=1", "--command", statement, "--dbname", address.String())
	cmd.Env = withoutPG(cmd.Environ())
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

func psqlProgram() (string, error) {
	if folder, err := postgresPrograms(debianPostgres); err == nil {
		return filepath.Join(folder, "psql"), nil
	}
	psql, err := exec.LookPath("psql")
	if err != nil {
		return "", fmt.Errorf("%w; install it with `apt-get install postgresql-client-15`", err)
	}
	return psql, nil
}
