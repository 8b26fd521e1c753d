package sqlstore

import (
	"crypto/sha256"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
)

// proposed is what was proposed, as the column definition of a candidate holds it: JSON under the names of the Go fields.
type proposed struct {
	Text, Source string
	Targets      []queue.Target
	Options      []queue.Option
	CueTokens    []string
}

// sameText is what a text is found by: the texts themselves are too long for an index.
func sameText(text string) []byte {
	sum := sha256.Sum256([]byte(bridge.Plain(text)))
	return sum[:]
}

// candidateColumns are named by their table, since they are read in joins too.
const candidateColumns = `c.id, c.agent, c.kind, c.signal, c.status, c.ask_count, c.created_turn, c.expires_turn, c.last_seen_turn,
	c.delivered_turn, c.cooldown_until, c.resolved_turn, c.answer_option, c.applied, c.created_at, c.disjunction, c.question, c.leader,
	c.definition`

func scanCandidate(row dbutil.Scannable) (c queue.Candidate, err error) {
	var p proposed
	err = row.Scan(text(&c.ID), text(&c.Agent), text(&c.Kind), text(&c.Signal), text(&c.Status), &c.AskCount, &c.CreatedTurn, &c.ExpiresTurn,
		&c.LastSeenTurn, &c.DeliveredTurn, &c.CooldownUntil, &c.ResolvedTurn, &c.AnswerOption, &c.Applied, moment(&c.CreatedAt),
		text(&c.Disjunction), text(&c.Question), text(&c.Leader), decoded(&p))
	c.Text, c.Source, c.Targets, c.Options, c.CueTokens = p.Text, p.Source, p.Targets, p.Options, p.CueTokens
	return c, err
}
