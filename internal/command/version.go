package command

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// build is what the Go toolchain recorded of this program.
type build struct {
	Program  string `json:"program"`
	Version  string `json:"version"`  // the module's
	Revision string `json:"revision"` // the commit, if it is known
	Go       string `json:"go"`       // the toolchain's own version
}

func buildOf(program string) build {
	b := build{Program: program, Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	if b.Version == "" {
		b.Version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

func (b build) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{b.Program, b.Version, b.Revision, b.Go}, " ")), " ")
}

// BuildVersion is the version of the module, the commit if it is known, and the version of Go.
func BuildVersion() string { return buildOf("").String() }

// Version is the command that prints the version of a program.
func Version(program string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  " + program + " version",
		Args:    NoArguments,
	}
	asJSON := cmd.Flags().Bool("json", false, "print it as JSON")
	cmd.Run = func(cmd *cobra.Command, _ []string) {
		if *asJSON {
			_ = json.NewEncoder(cmd.OutOrStdout()).Encode(buildOf(program)) // Run tells of an output that fails
			return
		}
		fmt.Fprintln(cmd.OutOrStdout(), buildOf(program))
	}
	return cmd
}
