package config

import (
	"fmt"
	"slices"
	"time"
)

// Queue is how the Question Queue rations what agents ask, beyond the tuning that it has by itself.
type Queue struct {
	PersonBudget PersonBudget `yaml:"person_budget"`
	Groups       [][]string   `yaml:"groups,omitempty"` // of agents whose equal questions are asked once
}

// PersonBudget is how often one person, or one room as a whole, may be asked by all agents together. 0 asks is no limit.
type PersonBudget struct {
	Asks Count         `yaml:"asks"`
	Per  time.Duration `yaml:"per"`
}

// Limits of the queue's settings.
const (
	maxPersonAsks = 1000
	minPer        = time.Minute
	maxPer        = 365 * 24 * time.Hour
	maxGroup      = 100
)

func defaultQueue() Queue { return Queue{PersonBudget: PersonBudget{Per: 24 * time.Hour}} }

func (k *checker) queue(q Queue) {
	k.rule(q.PersonBudget.Asks >= 0 && q.PersonBudget.Asks <= maxPersonAsks, "queue.person_budget.asks",
		"must be 1 to %d, or 0 for no limit", maxPersonAsks)
	k.rule(q.PersonBudget.Per >= minPer && q.PersonBudget.Per <= maxPer, "queue.person_budget.per",
		"must be 1m to %dh", int(maxPer.Hours()))
	var seen []string
	for i, group := range q.Groups {
		at := fmt.Sprintf("queue.groups[%d]", i)
		k.rule(len(group) >= 2 && len(group) <= maxGroup, at, "must be 2 to %d agents", maxGroup)
		for j, agent := range group {
			field := fmt.Sprintf("%s[%d]", at, j)
			if k.rule(isWord(agent, maxID), field, "must be 1 to %d letters, digits or ._-", maxID) {
				k.rule(!slices.Contains(seen, agent), field, "must be in one group only, and once")
			}
			seen = append(seen, agent)
		}
	}
}
