package config

import "testing"

// What is left out has the default, also within a group; 0 is no limit; an agent has its own in place of the general one.
func TestLimits(t *testing.T) {
	c, err := Load(write(t, least+"\nlimits: {agent: {per_minute: 10, pending: 0}, person: {per_minute: 0, burst: 0}}\n"+
		"agents: [{id: a}, {id: b, limits: {burst: 5}}, {id: c, limits: {per_minute: 0, pending: 7}}]"), none)
	if err != nil {
		t.Fatal(err)
	}
	usual := defaultLimits()
	for id, want := range map[string]Limit{
		"a": {10, usual.Agent.Burst, 0}, "not listed": {10, usual.Agent.Burst, 0}, "b": {10, 5, 0}, "c": {0, usual.Agent.Burst, 7},
	} {
		if got := c.AgentLimit(id); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if c.Limits.Room != usual.Room || c.Limits.Person != (Pace{}) {
		t.Errorf("%+v", c.Limits)
	}
}
