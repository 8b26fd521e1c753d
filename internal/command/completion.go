package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completion is the command that prints the script with which a shell completes command lines of this program.
func completion(program string) *cobra.Command {
	write := map[string]func(*cobra.Command) error{
		"bash": func(cmd *cobra.Command) error { return cmd.Root().GenBashCompletionV2(cmd.OutOrStdout(), true) },
		"zsh":  func(cmd *cobra.Command) error { return cmd.Root().GenZshCompletion(cmd.OutOrStdout()) },
		"fish": func(cmd *cobra.Command) error { return cmd.Root().GenFishCompletion(cmd.OutOrStdout(), true) },
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the script with which a shell completes command lines of this program",
		Long: fmt.Sprintf(`Print the script with which a shell completes command lines of this program.

In bash, which needs the package bash-completion:
    source <(%[1]s completion bash)
In zsh, after compinit:
    source <(%[1]s completion zsh)
In fish:
    %[1]s completion fish | source`, program),
		Example:   fmt.Sprintf("  %[1]s completion bash > /etc/bash_completion.d/%[1]s", program),
		ValidArgs: []cobra.Completion{"bash", "zsh", "fish"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || write[args[0]] == nil {
				return errors.New("one shell is needed: bash, zsh or fish")
			}
			return nil
		},
		Run: func(cmd *cobra.Command, args []string) { _ = write[args[0]](cmd) }, // Run tells of an output that fails
	}
}

// Values has a shell complete the value of a flag by those that there are.
func Values(cmd *cobra.Command, flag string, values ...string) {
	Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// List is [Values] for a flag that takes several, with commas between them.
func List(cmd *cobra.Command, flag string, values ...string) {
	Complete(cmd, flag, func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var left []cobra.Completion
		for _, v := range values {
			if !slices.Contains(strings.Split(before, ","), v) {
				left = append(left, before+v)
			}
		}
		return left, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// Files has a shell complete the values of flags by the names of files. It completes no other value so, unless a command
// says it.
func Files(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		Complete(cmd, flag, FileNames)
	}
}

// FileNames completes arguments by the names of files: a command's ValidArgsFunction.
func FileNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Complete has a shell complete the value of a flag by a function.
func Complete(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command has no such flag: any test finds it
	}
}
