package storetest

import (
	"context"
	"errors"
	"time"

	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

var moving = []promise{
	{"the first response is accepted, and no other", func(k *kit) {
		g := k.add()
		a := response(g, g.Approval, collector.ChoiceDeclined)
		k.Is("first", demand.Got(k.Accept(k.Context(), a))(k), true)
		other := response(g, g.Approval, collector.ChoiceApproved)
		other.ID = "another"
		k.Is("second", demand.Got(k.Accept(k.Context(), other))(k), false)
		k.Is("the same again", demand.Got(k.Accept(k.Context(), a))(k), false)
		k.Is("stored", k.stored(g).Approval.Accepted, &a)
		other.Query = "none"
		k.Is("of no query", demand.Got(k.Accept(k.Context(), other))(k), false)
	}},
	{"no response is accepted at or after the query's expiry", func(k *kit) {
		g := k.add()
		a := response(g, g.Approval, collector.ChoiceApproved)
		a.ReceivedAt = g.Approval.ExpiresAt
		k.Is("in time", demand.Got(k.Accept(k.Context(), a))(k), false)
		a.ReceivedAt = a.ReceivedAt.Add(-time.Millisecond)
		k.Is("just in time", demand.Got(k.Accept(k.Context(), a))(k), true)
	}},
	{"of several responses at once, one is accepted", func(k *kit) {
		g := k.add()
		first := make([]bool, 8)
		errs := make([]error, len(first))
		demand.Parallel(len(first), func(i int) {
			a := response(g, g.Approval, []string{collector.ChoiceApproved, collector.ChoiceDeclined}[i%2])
			a.ID = gate.ResponseID(string(rune('a' + i)))
			first[i], errs[i] = k.Accept(k.Context(), a)
		})
		n := 0
		for i, won := range first {
			k.OK(errs[i])
			if won {
				n++
			}
		}
		k.Is("accepted", n, 1)
	}},
	{"a typed answer comes back as it was", func(k *kit) {
		g := k.approve(k.add())
		text := "as\x00it was \U0001F600"
		a := response(g, *g.Continuation, "")
		a.Answer, a.Respondent, a.Provenance = collector.Answer{Text: &text}, collector.Agent, collector.Direct
		a.ReceivedAt = a.ReceivedAt.Add(time.Minute)
		k.Is("accepted", demand.Got(k.Accept(k.Context(), a))(k), true)
		to := g
		to.State, to.Continuation = collector.Answered, &collector.Asked{Query: g.Continuation.Query, Accepted: &a}
		k.move(g, to)
		k.Is("gate", k.stored(g), to)
	}},
	{"a gate moves from the state that it was read in", func(k *kit) {
		g := k.add()
		declined := g
		declined.State, declined.Protected = collector.Declined, nil
		to := k.approve(g)
		k.Is("gate", k.stored(g), to)
		k.Is("moved again", demand.Got(k.MoveGate(k.Context(), g, declined))(k), false)
		k.Is("still", k.stored(g), to)
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
		k.Is("gate", k.stored(g), g)
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
		k.Is("accepted", demand.Got(k.Accept(k.Context(), a))(k), true)
		k.move(declined, no)

		at, ok, err := k.NextGateDeadline(k.Context())
		k.OK(err)
		k.Is("next", []any{at, ok}, []any{soon.Approval.ExpiresAt, true})
		k.Is("too early", len(demand.Got(k.ExpireGates(k.Context(), at.Add(-time.Millisecond), 9))(k)), 0)
		first := demand.Got(k.ExpireGates(k.Context(), start.Add(3*time.Hour), 1))(k)
		soon.State, soon.Protected = collector.Expired, nil
		k.Is("the first", first, []collector.Gate{soon})
		k.Is("stored", k.stored(soon), soon)
		rest := demand.Got(k.ExpireGates(k.Context(), start.Add(3*time.Hour), 9))(k)
		late.State, late.Protected, followed.State = collector.Expired, nil, collector.Expired
		k.Is("the rest", rest, []collector.Gate{late, followed})
		k.Is("in its room", k.stored(inRoom), inRoom)
		k.Is("declined", k.stored(declined), no)
		_, ok, err = k.NextGateDeadline(k.Context())
		k.OK(err)
		k.Is("nothing is due any more", ok, false)
	}},
	{"an expiry and a response at once leave one of the two", func(k *kit) {
		for range 5 {
			g := k.add()
			to := approved(g)
			to.Approval.Accepted.ReceivedAt = g.Approval.ExpiresAt.Add(-time.Millisecond)
			moved, expired := false, 0
			errs := make([]error, 2)
			demand.Parallel(2, func(i int) {
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
			k.OK(errors.Join(errs...))
			k.Is("one of them", moved != (expired == 1), true)
		}
	}},
	{"only gates that have ended are forgotten, with their queries", func(k *kit) {
		open := k.add()
		waits := k.approve(k.add())
		g := k.add()
		no := g
		no.State, no.Protected = collector.Declined, nil
		k.move(g, no)
		k.Is("too early", demand.Got(k.ForgetGates(k.Context(), g.ForgetAfter.Add(-time.Millisecond), 9))(k), 0)
		k.Is("forgotten", demand.Got(k.ForgetGates(k.Context(), g.ForgetAfter, 9))(k), 1)
		_, err := k.Gate(k.Context(), agent, g.ID)
		k.unknown(err)
		_, ok, err := k.GateOfQuery(k.Context(), g.Approval.ID)
		k.OK(err)
		k.Is("its query", ok, false)
		k.Is("open", k.stored(open), open)
		k.Is("approved", k.stored(waits), waits)
	}},
}
