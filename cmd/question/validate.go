package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func newValidate() *cobra.Command {
	var kindName string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "validate" + fileOrStdin,
		Short:   "Say whether a document is valid, and if not, which rule refuses it and where",
		Example: "  question validate event.json",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, ok := schema.KindNamed(kindName)
			if !ok {
				return fmt.Errorf("unknown kind %q; the kinds are %s", kindName, strings.Join(kindNames(), ", "))
			}
			raw, err := readDocument(cmd, args)
			if err != nil {
				return err
			}
			_, err = kind.Decode(raw)
			return writeVerdict(cmd, verdict{kind: kind, err: err, asJSON: asJSON})
		},
	}
	cmd.ValidArgsFunction = command.FileNames
	cmd.Flags().StringVar(&kindName, "kind", schema.EventType, "`KIND` of document")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	command.Values(cmd, "kind", kindNames()...)
	return cmd
}

func kindNames() (names []string) {
	for _, k := range schema.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// verdict is what became of one document.
type verdict struct {
	kind   schema.Kind
	err    error
	asJSON bool
}

type verdictJSON struct {
	Valid  bool           `json:"valid"`
	Kind   string         `json:"kind"`
	Rule   schema.Rule    `json:"rule"` // "" when valid
	Faults []schema.Fault `json:"faults"`
	More   int            `json:"more"`
}

func writeVerdict(cmd *cobra.Command, v verdict) error {
	out := cmd.OutOrStdout()
	var refusal *schema.Refusal
	if v.err != nil && !errors.As(v.err, &refusal) {
		return exitf(exitFailed, "the document could not be checked")
	}
	switch {
	case v.asJSON:
		result := verdictJSON{Valid: refusal == nil, Kind: v.kind.Name, Faults: []schema.Fault{}}
		if refusal != nil {
			result.Rule, result.Faults, result.More = refusal.Rule(), refusal.Faults, refusal.More
		}
		if err := writeJSON(out, result); err != nil {
			return exitf(exitUsage, "cannot write the output: %s", command.Plain(err))
		}
	case refusal == nil:
		fmt.Fprintln(out, "valid")
	default:
		writeFaults(out, refusal)
	}
	if refusal != nil {
		return exitWith(exitFailed)
	}
	return nil
}
