package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/internal/command"
)

func newCertificate() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "certificate COMMAND",
		Short:   "Check certificates of approvals",
		Example: "  question certificate verify approval.json --key \"$KEY\"",
		RunE:    func(*cobra.Command, []string) error { return errors.New("a command is needed: verify") },
	}
	cmd.AddCommand(newCertificateVerify())
	return cmd
}

const verifyHelp = `Say whether a certificate is genuine, and what was approved, by whom and when.

FILE must hold the exact bytes of the certificate, as "question show ID --certificate FILE" writes them. The keys to trust
come from --key or --keys, offline, or from the list that the server publishes.

A script that acts on an approval should say what it is about to do, with --subject-id, --digest, --schema and
--revision: each must be exactly what the certificate says. A certificate whose subject has lapsed is not accepted, unless
--lapsed says that it is only looked at. Whoever acts on a certificate that grants "once" must also keep a list of the
certificate ids it has acted on, and refuse one that is on it.

Exit codes:
    0  genuine, and of what was expected
    1  an error: the keys could not be had
    2  the command line is wrong, or FILE cannot be read
    5  no genuine certificate of these keys
    6  genuine, but not of what was expected, or too late`

func newCertificateVerify() *cobra.Command {
	var keys keySource
	var e demand
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Say whether a certificate is genuine, and what it is of",
		Long:  verifyHelp,
		Example: "  question show \"$id\" --certificate approval.json\n" +
			"  question certificate verify approval.json --key \"$KEY\" --digest \"$DIGEST\" --revision 3 && ./deploy.sh",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return errors.New("one FILE is needed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(keys.check(cmd), e.check(cmd)); err != nil {
				return err
			}
			raw, err := readUpTo(cmd, args, certificate.MaxBytes)
			if err != nil {
				return err
			}
			trusted, err := keys.read(cmd)
			if err != nil {
				return err
			}
			v := judgement{now: time.Now()}
			if v.signed, v.refused = certificate.Verify(raw, trusted); v.refused == nil {
				v.key, v.unmet = keyOf(v.signed.KeyID, trusted), e.unmet(v.signed.Payload, v.now)
			}
			return v.write(cmd, asJSON)
		},
	}
	cmd.ValidArgsFunction = command.FileNames
	keys.flags(cmd)
	e.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// demand is what a certificate should be of, as the command line says it.
type demand struct {
	subject, digest, schema *string // nil for whatever it is
	revision                *int64
	atMost                  time.Duration
	lapsed                  bool

	given struct {
		subject, digest, schema string
		revision                int64
	}
}

func (e *demand) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.given.subject, "subject-id", "", "the `ID` that the subject must have")
	f.StringVar(&e.given.digest, "digest", "", "the `DIGEST` that the subject must have")
	f.StringVar(&e.given.schema, "schema", "", "the `SCHEMA` that the subject must have")
	f.Int64Var(&e.given.revision, "revision", 0, "the revision that the subject must have")
	f.DurationVar(&e.atMost, "at-most", 0, "how long ago it may have been approved, like 15m (default: any time)")
	f.BoolVar(&e.lapsed, "lapsed", false, "accept it also when its subject has lapsed: it is looked at, not acted on")
}

// check takes the flags that are given. An empty one is most likely a variable that was never set, and would match nothing.
func (e *demand) check(cmd *cobra.Command) error {
	for name, f := range map[string]struct {
		given string
		into  **string
	}{"subject-id": {e.given.subject, &e.subject}, "digest": {e.given.digest, &e.digest}, "schema": {e.given.schema, &e.schema}} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if f.given == "" {
			return fmt.Errorf("--%s is empty", name)
		}
		*f.into = &f.given
	}
	if cmd.Flags().Changed("revision") {
		e.revision = &e.given.revision
	}
	if cmd.Flags().Changed("at-most") && e.atMost <= 0 {
		return errors.New("--at-most must be longer than nothing")
	}
	return nil
}

// clockSlack is how far the clocks of server and verifier may be apart before an approval counts as one of the future.
const clockSlack = 5 * time.Minute

// unmet says what about a genuine certificate is not as expected, one sentence for each.
func (e *demand) unmet(p certificate.Payload, now time.Time) (unmet []string) {
	differs := func(what string, got string, want *string) {
		if want != nil && got != *want {
			unmet = append(unmet, fmt.Sprintf("the %s is %s, not %s", what, oneLine(got), oneLine(*want)))
		}
	}
	differs("subject's id", p.Subject.ID, e.subject)
	differs("digest", p.Subject.Digest, e.digest)
	differs("schema", p.Subject.Schema, e.schema)
	if e.revision != nil && p.Subject.Revision != *e.revision {
		unmet = append(unmet, fmt.Sprintf("the revision is %d, not %d", p.Subject.Revision, *e.revision))
	}
	if at := p.Subject.ExpiresAt; at != nil && !now.Before(*at) && !e.lapsed {
		unmet = append(unmet, "the subject has lapsed at "+at.Format(timeFormat))
	}
	if age := now.Sub(p.ApprovedAt); e.atMost > 0 && (age > e.atMost || age < -clockSlack) {
		unmet = append(unmet, fmt.Sprintf("it was approved at %s, not within %s", p.ApprovedAt.Format(timeFormat), e.atMost))
	}
	return unmet
}

func keyOf(id string, keys []certificate.Key) (found certificate.Key) {
	for _, k := range keys {
		if k.ID == id && (found.ID == "" || k.CreatedAt != nil) {
			found = k
		}
	}
	return found
}

// showCertificate writes the exact bytes of the certificate of a question's answer.
func showCertificate(cmd *cobra.Command, document []byte, file string) error {
	raw, err := certificateOf(document)
	if err != nil {
		return exitf(exitFailed, "%s", err)
	}
	if file == "-" {
		_, err = cmd.OutOrStdout().Write(raw)
		return written(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		return exitf(exitUsage, "cannot write %s: %s", file, command.Plain(err))
	}
	return nil
}
