package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Limits says how fast agents and people may act, and how many questions may be pending at once. 0 is no limit.
type Limits struct {
	Agent  Limit `yaml:"agent"`   // of each agent: its asks and cancels, and its pending questions
	Room   Limit `yaml:"room"`    // of each room, whoever asks: asks, and pending questions
	Person Pace  `yaml:"person"`  // of each person: answers over HTTP
	SignIn Pace  `yaml:"sign_in"` // of each address: tries to sign in
	// Response is of each address: responses to queries.
	Response Pace `yaml:"response"`
}

// Pace is how often something may be done.
type Pace struct {
	PerMinute Count `yaml:"per_minute"` // for long
	Burst     Count `yaml:"burst"`      // at once
}

// Limit is a pace, and how many questions may be pending at once.
type Limit struct {
	PerMinute Count `yaml:"per_minute"`
	Burst     Count `yaml:"burst"`
	Pending   Count `yaml:"pending"`
}

// AgentLimit is what one agent has in place of limits.agent; nil for the same.
type AgentLimit struct {
	PerMinute *Count `yaml:"per_minute,omitempty"`
	Burst     *Count `yaml:"burst,omitempty"`
	Pending   *Count `yaml:"pending,omitempty"`
}

// Count is a whole number. Of a fraction, the decoder would take the whole part: 0, which is no limit.
type Count int

// UnmarshalYAML implements [yaml.Unmarshaler].
func (c *Count) UnmarshalYAML(n *yaml.Node) error {
	if tag := n.ShortTag(); tag != "!!int" {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: cannot unmarshal %s into int", n.Line, tag)}}
	}
	return n.Decode((*int)(c))
}

// Pace is how often it lets something be done.
func (l Limit) Pace() Pace { return Pace{l.PerMinute, l.Burst} }

// Limits of limits.
const (
	maxPerMinute = 60_000
	maxPending   = 100_000 // a count of them is part of every ask
)

func defaultLimits() Limits {
	return Limits{
		Agent:  Limit{PerMinute: 120, Burst: 120, Pending: 1000},
		Room:   Limit{PerMinute: 60, Burst: 60, Pending: 200},
		Person: Pace{PerMinute: 60, Burst: 30},
		SignIn: Pace{PerMinute: 60, Burst: 30}, Response: Pace{PerMinute: 120, Burst: 60},
	}
}

// AgentLimit gives the limit of an agent, whether it is listed or not.
func (c Config) AgentLimit(id string) Limit {
	limit := c.Limits.Agent
	for _, a := range c.Agents {
		if a.ID == id && a.Limits != nil {
			return a.Limits.over(limit)
		}
	}
	return limit
}

func (own AgentLimit) over(limit Limit) Limit {
	return Limit{orElse(own.PerMinute, limit.PerMinute), orElse(own.Burst, limit.Burst), orElse(own.Pending, limit.Pending)}
}

func orElse(own *Count, otherwise Count) Count {
	if own == nil {
		return otherwise
	}
	return *own
}

func (k *checker) limits(l Limits, agents []Agent) {
	k.limit("limits.agent", l.Agent)
	k.limit("limits.room", l.Room)
	k.pace("limits.person", l.Person)
	k.pace("limits.sign_in", l.SignIn)
	k.pace("limits.response", l.Response)
	for i, a := range agents {
		if a.Limits != nil {
			k.limit(fmt.Sprintf("agents[%d].limits", i), a.Limits.over(l.Agent))
		}
	}
}

func (k *checker) limit(at string, l Limit) {
	k.pace(at, l.Pace())
	k.rule(l.Pending >= 0 && l.Pending <= maxPending, at+".pending", "must be 1 to %d, or 0 for no limit", maxPending)
}

func (k *checker) pace(at string, p Pace) {
	k.rule(p.PerMinute >= 0 && p.PerMinute <= maxPerMinute, at+".per_minute", "must be 1 to %d, or 0 for no limit", maxPerMinute)
	k.rule(p.PerMinute == 0 || p.Burst >= 1 && p.Burst <= maxPerMinute, at+".burst", "must be 1 to %d where per_minute is not 0", maxPerMinute)
}
