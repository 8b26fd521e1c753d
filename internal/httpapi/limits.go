package httpapi

import (
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Pace is how fast something may be done: Burst times at once, and PerMinute times a minute for long. PerMinute 0 is no
// limit; otherwise Burst is at least 1.
type Pace struct{ PerMinute, Burst int }

// Limits are the paces of those who use this API (The Question Protocol 1.1, section 10). What only reads has none: it
// tells nobody anything, and a wait is how a good client reads.
type Limits struct {
	Agent  func(bridge.AgentID) Pace // of one agent's asks and cancels together, and of its calls to the question queue; nil for no limit
	Room   Pace                      // of the asks in one room, whoever asks
	Person Pace                      // of one person's answers and revocations
	SignIn Pace                      // of the tries to sign in from one address
	// Response is that of the responses to queries from one address, which need no token.
	Response Pace
}

// budget is what an action counts against: everything that one agent or person does, or that is done in one room.
type budget struct {
	pace Pace
	id   string
	more string // what there was too much of, for whoever is refused
}

func (s *server) agentBudget(agent bridge.AgentID) budget {
	b := budget{id: string(agent), more: "asks and cancels of this agent"}
	if s.Limits.Agent != nil {
		b.pace = s.Limits.Agent(agent)
	}
	return b
}

// queueBudget is as large as that of the agent's asks, and apart from it: a host calls the queue on every turn.
func (s *server) queueBudget(agent bridge.AgentID) budget {
	b := s.agentBudget(agent)
	b.more = "calls of this agent to the question queue"
	return b
}

func (s *server) roomBudget(room bridge.ConversationID) budget {
	return budget{s.Limits.Room, string(room), "asks in this room"}
}

func (s *server) personBudget(who bridge.UserID) budget {
	return budget{s.Limits.Person, string(who), "answers and revocations of this person"}
}

// signInBudget is of an address, since who signs in is not known yet.
func (s *server) signInBudget(address string) budget {
	return budget{s.Limits.SignIn, address, "tries to sign in from this address"}
}

// responseBudget is of an address, since a capability says nothing of who has it.
func (s *server) responseBudget(address string) budget {
	return budget{s.Limits.Response, address, "responses from this address"}
}

// spend counts an action against all its budgets, or against none where one of them has nothing left: then the error is
// codeRateLimited, and says when it is worth another try.
func (s *server) spend(budgets ...budget) error {
	e := s.limiter.take(s.Clock.Now(), budgets)
	if e == nil {
		return nil
	}
	p := newProblem(codeRateLimited, "There were too many "+e.budget.more+" lately. Please wait, and try again.").retryAfter(e.wait)
	p.again = e.again
	return p
}

// quotaAgain is when it may be worth another try after a quota was exceeded: nobody knows when one of the pending
// questions ends.
const quotaAgain = 10 * time.Second
