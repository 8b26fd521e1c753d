package sqlstore

import (
	"time"

	"go.mau.fi/util/dbutil"

	"superpipeline.dev/question-bridge/internal/gate/collector"
)

// openedWith is what a gate was opened with and never changes, as the column definition holds it: JSON under the names of
// the Go fields.
type openedWith struct {
	Requester, Purpose string
	Route              collector.Route
	Mode               collector.Mode
	Revision           int64
}

// queryText is what a query says, in the same way. The principal is the gate's, and the id of the predecessor its approval's.
type queryText struct {
	Type                 string
	Respondent           collector.Respondent
	Prompt, Instructions string
	Timing               string
	Format               collector.Format
}

// protectedText is the query that nobody may see before approval, and how long it lives after that.
type protectedText struct {
	queryText
	Milliseconds int64
}

// protectedOf is what a gate protects as its row has it; nil for nothing.
func protectedOf(g collector.Gate) (any, error) {
	p := g.Protected
	if p == nil {
		return nil, nil
	}
	return encode(protectedText{queryText{p.Type, p.Respondent, p.Prompt, p.Instructions, p.Timing, p.Format}, p.TTL.Milliseconds()})
}

func (p protectedText) of(g collector.Gate) *collector.Protected {
	if g.State != collector.Open {
		return nil
	}
	return &collector.Protected{
		Type: p.Type, Respondent: p.Respondent, Prompt: p.Prompt, Instructions: p.Instructions, Timing: p.Timing, Format: p.Format,
		TTL: time.Duration(p.Milliseconds) * time.Millisecond,
	}
}

func textOfQuery(q collector.Query) queryText {
	return queryText{q.Type, q.Respondent, q.Prompt, q.Instructions, q.Timing, q.Format}
}

const gateColumns = `id, agent, conversation, question, state, reason, correlation_id, created_at, forget_after, principal_kind,
	principal_id, principal_scope, request_key, request, definition, protected`

// scanGate reads a gate without its queries.
func scanGate(row dbutil.Scannable) (g collector.Gate, err error) {
	var o openedWith
	var request []byte
	var protected protectedText
	err = row.Scan(text(&g.ID), text(&g.Agent), text(&g.Conversation), text(&g.Question), text(&g.State), text(&g.Reason),
		maybeText(&g.CorrelationID), moment(&g.CreatedAt), moment(&g.ForgetAfter), text(&g.Principal.Kind), text(&g.Principal.ID),
		text(&g.Principal.Scope), text(&g.Request.Key), &request, decoded(&o), decoded(&protected))
	g.Requester, g.Purpose, g.Route, g.Mode, g.Revision = o.Requester, o.Purpose, o.Route, o.Mode, o.Revision
	copy(g.Request.Hash[:], request)
	g.Protected = protected.of(g)
	return g, err
}

const queryColumns = `id, gate, continuation, expires_at, definition, response, respondent, provenance, answer, responded_at, received_at`

// gateQuery is a query as its row has it.
type gateQuery struct {
	collector.Asked
	gate         collector.GateID
	continuation bool
}

func scanGateQuery(row dbutil.Scannable) (q gateQuery, err error) {
	var said queryText
	var a collector.Accepted
	var respondedAt, receivedAt *time.Time
	err = row.Scan(text(&q.ID), text(&q.gate), &q.continuation, moment(&q.ExpiresAt), decoded(&said), text(&a.ID), text(&a.Respondent),
		text(&a.Provenance), decoded(&a.Answer), maybeMoment(&respondedAt), maybeMoment(&receivedAt))
	q.Type, q.Respondent, q.Prompt, q.Instructions = said.Type, said.Respondent, said.Prompt, said.Instructions
	q.Timing, q.Format = said.Timing, said.Format
	if receivedAt != nil {
		a.Query, a.RespondedAt, a.ReceivedAt = q.ID, *respondedAt, *receivedAt
		q.Accepted = &a
	}
	return q, err
}

// take gives a gate one of its queries.
func (q gateQuery) take(g *collector.Gate) {
	q.Principal = g.Principal
	if q.continuation {
		g.Continuation = &q.Asked
	} else {
		g.Approval = q.Asked
	}
}
