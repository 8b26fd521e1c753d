package storetest

import (
	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

var finding = []promise{
	{"a gate comes back as it was stored", func(k *kit) {
		correlation := "c\x00rrelation"
		g := k.add(asked, requested("key"), func(g *collector.Gate) { g.CorrelationID = &correlation })
		k.Is("gate", k.stored(g), g)
		plain := k.add()
		k.Is("without any of that", k.stored(plain), plain)
	}},
	{"a gate that was decided when it was opened comes back so", func(k *kit) {
		g := k.gate()
		to := approved(g)
		k.Is("added", demand.Got(k.AddGate(k.Context(), to))(k), true)
		k.Is("approved", k.stored(to), to)
		withheld := k.add(func(g *collector.Gate) {
			g.State, g.Reason, g.Protected = collector.Withheld, collector.NoDecision, nil
		})
		k.Is("withheld", k.stored(withheld), withheld)
	}},
	{"nobody else's gate is found", func(k *kit) {
		g := k.add()
		_, err := k.Gate(k.Context(), "another", g.ID)
		k.unknown(err)
		_, err = k.Gate(k.Context(), agent, "g_none")
		k.unknown(err)
	}},
	{"a gate is found by its queries and by its question", func(k *kit) {
		k.add()
		g := k.approve(k.add(asked))
		for _, id := range []collector.Asked{g.Approval, *g.Continuation} {
			found, ok, err := k.GateOfQuery(k.Context(), id.ID)
			k.OK(err)
			k.Is("found", ok, true)
			k.Is("gate", found, g)
		}
		found, ok, err := k.GateOfQuestion(k.Context(), g.Question)
		k.OK(err)
		k.Is("found", ok, true)
		k.Is("gate", found, g)
		_, ok, err = k.GateOfQuery(k.Context(), "none")
		k.OK(err)
		k.Is("a query of nobody", ok, false)
		_, ok, err = k.GateOfQuestion(k.Context(), "q_none")
		k.OK(err)
		k.Is("a question of nobody", ok, false)
	}},
	{"a request opens one gate, per agent and room", func(k *kit) {
		g := k.add(requested("key"))
		k.Is("again", demand.Got(k.AddGate(k.Context(), k.gate(requested("key"))))(k), false)
		other := k.add(requested("key"), func(g *collector.Gate) { g.Agent = "another" })
		elsewhere := k.add(requested("key"), func(g *collector.Gate) { g.Conversation = "!else:example.org" })
		k.add()
		k.add() // no key is like no other
		for _, want := range []collector.Gate{g, other, elsewhere} {
			found, ok, err := k.GateOfRequest(k.Context(), want.Agent, want.Conversation, "key")
			k.OK(err)
			k.Is("found", ok, true)
			k.Is("gate", found, want)
		}
		_, ok, err := k.GateOfRequest(k.Context(), agent, room, "another key")
		k.OK(err)
		k.Is("another key", ok, false)
	}},
	{"of equal requests at once, one opens a gate", func(k *kit) {
		gates := make([]collector.Gate, 8)
		for i := range gates {
			gates[i] = k.gate(requested("key"))
		}
		added := make([]bool, len(gates))
		errs := make([]error, len(gates))
		demand.Parallel(len(gates), func(i int) { added[i], errs[i] = k.AddGate(k.Context(), gates[i]) })
		n := 0
		for i := range gates {
			k.OK(errs[i])
			if added[i] {
				n++
			}
		}
		k.Is("opened", n, 1)
	}},
	{"a list is one agent's, newest first, page by page", func(k *kit) {
		first, second, third := k.add(), k.add(asked), k.add()
		k.add(func(g *collector.Gate) { g.Agent = "another" })
		second = k.approve(second)
		l := collector.Listing{Agent: agent, Limit: 2}
		page, cursor, err := k.ListGates(k.Context(), l)
		k.OK(err)
		k.Is("page 1", page, []collector.Gate{third, second})
		l.Cursor = cursor
		page, cursor, err = k.ListGates(k.Context(), l)
		k.OK(err)
		k.Is("page 2", page, []collector.Gate{first})
		k.Is("last", cursor, "")
		l.Cursor = "nonsense"
		_, _, err = k.ListGates(k.Context(), l)
		k.Is("a cursor of nobody", bridge.CodeOf(err), bridge.CodeInvalidCursor)
	}},
	{"a list is filtered by state and correlation id", func(k *kit) {
		correlation := "run 7"
		one := k.add(func(g *collector.Gate) { g.CorrelationID = &correlation })
		two := k.approve(k.add())
		page, _, err := k.ListGates(k.Context(), collector.Listing{Agent: agent, State: collector.Approved, Limit: 9})
		k.OK(err)
		k.Is("approved", ids(page), ids([]collector.Gate{two}))
		page, _, err = k.ListGates(k.Context(), collector.Listing{Agent: agent, CorrelationID: &correlation, Limit: 9})
		k.OK(err)
		k.Is("of the run", ids(page), ids([]collector.Gate{one}))
	}},
}
