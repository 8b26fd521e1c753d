package storetest

import (
	"context"
	"errors"
	"time"

	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

var moving = []promise{
	{"the first response is accepted, and no other", func(k *kit) {
		g := k.add()
		a := response(g, g.Approval, collector.ChoiceDeclined)
		k.is("first", got(k.Accept(k.Context(), a))(k), true)
		other := response(g, g.Approval, collector.ChoiceApproved)
		other.ID = "another"
		k.is("second", got(k.Accept(k.Context(), other))(k), false)
		k.is("the same again", got(k.Accept(k.Context(), a))(k), false)
		k.is("stored", k.stored(g).Approval.Accepted, &a)
		other.Query = "none"
		k.is("of no query", got(k.Accept(k.Context(), other))(k), false)
	}},
	{"no response is accepted at or after the query's expiry", func(k *kit) {
		g := k.add()
		a := response(g, g.Approval, collector.ChoiceApproved)
		a.ReceivedAt = g.Approval.ExpiresAt
		k.is("in time", got(k.Accept(k.Context(), a))(k), false)
		a.ReceivedAt = a.ReceivedAt.Add(-time.Millisecond)
		k.is("just in time", got(k.Accept(k.Context(), a))(k), true)
	}},
	{"of several responses at once, one is accepted", func(k *kit) {
		g := k.add()
		first := make([]bool, 8)
		errs := make([]error, len(first))
		parallel(len(first), func(i int) {
			a := response(g, g.Approval, []string{collector.ChoiceApproved, collector.ChoiceDeclined}[i%2])
			a.ID = gate.ResponseID(string(rune('a' + i)))
			first[i], errs[i] = k.Accept(k.Context(), a)
		})
		n := 0
		for i, won := range first {
			k.ok(errs[i])
			if won {
				n++
			}
		}
		k.is("accepted", n, 1)
	}},
	{"a typed answer comes back as it was", func(k *kit) {
		g := k.approve(k.add())
		text := "as\x00it was \U0001F600"
		a := response(g, *g.Continuation, "")
		a.Answer, a.Respondent, a.Provenance = collector.Answer{Text: &text}, collector.Agent, collector.Direct
		a.ReceivedAt = a.ReceivedAt.Add(time.Minute)
		k.is("accepted", got(k.Accept(k.Context(), a))(k), true)
		to := g
		to.State, to.Continuation = collector.Answered, &collector.Asked{Query: g.Continuation.Query, Accepted: &a}
		k.move(g, to)
		k.is("gate", k.stored(g), to)
	}},
	{"a gate moves from the state that it was read in", func(k *kit) {
		g := k.add()
		declined := g
		declined.State, declined.Protected = collector.Declined, nil
		to := k.approve(g)
		k.is("gate", k.stored(g), to)
		k.is("moved again", got(k.MoveGate(k.Context(), g, declined))(k), false)
		k.is("still", k.stored(g), to)
	}},
	{"a gate that moves back with its transaction is as it was", func(k *kit) {
		g := k.add()
		oops := errors.New("oops")
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			to := approved(g)
			if _, err := k.Accept(ctx, *to.Approval.Accepted); err != nil {
				return err
			}
			if _, err := k.MoveGate(ctx, g, to); err != nil {
				return err
			}
			return oops
		})
		if !errors.Is(err, oops) {
			k.Fatal(err)
		}
		k.is("gate", k.stored(g), g)
	}},
	{"what is due expires, the earliest first, and nothing else", func(k *kit) {
		late := k.add(func(g *collector.Gate) { g.Approval.ExpiresAt = start.Add(2 * time.Hour) })
		soon := k.add()
		inRoom := k.add(asked)
		followed := k.approve(k.add(asked)) // its continuation is due an hour after its approval
		declined := k.add()
		no := declined
		a := response(declined, declined.Approval, collector.ChoiceDeclined)
		no.State, no.Protected, no.Approval.Accepted = collector.Declined, nil, &a
		k.is("accepted", got(k.Accept(k.Context(), a))(k), true)
		k.move(declined, no)

		at, ok, err := k.NextGateDeadline(k.Context())
		k.ok(err)
		k.is("next", []any{at, ok}, []any{soon.Approval.ExpiresAt, true})
		k.is("too early", len(got(k.ExpireGates(k.Context(), at.Add(-time.Millisecond), 9))(k)), 0)
		first := got(k.ExpireGates(k.Context(), start.Add(3*time.Hour), 1))(k)
		soon.State, soon.Protected = collector.Expired, nil
		k.is("the first", first, []collector.Gate{soon})
		k.is("stored", k.stored(soon), soon)
		rest := got(k.ExpireGates(k.Context(), start.Add(3*time.Hour), 9))(k)
		late.State, late.Protected, followed.State = collector.Expired, nil, collector.Expired
		k.is("the rest", rest, []collector.Gate{late, followed})
		k.is("in its room", k.stored(inRoom), inRoom)
		k.is("declined", k.stored(declined), no)
		_, ok, err = k.NextGateDeadline(k.Context())
		k.ok(err)
		k.is("nothing is due any more", ok, false)
	}},
	{"an expiry and a response at once leave one of the two", func(k *kit) {
		for range 5 {
			g := k.add()
			to := approved(g)
			to.Approval.Accepted.ReceivedAt = g.Approval.ExpiresAt.Add(-time.Millisecond)
			moved, expired := false, 0
			errs := make([]error, 2)
			parallel(2, func(i int) {
				if i == 0 {
					all, err := k.ExpireGates(k.Context(), g.Approval.ExpiresAt, 9)
					expired, errs[i] = len(all), err
					return
				}
				errs[i] = k.Atomically(k.Context(), func(ctx context.Context) (err error) {
					if _, err = k.Accept(ctx, *to.Approval.Accepted); err != nil {
						return err
					}
					moved, err = k.MoveGate(ctx, g, to)
					return err
				})
			})
			k.ok(errors.Join(errs...))
			k.is("one of them", moved != (expired == 1), true)
		}
	}},
	{"only gates that have ended are forgotten, with their queries", func(k *kit) {
		open := k.add()
		waits := k.approve(k.add())
		g := k.add()
		no := g
		no.State, no.Protected = collector.Declined, nil
		k.move(g, no)
		k.is("too early", got(k.ForgetGates(k.Context(), g.ForgetAfter.Add(-time.Millisecond), 9))(k), 0)
		k.is("forgotten", got(k.ForgetGates(k.Context(), g.ForgetAfter, 9))(k), 1)
		_, err := k.Gate(k.Context(), agent, g.ID)
		k.unknown(err)
		_, ok, err := k.GateOfQuery(k.Context(), g.Approval.ID)
		k.ok(err)
		k.is("its query", ok, false)
		k.is("open", k.stored(open), open)
		k.is("approved", k.stored(waits), waits)
	}},
}
