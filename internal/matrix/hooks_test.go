package matrix

import (
	"context"
	"encoding/json"
	"errors"

	"superpipeline.dev/question-bridge/bridge"
)

// effectHook stands for what a webhook is told: work owed after commit, like everything else that is.
const effectHook bridge.EffectKind = "test.webhook"

type hookFeature struct{ store bridge.Store }

// Settling implements [bridge.Feature].
func (h hookFeature) Settling(ctx context.Context, q bridge.Question) error {
	payload, _ := json.Marshal("question." + string(q.State))
	return h.store.AddEffects(ctx, bridge.Effect{
		Kind: effectHook, Question: q.ID, Lane: "webhook", Key: string(q.ID) + "/webhook", Payload: payload, Due: *q.SettledAt,
	})
}

// hooked gives a rig whose settled questions are told to a webhook.
func (r *rig) hooked() *rig {
	r.engine.Features = []bridge.Feature{hookFeature{r.db}}
	return r
}

func (r *rig) effect(f bridge.Effect) error {
	switch {
	case f.Kind != effectHook:
		return r.engine.Run(r.t.Context(), f)
	case r.hookDown:
		return errors.New("nobody takes it")
	}
	var event string
	noError(r.t, json.Unmarshal(f.Payload, &event))
	r.hooks = append(r.hooks, event+" "+f.Key)
	return nil
}
