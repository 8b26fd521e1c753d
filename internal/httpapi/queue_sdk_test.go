package httpapi_test

import (
	"errors"
	"math"
	"testing"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/bridge/producer"
	"superpipeline.dev/question-bridge/schema"
)

// The SDK's calls, with what a producer made, end to end.
func TestQueueOverTheSDK(t *testing.T) {
	inLibraries(t, func(l *library) {
		c, err := client.New(client.Config{Server: l.url, Token: l.secret})
		if err != nil {
			t.Fatal(err)
		}
		q, ctx := c.Queue(), t.Context()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		var made []schema.Proposal
		made = append(made, producer.FromGate(1, &producer.GateReport{Query: "deployment", Gated: true, Mode: producer.GateRefuse, RefusedKeys: []string{"fact:9"}})...)
		made = append(made, producer.FromDisjunctions(1, []producer.Disjoined{{ID: "d1", A: producer.Fact{Key: "a", Statement: "mornings"}, B: producer.Fact{Key: "b", Statement: "afternoons"}}})...)
		made = append(made, producer.FromResolution(1, producer.Resolution{Key: "rec:1", References: []producer.Reference{
			{Status: producer.EvidenceGap, Words: "her", Start: 4, End: 7, Candidates: []string{"Dana", "Eve"}},
		}})...)
		for _, p := range made {
			r, err := q.Propose(ctx, p)
			ok(err)
			if r.Outcome != "proposed" || r.Candidate.QuestionText != p.QuestionText {
				t.Errorf("%+v", r)
			}
		}
		n, err := q.Use(ctx, schema.KeysBody{Keys: []string{"fact:9"}, Turn: 2})
		ok(err)
		next, err := q.Next(ctx, schema.NextBody{Turn: 2, QueryCues: &schema.Cues{"the deployment", "of today"}})
		ok(err)
		if n != 1 || next == nil || next.TargetKeys[0].Key != "fact:9" {
			t.Fatalf("used %d, next %+v", n, next)
		}
		r, err := q.Answer(ctx, next.CandidateID, schema.ReplyBody{AnswerText: "yes", Turn: 3})
		ok(err)
		e, err := q.Evidence(ctx, "fact:9")
		ok(err)
		if !r.Applied || math.Abs(e.Confidence-0.8) > 1e-9 || e.Count != 3 {
			t.Errorf("%+v %+v", r, e)
		}
		n, err = q.Gone(ctx, schema.KeysBody{Keys: []string{"a"}, Turn: 3})
		ok(err)
		pruned, err := q.Prune(ctx, 600)
		ok(err)
		if n != 1 || pruned != 2 {
			t.Errorf("%d gone, %d pruned", n, pruned)
		}
		count := 0
		for c, err := range q.Candidates(ctx, client.CandidateOptions{PageSize: 1}) {
			ok(err)
			one, err := q.Candidate(ctx, c.CandidateID)
			ok(err)
			if count++; one.Status != c.Status {
				t.Errorf("%+v", one)
			}
		}
		if count != 1 {
			t.Errorf("%d are left", count)
		}
		ok(q.SetCallback(ctx, "https://host.example.org/stale"))
		at, err := q.Callback(ctx)
		ok(err)
		ok(q.SetCallback(ctx, ""))
		if now, err := q.Callback(ctx); at != "https://host.example.org/stale" || now != "" || err != nil {
			t.Errorf("callbacks %q, %q, %v", at, now, err)
		}
		var refused *client.Error
		if _, err := q.Candidate(ctx, "c_none"); !errors.As(err, &refused) || refused.Code != "candidate_not_found" {
			t.Errorf("%v", err)
		}
	})
}
