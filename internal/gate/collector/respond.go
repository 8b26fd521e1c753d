package collector

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
)

// Admit says whether a capability is that of a query; if not, the error is [CodeQueryUnknown]. It looks into no database,
// and takes as long for a query that there is as for one that there is not.
func (c *Collector) Admit(q gate.QueryID, capability string) error {
	if !c.Key.opens(q, capability) {
		return errUnknownQuery
	}
	return nil
}

// Respond takes the response to a query whose capability was shown, and gives the receipt (Approval and continuations,
// sections 2 and 3):
//
//   - the first one that fits is accepted; of an approving one, the receipt has the continuation as its next query;
//   - the same response again gets the same receipt, and another one that says the same is a duplicate;
//   - one that is late has expired, and any other is rejected, with the reason: nothing changes, and one that fits may follow.
//
// No receipt asks for another try. The error is [CodeQueryUnknown], also for a query that is asked in a room, or the store's.
func (c *Collector) Respond(ctx context.Context, r Response) (Receipt, error) {
	var receipt Receipt
	var accepted *Gate
	err := c.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		receipt, accepted, err = c.respond(ctx, r)
		return err
	})
	if err != nil {
		return Receipt{}, err
	}
	if accepted != nil {
		c.moved(ctx, *accepted)
	}
	return receipt, nil
}

// respond does it in the transaction of ctx. Whoever loses the race for a query is judged again, by what won.
func (c *Collector) respond(ctx context.Context, r Response) (receipt Receipt, accepted *Gate, err error) {
	for range 2 {
		now := c.Clock.Now()
		g, asked, err := c.find(ctx, r.Query)
		if err != nil {
			return Receipt{}, nil, err
		}
		if receipt, judged := c.judge(g, *asked, r, now); judged {
			return receipt, nil, nil
		}
		a := Accepted{Response: r, ReceivedAt: now}
		first, err := c.Store.Accept(ctx, a)
		if err != nil {
			return Receipt{}, nil, err
		}
		if first {
			g, err = c.accepted(ctx, g, a, "")
			return c.receipt(g, *g.query(r.Query)), &g, err
		}
	}
	return Receipt{}, nil, errMoved
}

// find gives the gate of a query that is answered over HTTPS. Nobody was given one that was never asked.
func (c *Collector) find(ctx context.Context, id gate.QueryID) (Gate, *Asked, error) {
	g, ok, err := c.Store.GateOfQuery(ctx, id)
	if err != nil {
		return g, nil, err
	}
	asked := g.query(id)
	if !ok || asked == nil || asked == &g.Approval && (g.Route == InRoom || g.State == Withheld) {
		return g, nil, errUnknownQuery
	}
	return g, asked, nil
}

// Why a response was rejected.
const (
	whyConflict    = "response_conflict" // another one had its id
	whyAnswered    = "already_answered"  // by another answer
	whyRespondent  = "wrong_respondent"
	whyProvenance  = "unfit_provenance"
	whyFormat      = "wrong_format"
	whyNotOffered  = "not_a_choice"
	whyTooLong     = "too_long"
	whyNothingSaid = "empty"
)

// AlreadyAnswered says whether a receipt rejects a response because another answer was first.
func AlreadyAnswered(r Receipt) bool { return r.Status == ReceiptRejected && r.Reason == whyAnswered }

// judge gives the receipt of a response that changes nothing; judged is false for one that may be accepted.
func (c *Collector) judge(g Gate, asked Asked, r Response, now time.Time) (receipt Receipt, judged bool) {
	refused := func(status Status, reason string) (Receipt, bool) {
		return Receipt{Query: r.Query, Response: r.ID, Status: status, ReceivedAt: now, Reason: reason}, true
	}
	before := asked.Accepted
	switch {
	case before != nil && before.ID == r.ID && before.same(r):
		return c.receipt(g, asked), true
	case before != nil && before.ID == r.ID:
		return refused(ReceiptRejected, whyConflict)
	case before == nil && !now.Before(asked.ExpiresAt):
		return refused(ReceiptExpired, "")
	}
	switch reason := unfit(g, asked, r); {
	case reason != "":
		return refused(ReceiptRejected, reason)
	case before == nil:
		return Receipt{}, false
	case before.Answer.Equal(r.Answer):
		return refused(ReceiptDuplicate, "")
	}
	return refused(ReceiptRejected, whyAnswered)
}

// receipt is that of the response that was accepted, the same each time.
func (c *Collector) receipt(g Gate, asked Asked) Receipt {
	a := asked.Accepted
	receipt := Receipt{Query: asked.ID, Response: a.ID, Status: ReceiptAccepted, ReceivedAt: a.ReceivedAt}
	if asked.ID == g.Approval.ID && g.Continuation != nil {
		next := c.Ready(g.Continuation.Query)
		receipt.Next = &next
	}
	return receipt
}

// same says whether a response says all that was accepted.
func (a Accepted) same(r Response) bool {
	return a.Respondent == r.Respondent && a.Provenance == r.Provenance && a.Answer.Equal(r.Answer) && a.RespondedAt.Equal(r.RespondedAt)
}

// unfit says why a response breaks its query; "" for one that does not.
func unfit(g Gate, asked Asked, r Response) string {
	approval := asked.ID == g.Approval.ID
	switch {
	case r.Respondent != asked.Respondent:
		return whyRespondent
	case !fits(r.Provenance, r.Respondent, approval && g.Mode.uses()):
		return whyProvenance
	}
	return misses(asked.Format, r.Answer)
}

// fits says whether a response may have come about so. A person's passed through a host; that one may have remembered a
// decision, where the exchange allows that. An agent may have answered us itself.
func fits(p Provenance, by Respondent, stored bool) bool {
	switch p {
	case Mediated:
		return true
	case Remembered:
		return by == Human && stored
	case Direct:
		return by == Agent
	}
	return false
}

// misses says why an answer is none of those that a query permits; "" for one that is.
func misses(f Format, a Answer) string {
	switch {
	case (len(f.Choices) > 0) != (a.Choice != nil):
		return whyFormat
	case a.Choice != nil && !slices.Contains(f.Choices, *a.Choice):
		return whyNotOffered
	case a.Text != nil && *a.Text == "":
		return whyNothingSaid
	case a.Text != nil && utf8.RuneCountInString(*a.Text) > f.MaxLength:
		return whyTooLong
	}
	return ""
}

// accepted moves a gate after a response to one of its queries was stored, in the same transaction. by is the person, where
// we know them.
func (c *Collector) accepted(ctx context.Context, g Gate, a Accepted, by bridge.UserID) (Gate, error) {
	if a.Query != g.Approval.ID {
		to := g
		to.State, to.Continuation = Answered, &Asked{g.Continuation.Query, &a}
		return to, c.move(ctx, g, to)
	}
	to := g.decided(a)
	if err := c.move(ctx, g, to); err != nil {
		return to, err
	}
	if !g.Mode.remembers() || a.Provenance == Remembered {
		return to, nil
	}
	return to, c.Decisions.Remember(ctx, Made{
		Scope: g.scope(), Gate: g.ID, Approved: to.State == Approved, By: by, Revision: g.Revision, At: a.ReceivedAt,
	})
}

// decided is how an open gate stands after the answer to its approval: an approving one discloses the protected query, as a
// new query about the same principal.
func (g Gate) decided(a Accepted) Gate {
	p := g.Protected
	g.Approval.Accepted, g.Protected = &a, nil
	if *a.Answer.Choice != ChoiceApproved {
		g.State = Declined
		return g
	}
	g.State = Approved
	g.Continuation = &Asked{Query: Query{
		ID: gate.NewQueryID(a.ReceivedAt), ContinuationOf: g.Approval.ID, Type: p.Type, Principal: g.Principal, Respondent: p.Respondent,
		Prompt: p.Prompt, Instructions: p.Instructions, Timing: p.Timing, Format: p.Format, ExpiresAt: ends(a.ReceivedAt, p.TTL),
	}}
	return g
}
