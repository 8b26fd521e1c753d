package testserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// postgresEnv names the environment variable that holds the URL of a PostgreSQL server to use instead of our own.
	postgresEnv = "QUESTION_TEST_POSTGRES"

	debianPostgres   = "/usr/lib/postgresql/15/bin"
	howToGetPostgres = "install it with `apt-get install postgresql-15`, or set " + postgresEnv +
		" to the postgres:// URL of a server where we may create databases"
)

// Postgres returns the URL of a PostgreSQL server on which NewDatabase can make databases: the one that
// QUESTION_TEST_POSTGRES names, else a private PostgreSQL 15 that it starts in a temporary directory, on a Unix socket.
// stop ends the private one and removes its directory; it may be called again.
//
// The private server forgets what it has if the machine crashes: it never waits for the disk. PostgreSQL refuses to run
// as root, so root runs it as the user postgres.
func Postgres(ctx context.Context) (dsn string, stop func(), err error) {
	if dsn := os.Getenv(postgresEnv); dsn != "" {
		if _, err := serverURL(dsn); err != nil {
			return "", nil, fmt.Errorf("%s: %w", postgresEnv, err)
		}
		return dsn, func() {}, nil
	}
	dsn, stop, err = startPostgres(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return dsn, stop, nil
}

func startPostgres(ctx context.Context) (dsn string, stop func(), err error) {
	bin, err := postgresPrograms(debianPostgres)
	if err != nil {
		return "", nil, err
	}
	dir, err := postgresDir()
	if err != nil {
		return "", nil, err
	}
	c, err := runPostgres(ctx, bin, dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	stop = sync.OnceFunc(func() {
		_ = c.stop(syscall.SIGINT, 10*time.Second) // "fast": roll back and disconnect everybody
		_ = os.RemoveAll(dir)
	})
	return fmt.Sprintf("postgres://postgres@/postgres?host=%s&sslmode=disable", escapeQuery(dir)), stop, nil
}

// postgresDir makes the server's directory, under /tmp where the usual place would make the socket's path longer than the
// 107 bytes that it may have.
func postgresDir() (string, error) {
	const name, socket = "question-postgres-", "/0123456789/.s.PGSQL.5432"
	base := os.TempDir()
	if len(base)+len(name)+len(socket) > 107 {
		base = "/tmp"
	}
	return os.MkdirTemp(base, name)
}

// runPostgres makes a database cluster in dir and starts a server on it, whose socket is in dir too. Whoever can enter
// dir, which is its owner, may connect.
func runPostgres(ctx context.Context, bin, dir string) (*child, error) {
	prepare, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if err := prepare(initdb); err != nil {
		return nil, err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	logPath := filepath.Join(dir, "postgres.log")
	log, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
	cmd.Stdout, cmd.Stderr = log, log
	if err := prepare(cmd); err != nil {
		return nil, err
	}
	// On SIGQUIT it ends at once and takes its own children along, which SIGKILL would not.
	c, err := startChild(cmd, syscall.SIGQUIT)
	if err != nil {
		return nil, err
	}
	if err := waitPostgres(ctx, c, filepath.Join(data, "postmaster.pid")); err != nil {
		_ = c.stop(syscall.SIGQUIT, 10*time.Second)
		text, _ := os.ReadFile(logPath)
		return nil, fmt.Errorf("%w; it logged:\n%s", err, text)
	}
	return c, nil
}

// waitPostgres waits until the server's own file says that it is ready.
func waitPostgres(ctx context.Context, c *child, pidFile string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return fmt.Errorf("it ended while starting: %w", c.err)
		case <-ctx.Done():
			return fmt.Errorf("it did not get ready: %w", ctx.Err())
		case <-tick.C:
		}
		text, _ := os.ReadFile(pidFile)
		if lines := strings.Split(string(text), "\n"); len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
	}
}

// unprivileged gives dir to the user postgres when we are root. It returns what makes a command run there, as that user.
func unprivileged(dir string) (func(*exec.Cmd) error, error) {
	inDir := func(cmd *exec.Cmd) error {
		cmd.Dir = dir
		cmd.Env = withoutPG(os.Environ())
		return nil
	}
	if os.Geteuid() != 0 {
		return inDir, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w; %s", err, howToGetPostgres)
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return nil, fmt.Errorf("user postgres: %w", err)
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) error {
		_ = inDir(cmd)
		return runAs(cmd, uint32(uid), uint32(gid))
	}, nil
}

// postgresPrograms returns the folder that holds initdb, postgres and psql: the one PATH leads to, else the given one.
func postgresPrograms(fallback string) (string, error) {
	var folders []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(path))
		}
	}
	folders = append(folders, fallback)
	for _, folder := range folders {
		complete := true
		for _, name := range []string{"initdb", "postgres", "psql"} {
			complete = complete && checkProgram(filepath.Join(folder, name)) == nil
		}
		if complete {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no initdb, postgres and psql in PATH or %s; %s", fallback, howToGetPostgres)
}

// withoutPG drops the variables that would send PostgreSQL's programs elsewhere.
func withoutPG(env []string) []string {
	var kept []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, "PG") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// escapeQuery escapes for PostgreSQL's URLs, where a plus is a plus.
func escapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
