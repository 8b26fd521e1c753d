package testserver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDatabases(t *testing.T) {
	ctx := within(t)
	server := must(sharedPostgres())(t)
	first := must(NewDatabase(ctx, server, t.Name()+"/with: odd \"name'"))(t)
	second := must(NewDatabase(ctx, server, t.Name()+"/with: odd \"name'"))(t)
	if first == second {
		t.Fatal("two databases have one name")
	}
	sql(t, first, "CREATE TABLE answers (id text)")
	equal(t, "tables in the other", sql(t, second, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0")
	equal(t, "encoding", sql(t, first, "SHOW server_encoding"), "UTF8")
	if version := sql(t, first, "SHOW server_version"); os.Getenv(postgresEnv) == "" && !strings.HasPrefix(version, "15") {
		t.Logf("PostgreSQL is version %s, not 15", version)
	}

	noError(t, DropDatabase(ctx, first))
	noError(t, DropDatabase(ctx, first))
	left := sql(t, server, "SELECT datname FROM pg_database")
	equal(t, "the dropped one is there", strings.Contains(left, databaseOf(t, first)), false)
	equal(t, "the other is there", strings.Contains(left, databaseOf(t, second)), true)
	wantError(t, DropDatabase(ctx, server), "not one that NewDatabase made")
	wantError(t, DropDatabase(ctx, second+"\"; x"), "drop database")
}

func TestDatabaseNames(t *testing.T) {
	for _, name := range []string{"", "Ünïcode", strings.Repeat("long", 50), "a;DROP"} {
		got := databaseName(name)
		if len(got) > 63 || got != safeName(got) {
			t.Errorf("%q became %q", name, got)
		}
	}
}

// A server that somebody else gives is used as it is, and its password never shows.
func TestGivenPostgres(t *testing.T) {
	ctx := within(t)
	server := must(sharedPostgres())(t)
	t.Setenv(postgresEnv, server)
	dsn, stop, err := Postgres(ctx)
	noError(t, err)
	equal(t, "address", dsn, server)
	stop()
	must(NewDatabase(ctx, dsn, "still there"))(t)

	for _, bad := range []string{"host=localhost dbname=x", "mysql://x", "postgres://u:secret@[bad"} {
		t.Setenv(postgresEnv, bad)
		_, _, err := Postgres(ctx)
		wantError(t, err, postgresEnv)
		if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
	_, err = NewDatabase(ctx, "postgres://u:secret@127.0.0.1:1/postgres", "nowhere")
	wantError(t, err, "psql")
	if strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	t.Setenv(postgresEnv, "")
	base := filepath.Join(t.TempDir(), "a #1 50% & b")
	noError(t, os.MkdirAll(base, 0o755))
	for dir := base; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		noError(t, os.Chmod(dir, 0o755)) // the user postgres must get there
	}
	t.Setenv("TMPDIR", base)
	dsn, stop, err := Postgres(within(t))
	noError(t, err)
	database := must(NewDatabase(within(t), dsn, "odd folder"))(t)
	equal(t, "answer", sql(t, database, "SELECT 6 * 7"), "42")
	stop()
	stop()
	equal(t, "files left", len(must(os.ReadDir(base))(t)), 0)
}

func TestPostgresInALongFolder(t *testing.T) {
	t.Setenv(postgresEnv, "")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("long", 20)))
	dsn, stop, err := Postgres(within(t))
	noError(t, err)
	defer stop()
	equal(t, "answer", sql(t, dsn, "SELECT 6 * 7"), "42")
}

func TestMissingPostgresNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := postgresPrograms(t.TempDir())
	wantError(t, err, "apt-get install postgresql-15")
	wantError(t, err, postgresEnv)
}

func TestPostgresStartEndsWithItsContext(t *testing.T) {
	t.Setenv(postgresEnv, "")
	ended, cancel := context.WithCancel(within(t))
	cancel()
	_, _, err := Postgres(ended)
	wantError(t, err, "start PostgreSQL")
}

func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	return strings.TrimPrefix(must(serverURL(dsn))(t).Path, "/")
}

func sql(t *testing.T, dsn, statement string) string {
	t.Helper()
	psql := must(psqlProgram())(t)
	out, err := exec.Command(psql, "-X", "-A", "-t", "-c", statement, "-d", dsn).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", statement, err, out)
	}
	return strings.TrimSpace(string(out))
}
