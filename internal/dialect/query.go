package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/schema"
)

// MaxQueryText is the most that a query may let a person type in a room, in code points: a question.v2 event invites no
// more.
const MaxQueryText = 2000

// FromQuery makes the pending question, with a new id, that puts a query to people (Approval and continuations, sections 1
// and 2): the prompt and the choices as they are, in their order, and nothing else of it. It lives until the query expires.
// The error is a [*schema.Refusal] that points into the ask. A query for an agent is not for people: the caller's to refuse.
func FromQuery(ask *schema.QueryAsk, c AskContext) (bridge.Question, error) {
	query := ask.Query
	q := newQuestion(c)
	expires, err := query.ExpiresAt.Time()
	if err != nil {
		return bridge.Question{}, fmt.Errorf("read when a query expires: %w", err)
	}
	q.ExpiresAt = expires.UTC().Truncate(time.Millisecond)
	if q.ExpiresAt.After(q.CreatedAt) {
		q.ForgetAfter = q.ExpiresAt.Add(bridge.Retention)
	}
	if err := setTerms(&q, ask.AskTerms); err != nil {
		return bridge.Question{}, err
	}
	q.Dialect, q.ElicitationID = bridge.Core, string(q.ID)
	item := bridge.Item{Prompt: query.Prompt}
	if query.Response.Format == schema.FormatText {
		if query.Response.MaxLength > MaxQueryText {
			return bridge.Question{}, tooLongForARoom()
		}
		item.Text = &bridge.TextInput{MaxLength: query.Response.MaxLength}
	} else {
		for _, choice := range query.Response.Choices {
			item.Options = append(item.Options, queryOption(choice))
		}
	}
	q.Items = []bridge.Item{item}
	if err := checkBuilds(q, 0); err != nil {
		return bridge.Question{}, err
	}
	q.Warnings = append(q.Warnings, warnings(q)...)
	q.Digest, err = queryDigest(q, query)
	return q, err
}

// queryOption is a choice. Only what it means is ours: the two words of an approval do what they say.
func queryOption(choice string) bridge.Option {
	o := bridge.Option{ID: bridge.OptionID(choice), Label: choice, Meaning: bridge.Choose, Style: string(schema.StyleDefault)}
	switch choice {
	case schema.ChoiceApproved:
		o.Meaning, o.Style = bridge.Approve, string(schema.StylePrimary)
	case schema.ChoiceDeclined:
		o.Meaning, o.Style = bridge.Reject, string(schema.StyleDanger)
	}
	return o
}

func tooLongForARoom() error {
	wrong := faults{{
		Rule: schema.RuleSize, Location: "/query/response/maxLength", Keyword: string(schema.RuleSize), Limit: MaxQueryText,
		Reason: fmt.Sprintf("is more than the %d characters that a room is asked for", MaxQueryText),
	}}
	return wrong.refuse()
}

// queryDigest is the digest of the question and of all that the query says and the question does not.
func queryDigest(q bridge.Question, query schema.Query) (string, error) {
	asked, err := digest(q)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(query)
	if err != nil {
		return "", fmt.Errorf("encode a query to digest: %w", err)
	}
	sum := sha256.Sum256(append([]byte(asked), raw...))
	return hex.EncodeToString(sum[:]), nil
}

// FromQueryAnswer says in the words of a query what was answered to the question that [FromQuery] made of it.
func FromQueryAnswer(a bridge.Answer) (out schema.ResponseAnswer) {
	item := a.Items[0]
	if item.Text != nil {
		out.Text = item.Text
		return out
	}
	choice := string(item.Selected[0])
	out.Choice = &choice
	return out
}
