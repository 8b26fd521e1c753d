package matrix

import (
	"encoding/json"
	"maps"

	"superpipeline.dev/question-bridge/bridge"
)

// progress is what the channel remembers of a question: which step is asked, what was chosen before it, and who has to
// type something for the option they chose on this step.
type progress struct {
	Step    int                       `json:"step"`
	Picks   []bridge.ItemChoice       `json:"picks,omitempty"`
	Waiting map[bridge.UserID]waiting `json:"waiting,omitempty"`
}

// progressOf reads a posting's progress. What does not fit the question is the first step.
func progressOf(q bridge.Question, p bridge.Posting) progress {
	g := decodeProgress(p)
	if g.Step < 0 || g.Step >= len(q.Items) || len(g.Picks) != g.Step {
		return progress{}
	}
	return g
}

func decodeProgress(p bridge.Posting) progress {
	var g progress
	if json.Unmarshal(p.Progress, &g) != nil {
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

// with is the progress when somebody waits, or with nil no longer does.
func (g progress) with(who bridge.UserID, w *waiting) progress {
	g.Waiting = maps.Clone(g.Waiting)
	delete(g.Waiting, who)
	if w != nil {
		if g.Waiting == nil {
			g.Waiting = map[bridge.UserID]waiting{}
		}
		g.Waiting[who] = *w
	}
	return g
}
