package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/command"
	"superpipeline.dev/question-bridge/schema"
)

func newAnswer() *cobra.Command {
	a := &answerer{conn: connection{person: true}}
	cmd := &cobra.Command{
		Use:   "answer ID [OPTION]",
		Short: "Show a question whole, and answer it as yourself",
		Long: `Show a question whole, with the preview of what it is about, ask whether the answer is meant, and give it. OPTION is what a
reply in the room would be: the option's number, its label or its value. For a question of several parts there is one OPTION for
each part, and where more than one may be chosen they are joined by commas. Without OPTION or --text you are asked for it.

What approves an exact operation is sent with the id, digest, schema and revision that were shown, and approves nothing else.
Without a terminal --yes is needed, and for such an approval --digest too: it is refused if the digest is another one.

With --certificate, the certificate of the approval that is given is written too; for "-" it is printed in place of the answer.

It prints the answer that stands and exits 0 when that is yours, also when you gave it before. It exits 7 when another answer
stands, 3 when the question expired, 4 when it was withdrawn, 1 when the answer was refused or not given, and 2 for a wrong
command line. Whatever was refused leaves the question pending.`,
		Example: `  question answer "$id"
  question answer "$id" 2
  question answer "$id" approve --yes --digest "$digest" --certificate approval.json
  question answer "$id" --text "Waiting for the fix" --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return errors.New("a question ID is needed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0], args[1:]) },
	}
	a.conn.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.text, "text", "", "answer with this `TEXT` where text is invited")
	f.StringVar(&a.comment, "comment", "", "say this `COMMENT` with the option")
	f.StringVar(&a.input, "input", "", "give this `INPUT` with an option that takes one")
	f.StringVar(&a.digest, "digest", "", "answer only about the subject with this `DIGEST`")
	f.StringVar(&a.certificate, "certificate", "", "write the certificate of the approval to `FILE`, or to standard output for \"-\", in its exact bytes")
	f.BoolVar(&a.yes, "yes", false, "do not ask whether the answer is meant")
	f.BoolVar(&a.asJSON, "json", false, "print the question as it ended, as the server's JSON document")
	cmd.ValidArgsFunction = a.conn.answers()
	command.Files(cmd, "certificate")
	return cmd
}

// answerer is one answer of a person.
type answerer struct {
	conn                         connection
	text, comment, input, digest string
	certificate                  string
	yes, asJSON                  bool

	cmd   *cobra.Command
	typed *typing // nil where nobody can be asked
}

func (a *answerer) given(flag string) bool { return a.cmd.Flags().Changed(flag) }

func (a *answerer) run(cmd *cobra.Command, id string, options []string) error {
	a.cmd = cmd
	if err := a.check(options); err != nil {
		return err
	}
	api, err := a.conn.respond(cmd)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	q, err := api.Show(ctx, id)
	if err != nil {
		return failed(ctx, cmd, err)
	}
	writeWhole(cmd.ErrOrStderr(), q, time.Now())
	if q.State != schema.Pending && len(options) == 0 && !a.given("text") {
		return a.conclude(q, nil)
	}
	c, err := a.choose(ctx, q, options)
	if err != nil {
		return err
	}
	if a.certificate != "" && (q.Subject == nil || !c.approves) {
		return errors.New("--certificate: only what approves an exact operation has one; nothing was answered")
	}
	if q.State == schema.Pending {
		if err := a.confirm(ctx, q, c); err != nil {
			return err
		}
	}
	q, err = api.Answer(ctx, id, c.body)
	if err != nil {
		return a.refused(ctx, err)
	}
	return a.conclude(q, &c.body)
}

// check refuses command lines that no question could make right.
func (a *answerer) check(options []string) error {
	a.typed = newTyping(a.cmd)
	for _, flag := range []string{"text", "comment", "input", "digest", "certificate"} {
		if a.given(flag) && a.cmd.Flags().Lookup(flag).Value.String() == "" {
			return fmt.Errorf("--%s is empty", flag)
		}
	}
	if a.certificate == "-" && a.asJSON {
		return errors.New("either --certificate - or --json: standard output holds one document")
	}
	answer := len(options) > 0 || a.given("text")
	switch {
	case len(options) > 0 && a.given("text"):
		return errors.New("either an OPTION or --text: an answer is one of them")
	case !answer && (a.yes || a.typed == nil):
		return errors.New("an OPTION or --text is needed: there is nobody to ask")
	case !a.yes && a.typed == nil:
		return errors.New("there is no terminal to ask on whether the answer is meant: --yes says so")
	}
	return nil
}

// confirm makes sure that the answer is meant.
func (a *answerer) confirm(ctx context.Context, q *client.Question, c choice) error {
	approving := q.Subject != nil && c.approves
	switch {
	case a.given("digest") && (q.Subject == nil || q.Subject.Digest != a.digest):
		return exitf(exitFailed, "not answered: the question is not about the subject with this digest; it stays pending")
	case approving && incomplete(q.Subject):
		return exitf(exitFailed, "not answered: the preview is incomplete, so nobody can approve this; it can only be declined")
	case approving && unshowable(q.Subject):
		return exitf(exitFailed, "not answered: this program cannot show all of what would be approved; a newer one can")
	case approving && a.yes && !a.given("digest"):
		return errors.New("--yes approves an exact operation only together with --digest, which says which one was seen")
	case a.yes:
		return nil
	}
	as := ""
	if q.Viewer != "" {
		as = " as " + oneLine(q.Viewer)
	}
	ask := "\nAnswer with " + c.shown + as + "? [y/N] "
	if approving {
		ask = "\nApprove exactly this, with " + c.shown + as + "? [y/N] "
	}
	said, err := a.typed.ask(ctx, ask)
	if err != nil {
		return err
	}
	if said = strings.ToLower(said); said != "y" && said != "yes" {
		return exitf(exitFailed, "not answered: the question stays pending")
	}
	return nil
}

// refused words what became of an answer that was sent.
func (a *answerer) refused(ctx context.Context, err error) error {
	var response *client.Error
	var refusal *schema.Refusal
	unknown := !errors.As(err, &refusal) && (!errors.As(err, &response) || response.Status >= 500)
	if unknown {
		fmt.Fprintln(a.cmd.ErrOrStderr(), "question: whether the answer was taken is not known; giving it again changes nothing if it was")
	}
	return failed(ctx, a.cmd, err)
}

// conclude says how the question ended. The answer is nil where none was given now.
func (a *answerer) conclude(q *client.Question, given *schema.AnswerBody) error {
	if a.asJSON {
		if err := writeDocument(a.cmd.OutOrStdout(), q.Raw); err != nil {
			return written(err)
		}
	}
	o, _ := q.Outcome()
	switch {
	case o.NoAnswer():
		return exitf(exitExpired, "%s", noAnswer(q))
	case o.Withdrawn():
		return exitf(exitCancelled, "%s", withdrawn(q))
	case given == nil:
		return exitf(exitOther, "%s", answeredBy(o))
	case !stands(q, *given):
		return exitf(exitOther, "not taken: %s", answeredBy(o))
	case !a.asJSON && a.certificate != "-":
		writeAnswer(a.cmd.OutOrStdout(), o)
	}
	if a.certificate == "" {
		return nil
	}
	if err := showCertificate(a.cmd, q.Raw, a.certificate); err != nil {
		fmt.Fprintln(a.cmd.ErrOrStderr(), "question: your answer stands; the same command again changes nothing but to write the certificate")
		return err
	}
	return nil
}

func answeredBy(o *client.Outcome) string {
	q := o.Question
	return fmt.Sprintf("question %s was answered already: %s, by %s", oneLine(q.ID), shortened(answerSummary(o), 60),
		oneLine(personSummary(q.Answer.Responder)))
}
