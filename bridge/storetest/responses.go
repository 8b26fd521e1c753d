package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

// response is one to a request of the agent under a key.
func response(key string, q bridge.QuestionID) bridge.KeptResponse {
	return bridge.KeptResponse{
		RequestID: bridge.RequestID{Agent: agent, Scope: "ask " + string(room), Key: key}, KeptAt: start,
		Response: bridge.Response{Question: q, Created: true, Body: []byte("{ \"id\": \"" + string(q) + "\", \"html\": \"<\u2028\x00\" }\n")},
	}
}

var responses = []promise{
	{"the first response to a request is kept, byte for byte", func(k *kit) {
		r := filled[bridge.KeptResponse]()
		r.Question = k.ask().ID
		absent(k.Response(k.Context(), r.RequestID))(k)
		k.Is("new", demand.Got(k.KeepResponse(k.Context(), r))(k), true)
		again := response("", k.ask().ID)
		again.RequestID = r.RequestID
		k.Is("new again", demand.Got(k.KeepResponse(k.Context(), again))(k), false)
		k.Is("kept", only(k.Response(k.Context(), r.RequestID))(k), r)
	}},
	{"a key is one agent's, for one thing to do", func(k *kit) {
		q := k.ask().ID
		k.Is("new", demand.Got(k.KeepResponse(k.Context(), response("key", q)))(k), true)
		for _, change := range []func(*bridge.RequestID){
			func(r *bridge.RequestID) { r.Agent = "another" }, func(r *bridge.RequestID) { r.Scope = "cancel" }, func(r *bridge.RequestID) { r.Key = "Key" },
		} {
			r := response("key", q)
			change(&r.RequestID)
			absent(k.Response(k.Context(), r.RequestID))(k)
			k.Is("another is new", demand.Got(k.KeepResponse(k.Context(), r))(k), true)
		}
	}},
	{"a response is kept with what was done, or not at all", func(k *kit) {
		q := k.question()
		err := k.Atomically(k.Context(), func(ctx context.Context) error {
			k.OK(k.CreateQuestion(ctx, q))
			k.Is("new", demand.Got(k.KeepResponse(ctx, response("key", q.ID)))(k), true)
			return errStop
		})
		k.Is("error", err, errStop)
		absent(k.Response(k.Context(), response("key", q.ID).RequestID))(k)
	}},
	{"of those who do the same at once, one does it", func(k *kit) {
		const many = 20
		asking := make([]bridge.Question, many)
		for i := range asking {
			asking[i] = k.question()
		}
		var done atomic.Int32
		demand.Parallel(many, func(i int) {
			err := k.Atomically(k.Context(), func(ctx context.Context) error {
				if err := k.CreateQuestion(ctx, asking[i]); err != nil {
					return err
				}
				isNew, err := k.KeepResponse(ctx, response("key", asking[i].ID))
				if err == nil && !isNew {
					err = errStop
				}
				return err
			})
			switch err {
			case nil:
				done.Add(1)
			case errStop: // whoever was faster has committed
				if _, ok, err := k.Response(k.Context(), response("key", "").RequestID); err != nil || !ok {
					k.Errorf("the first response is not there: %v", err)
				}
			default:
				k.Error(err)
			}
		})
		k.Is("done", done.Load(), int32(1))
		kept := only(k.Response(k.Context(), response("key", "").RequestID))(k)
		all, _, err := k.ListQuestions(k.Context(), bridge.Listing{Asker: agent, Limit: 50})
		k.OK(err)
		k.Is("stored", len(all), 1)
		k.Is("the question", all[0].ID, kept.Question)
	}},
	{"a response is forgotten with its question", func(k *kit) {
		q := k.ask()
		k.Is("new", demand.Got(k.KeepResponse(k.Context(), response("key", q.ID)))(k), true)
		k.settle(answered(q.ID, 1, start))
		k.Is("forgotten", demand.Got(k.Forget(k.Context(), q.ForgetAfter.Add(time.Second), 9))(k), 1)
		absent(k.Response(k.Context(), response("key", q.ID).RequestID))(k)
	}},
}
