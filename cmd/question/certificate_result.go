package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/certificate"
)

// judgement is what became of one certificate.
type judgement struct {
	refused error // why it is none; nil for a genuine one
	signed  certificate.Signed
	key     certificate.Key
	unmet   []string // why it is not of what was expected
	now     time.Time
}

type judgementJSON struct {
	Genuine  bool                 `json:"genuine"`  // signed by a trusted key, to the byte
	Accepted bool                 `json:"accepted"` // and of what was expected
	Code     certificate.Code     `json:"code"`     // why it is not genuine; "" when it is
	Reasons  []string             `json:"reasons"`  // why it is not accepted
	Key      *certificate.Key     `json:"key"`
	Payload  *certificate.Payload `json:"payload"` // null unless genuine
}

// write says what became of it. What a certificate says is shown for a genuine one only.
func (j judgement) write(cmd *cobra.Command, asJSON bool) error {
	switch {
	case asJSON:
		result := judgementJSON{Genuine: j.refused == nil, Accepted: j.refused == nil && len(j.unmet) == 0, Reasons: j.reasons()}
		if j.refused == nil {
			result.Key, result.Payload = &j.key, &j.signed.Payload
		} else {
			result.Code = certificate.CodeOf(j.refused)
		}
		if err := writeJSON(cmd.OutOrStdout(), result); err != nil {
			return written(err)
		}
	case j.refused == nil:
		j.writeLines(cmd.OutOrStdout())
	}
	switch {
	case j.refused != nil && asJSON:
		return exitWith(exitNotGenuine)
	case j.refused != nil:
		return exitf(exitNotGenuine, "not a genuine certificate: %s%s", reasonOf(j.refused), hintFor(j.refused))
	case len(j.unmet) > 0 && asJSON:
		return exitWith(exitUnexpected)
	case len(j.unmet) > 0:
		var all []error
		for _, reason := range j.unmet {
			all = append(all, errors.New("genuine, but not accepted: "+reason))
		}
		return exitf(exitUnexpected, "%s", errors.Join(all...))
	}
	return nil
}

func (j judgement) reasons() []string {
	if j.refused != nil {
		return []string{reasonOf(j.refused)}
	}
	return append([]string{}, j.unmet...)
}

func hintFor(err error) string {
	switch certificate.CodeOf(err) {
	case certificate.CodeNotCanonical:
		return ` (hint: "question show ID --certificate FILE" writes the exact bytes)`
	case certificate.CodeUnknownKey:
		return ` (hint: "questiond key list" prints the keys of a server)`
	}
	return ""
}

// writeLines prints what a genuine certificate says, one thing a line.
func (j judgement) writeLines(w io.Writer) {
	p := j.signed.Payload
	fmt.Fprintf(w, "Genuine. Approved by %s at %s.\n", oneLine(p.Responder), p.ApprovedAt.Format(timeFormat))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(table, "  %s\t%s\n", name, oneLine(text))
		}
	}
	lapses := "never"
	if at := p.Subject.ExpiresAt; at != nil {
		lapses = at.Format(timeFormat)
		if !j.now.Before(*at) {
			lapses += ", which is over"
		}
	}
	grant := "not said"
	if p.Grant != nil {
		grant = *p.Grant
		if grant == "once" {
			grant += ": whoever acts on it must do so once only, by the certificate's id"
		}
	}
	row("subject", p.Subject.ID)
	row("digest", p.Subject.Digest)
	row("schema", p.Subject.Schema)
	row("revision", fmt.Sprint(p.Subject.Revision))
	row("lapses at", lapses)
	row("option", p.OptionID+" ("+p.Meaning+")")
	row("grant", grant)
	row("certificate", p.CertificateID)
	row("question", p.QuestionID)
	row("elicitation", p.ElicitationID)
	row("asked by", p.Asker)
	row("room", p.Room)
	row("answered by", p.Surface)
	if p.EventID != nil {
		row("answer's event", *p.EventID)
	}
	row("issuer", p.Issuer)
	key := j.key.ID
	if at := j.key.RetiredAt; at != nil {
		key += ", which signs no more since " + at.UTC().Format(timeFormat)
	}
	row("key", key)
}
