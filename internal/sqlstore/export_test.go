package sqlstore

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate/collector"
	"superpipeline.dev/question-bridge/internal/gate/decision"
	"superpipeline.dev/question-bridge/internal/grant"
	"superpipeline.dev/question-bridge/internal/queue"
)

// HotQueries are the statements that run all the time, with the number of their placeholders.
func (s *Store) HotQueries() map[string]string {
	corr := "c"
	page := func(l bridge.Listing) string {
		if l.Conversation == "" {
			l.Asker = "agent"
		}
		query, _, err := listing(l)
		if err != nil {
			panic(err)
		}
		return query
	}
	place := bridge.Place{ID: "q"}
	cursor := place.Cursor()
	pending, _ := pendingAfter([]bridge.ConversationID{"!a", "!b"}, &place)
	return map[string]string{
		"question":                selectQuestion,
		"question by elicitation": selectByElicitation,
		"sweep":                   s.expireDue(),
		"next deadline":           nextDeadline,
		"settle":                  settle,
		"forget":                  forget,
		"pending in":              selectPending,
		"quota":                   quotaReached,
		"pending after":           pending,
		"response":                selectResponse,
		"settled since":           selectSettled,
		"list":                    page(bridge.Listing{}),
		"list, next page":         page(bridge.Listing{Cursor: cursor}),
		"list by state":           page(bridge.Listing{State: bridge.Pending, Cursor: cursor}),
		"list by correlation":     page(bridge.Listing{CorrelationID: &corr, Cursor: cursor}),
		"room list":               page(bridge.Listing{Conversation: "!c"}),
		"room list, next page":    page(bridge.Listing{Conversation: "!c", Cursor: cursor}),
		"room list by state":      page(bridge.Listing{Conversation: "!c", State: bridge.Expired, Cursor: cursor}),
		"posting":                 selectPosting,
		"echoes":                  selectEchoes,
		"question of a message":   questionOf,
		"claim":                   s.claimEffects(`TRUE`),
		"claim of a kind":         s.claimEffects(`kind = $4`),
		"next effect":             nextEffect(`TRUE`),
		"claim of the others":     s.claimEffects(`kind <> $4`),
		"next effect of a kind":   nextEffect(`kind = $1`),
		"next of the others":      nextEffect(`kind <> $1`),
		"hasten":                  hasten,
		"next events":             nextEvents,
		"interest":                whereAsked(3),
		"purge the inbox":         purgeInbox,
		"purge sends":             purgeSends,
		"token":                   tokenByHash,
		"purge sessions":          purgeSessions,
		"purge OpenID tokens":     purgeOpenIDTokens,
		"claim deliveries":        s.claimDeliveries(),
		"next delivery":           nextDelivery,
		"count what is pending":   countPending,
		"count what is owed":      countOwed,
		"count the inbox":         countInbox,
		"oldest delivery":         oldestDelivery,
	}
}

// HotQueueQueries are the statements of the question queue.
func HotQueueQueries() map[string]string {
	window := queue.Window{Agent: "agent", Turn: 9, Limit: 1}
	behind := window
	behind.After = &queue.Candidate{}
	page := func(l queue.Listing) string {
		query, _, err := candidateListing(l)
		if err != nil {
			panic(err)
		}
		return query
	}
	cursor := bridge.Place{ID: "c"}.Cursor()
	all, _ := waiting(window)
	allBehind, _ := waiting(behind)
	tokens, _ := waitingFor(window, []string{"a", "b"})
	tokensBehind, _ := waitingFor(behind, []string{"a", "b"})
	return map[string]string{
		"candidate":               selectCandidate,
		"candidate of a question": candidateOf,
		"list":                    page(queue.Listing{Cursor: cursor}),
		"list by status":          page(queue.Listing{Status: queue.Pending, Cursor: cursor}),
		"similar":                 similar(2),
		"equal":                   equalCandidates(2),
		"followers":               selectFollowers,
		"about":                   candidatesAbout(2),
		"ignored":                 ignoredCandidates,
		"waiting":                 all,
		"waiting, next page":      allBehind,
		"waiting for cues":        tokens,
		"waiting for cues, next":  tokensBehind,
		"touch":                   touchCandidate,
		"note a use":              noteUse(2),
		"move":                    moveCandidate,
		"expire":                  expireLapsed,
		"prune":                   pruneCandidates,
		"note a turn":             noteTurn,
		"spend":                   spendBudget,
		"budget":                  budgetSpent,
		"spend a person's":        spendPersonBudget,
		"evidence":                selectEvidence,
	}
}

// HotGateQueries are the statements of gated exchanges.
func HotGateQueries() map[string]string {
	page := func(l collector.Listing) string {
		query, _, err := gateListing(l)
		if err != nil {
			panic(err)
		}
		return query
	}
	decided := func(l decision.Listing) string {
		query, _, err := decisionListing(l)
		if err != nil {
			panic(err)
		}
		return query
	}
	cursor := bridge.Place{ID: "g"}.Cursor()
	return map[string]string{
		"query of an agent":   queryOf,
		"query of a question": queryAskedBy,
		"known query":         queryKnown,
		"end a submission":    endSubmission,
		"decision":            decisionUnder,
		"list an agent's":     decided(decision.Listing{Agent: "agent", Cursor: cursor}),
		"list a person's":     decided(decision.Listing{By: "@ada:ex.org", Cursor: cursor}),
		"list all":            decided(decision.Listing{Cursor: cursor}),
		"use":                 addUse,
		"forget decisions":    forgetEmptied,
		"gate":                selectGate,
		"gate of a request":   gateOfRequest,
		"gate of a query":     gateOfQuery,
		"gate of a question":  gateOfQuestion,
		"queries":             selectQueries(2),
		"list":                page(collector.Listing{Cursor: cursor}),
		"list by state":       page(collector.Listing{State: collector.Open, Cursor: cursor}),
		"list by correlation": page(collector.Listing{CorrelationID: new("run"), Cursor: cursor}),
		"accept":              acceptResponse,
		"move":                moveGate,
		"expire":              expireGates,
		"next deadline":       nextGateDeadline,
		"forget":              forgetGates,
	}
}

// Lead makes a transaction that takes exactly so many companions, which are there after begun, and commits unless end
// says otherwise.
func (s *Store) Lead(ctx context.Context, companions int, begun func(), end func() error) error {
	leave, err := s.door.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	begun()
	g := &group{s: s}
	err = s.begin(ctx, func(ctx context.Context) error {
		for range companions {
			c := <-s.door.company
			g.companions = append(g.companions, c)
			if err := g.take(ctx, c); err != nil {
				return err
			}
		}
		return end()
	})
	g.end(err)
	return err
}

// CheckServing is one look at the serving lock.
func (s *Store) CheckServing(ctx context.Context) error { return s.checkServing(ctx) }

var KeyTables = keyTables

// HotGrantQueries are the statements of grants.
func HotGrantQueries() map[string]string {
	page := func(l grant.Listing) string {
		l.State, l.Cursor = grant.Active, bridge.Place{ID: "g"}.Cursor()
		query, _, err := grantListing(l)
		if err != nil {
			panic(err)
		}
		return query
	}
	return map[string]string{
		"grant": selectGrant, "revoke": revokeGrant, "move": moveGrants,
		"an agent's": page(grant.Listing{Asker: "agent"}), "a room's": page(grant.Listing{Conversations: []bridge.ConversationID{"!r"}}),
		"some rooms'": page(grant.Listing{Conversations: []bridge.ConversationID{"!r", "!s"}}),
	}
}
