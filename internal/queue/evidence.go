package queue

import "slices"

// Evidence is what the answers said about one target key of an agent.
type Evidence struct {
	Key        string
	Confidence float64 // 0 to 1; 0.5 before anything was said
	Count      int     // observations, at most 20: more weigh the same
}

// Observed is the evidence after one more observation of a signal from 0 to 1.
func (e Evidence) Observed(signal float64) Evidence {
	if e.Count == 0 {
		e.Confidence = startConfidence
	}
	e.Count = min(e.Count+1, evidenceCap)
	e.Confidence = min(max(e.Confidence+(signal-e.Confidence)/float64(e.Count+1), 0), 1)
	return e
}

// Answered is the evidence after an answer, which is [AnswerWeight] observations.
func (e Evidence) Answered(signal float64) Evidence {
	for range AnswerWeight {
		e = e.Observed(signal)
	}
	return e
}

// Effect is what an answer says about one target key.
type Effect struct {
	Key    string
	Signal float64
}

// Effects are what choosing an option says about the ledger's targets. Answers about a disjunction or a referent are
// recorded only, save for the keys whose target asks for confidence. (Question Queue, "Answers are evidence".)
func (c Candidate) Effects(option int) []Effect {
	var out []Effect
	add := func(keys []string, signal float64) {
		for _, key := range keys {
			if c.counts(key) {
				out = append(out, Effect{key, signal})
			}
		}
	}
	add(c.Options[option].Acted, actedSignal)
	add(c.Options[option].Contradicted, contradictedSignal)
	return out
}

func (c Candidate) counts(key string) bool {
	return c.Kind == Confirmation || slices.Contains(c.Targets, Target{key, true})
}
