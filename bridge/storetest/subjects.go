package storetest

import (
	"context"
	"slices"
	"sync/atomic"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

// about asks about a revision of a subject.
func (k *kit) about(subject string, revision int64, changes ...func(*bridge.Question)) bridge.Question {
	k.Helper()
	return k.ask(append(changes, func(q *bridge.Question) {
		q.Subject = &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: subject, Digest: "D", Schema: "x/v1", Revision: revision}}
	})...)
}

var subjects = []promise{
	{"what was asked about a subject: what is pending, and the highest revision", func(k *kit) {
		old := k.about("s", 1)
		gone := k.about("s", 2)
		k.settle(answered(gone.ID, 1, start))
		top := k.about("s", 3)
		k.settle(answered(top.ID, 2, start))
		k.about("another", 9)
		k.about("s", 9, func(q *bridge.Question) { q.Asker = "another" })
		k.about("s", 9, func(q *bridge.Question) { q.Conversation = "!another:example.org" })
		k.ask()
		var ids []bridge.QuestionID
		for _, q := range demand.Got(k.AskedAbout(k.Context(), agent, room, "s"))(k) {
			ids = append(ids, q.ID)
			k.Is("question", q, k.stored(q.ID))
		}
		k.Is("asked", ids, []bridge.QuestionID{top.ID, old.ID})
		k.Is("about nothing", len(demand.Got(k.AskedAbout(k.Context(), agent, room, "none"))(k)), 0)
	}},
	{"of those who ask about a subject at once, each sees who was before", func(k *kit) {
		const many = 12
		asking := make([]bridge.Question, many)
		for i := range asking {
			asking[i] = k.question()
			asking[i].Subject = &bridge.Subject{SubjectRef: bridge.SubjectRef{ID: "s", Revision: int64(i)}}
		}
		var seen [many]atomic.Int32
		demand.Parallel(many, func(i int) {
			err := k.Atomically(k.Context(), func(ctx context.Context) error {
				before, err := k.AskedAbout(ctx, agent, room, "s")
				if err != nil {
					return err
				}
				seen[i].Store(int32(len(before)))
				return k.CreateQuestion(ctx, asking[i])
			})
			if err != nil {
				k.Error(err)
			}
		})
		var counts, want []int32
		for i := range seen {
			counts, want = append(counts, seen[i].Load()), append(want, int32(i))
		}
		slices.Sort(counts)
		k.Is("how many were before", counts, want)
	}},
}
