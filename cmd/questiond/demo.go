package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"superpipeline.dev/question-bridge/internal/app"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/sealedclient"
	"superpipeline.dev/question-bridge/internal/testserver"
)

// demoFlags is what the command line says.
type demoFlags struct {
	data     string
	dendrite string
	json     bool
	// encrypted turns encryption on in the room, for good.
	encrypted bool
	ports     demoPorts // 0 for any
}

// demoPorts are the loopback ports of the three programs' sides.
type demoPorts struct {
	Homeserver int `json:"homeserver"`
	API        int `json:"api"`
	Appservice int `json:"appservice"`
}

func newDemo() *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try everything out: a homeserver, two people, a room and the bridge, on this machine alone",
		Long: `Try everything out: start a Dendrite homeserver and the bridge on loopback, with the
users alice (workspace admin) and bob, one room with both, and an agent's token.

Without --data everything is gone at the end; with it, the next demo on the same
folder resumes. On a terminal you can answer as alice and bob, and see the room.

With --encrypted the room is encrypted, and stays so in its folder.`,
		Example: "  questiond demo\n  questiond demo --encrypted\n  questiond demo --data ./demo --port-homeserver 8008\n  questiond demo --json",
		Args:    command.NoArguments,
	}
	f := cmd.Flags()
	f.StringVar(&flags.data, "data", "", "the `DIR` to keep everything in (default: a temporary one, removed at the end)")
	f.StringVar(&flags.dendrite, "dendrite", "", "the Dendrite `PROGRAM` (default: $QUESTION_DENDRITE, or the one beside questiond)")
	f.BoolVar(&flags.json, "json", false, "print one line of JSON when ready, then serve until SIGTERM")
	f.BoolVar(&flags.encrypted, "encrypted", false, "make the room an encrypted one")
	f.IntVar(&flags.ports.Homeserver, "port-homeserver", 0, "the homeserver's `PORT` (default: a free one)")
	f.IntVar(&flags.ports.API, "port-api", 0, "the bridge's `PORT` for askers (default: a free one)")
	f.IntVar(&flags.ports.Appservice, "port-appservice", 0, "the bridge's `PORT` for the homeserver (default: a free one)")
	command.Files(cmd, "data", "dendrite")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := flags.ports.check(); err != nil {
			return err
		}
		d := &demo{flags: flags, stdin: cmd.InOrStdin(), seated: isTerminal(cmd.InOrStdin()), stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), bridge: runBridge}
		if err := d.run(cmd.Context()); err != nil {
			return failf("%s", err)
		}
		return nil
	}
	return cmd
}

func (p demoPorts) check() error {
	for _, port := range []int{p.Homeserver, p.API, p.Appservice} {
		if port < 0 || port > 65535 {
			return fmt.Errorf("%d is not a port: 1 to 65535, or 0 for a free one", port)
		}
	}
	return nil
}

// runBridge is app.Run, unless a test puts something in its place.
var runBridge = app.Run

// The demo's whole start takes seconds; a machine that needs longer than this is stuck.
const demoStart = 2 * time.Minute

// demo is one run of the demo.
type demo struct {
	flags          demoFlags
	stdin          io.Reader
	seated         bool // somebody sits at stdin
	stdout, stderr io.Writer
	bridge         func(context.Context, app.Options) error

	dir        *demoDir
	config     config.Config
	homeserver *testserver.Server
	alice, bob *testserver.User
	sealed     map[string]*sealedclient.Client // both people again, where the room is encrypted
	room       string                          // its id
	token      string                          // the agent's
	at         app.Addresses
}

// run starts everything, says so, and keeps it up until it is asked to end, somebody quits, or something fails.
func (d *demo) run(ctx context.Context) (err error) {
	asked, stop := untilSignalled(ctx)
	defer stop()
	if d.dir, err = openDemoDir(asked, d.flags.data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.dir.close()) }()

	up, fail := context.WithCancelCause(asked)
	defer fail(nil)
	started, done := context.WithTimeoutCause(up, demoStart, errors.New("starting took too long"))
	defer done()
	end, err := d.start(started, fail)
	defer func() { err = errors.Join(err, end()) }()
	if err == nil {
		err = d.serve(up)
	}
	switch {
	case asked.Err() != nil:
		return nil
	case up.Err() != nil: // what failed first explains the rest
		return context.Cause(up)
	}
	return err
}

// serve says where everything is, and lets people talk until ctx ends or somebody quits.
func (d *demo) serve(ctx context.Context) error {
	if d.flags.json {
		if err := d.writeJSON(d.stdout); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	d.writeText(d.stdout)
	stage := newStage(d)
	return stage.play(ctx)
}

// isTerminal says whether somebody sits at the other end.
func isTerminal(r io.Reader) bool {
	file, ok := r.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
