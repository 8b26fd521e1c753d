package matrix

import (
	"encoding/json"

	"superpipeline.dev/question-bridge/bridge"
)

// progress is what the channel remembers of a question of several steps: which step is asked, and what was chosen
// before it.
type progress struct {
	Step  int                 `json:"step"`
	Picks []bridge.ItemChoice `json:"picks,omitempty"`
}

// progressOf reads a posting's progress. What does not fit the question is the first step.
func progressOf(q bridge.Question, p bridge.Posting) progress {
	var g progress
	if json.Unmarshal(p.Progress, &g) != nil || g.Step < 0 || g.Step >= len(q.Items) || len(g.Picks) != g.Step {
		return progress{}
	}
	return g
}

func (g progress) encode() json.RawMessage {
	raw, err := json.Marshal(g)
	if err != nil {
		return nil
	}
	return raw
}
