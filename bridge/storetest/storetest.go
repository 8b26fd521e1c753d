// Package storetest holds what every [bridge.Store] must do, as one suite of tests: each promise of the interface is a
// subtest.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/demand"
)

// Run runs the suite. open gives an empty store for each subtest, and cleans up after it by t.Cleanup; the suite may
// leave anything in it.
func Run(t *testing.T, open func(t *testing.T) bridge.Store) {
	for _, group := range []struct {
		name  string
		cases []promise
	}{
		{"Questions", questions}, {"Lists", lists}, {"Settle", settling}, {"Deadlines", deadlines}, {"Postings", postings},
		{"Subjects", subjects}, {"Quotas", quotas}, {"Replies", replies}, {"Responses", responses}, {"Effects", effects}, {"Workers", workers}, {"Atomically", atomically},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.check(&kit{Test: demand.Test{T: t}, Store: open(t)}) })
			}
		})
	}
}

// promise is one sentence that a store keeps.
type promise struct {
	name  string
	check func(k *kit)
}

// kit is what a subtest works with.
type kit struct {
	demand.Test
	bridge.Store
	asked int
}

// start is when every test begins.
var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const (
	room  bridge.ConversationID = "!room:example.org"
	agent bridge.AgentID        = "agent"
)

// after is so many milliseconds after start.
func after(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// question makes the next question: asked a millisecond after the one before, with a deadline in an hour.
func (k *kit) question() bridge.Question {
	k.asked++
	id := bridge.QuestionID(fmt.Sprintf("q_%d", k.asked))
	return bridge.Question{
		ID: id, Asker: agent, AskedBy: "Agent", Conversation: room, Dialect: bridge.Core, ElicitationID: string(id),
		Items: []bridge.Item{{Prompt: "Deploy?", Options: []bridge.Option{
			{ID: "approve", Label: "Yes", Meaning: bridge.Approve}, {ID: "deny", Label: "No", Meaning: bridge.Reject},
		}}},
		Scope: bridge.Room, Digest: "d", CreatedAt: after(k.asked), ExpiresAt: after(k.asked).Add(time.Hour),
		ForgetAfter: after(k.asked).Add(90 * 24 * time.Hour), State: bridge.Pending, Delivery: bridge.Delivery{State: bridge.Queued},
	}
}

// ask stores the next question, after the changes.
func (k *kit) ask(changes ...func(*bridge.Question)) bridge.Question {
	k.Helper()
	q := k.question()
	for _, change := range changes {
		change(&q)
	}
	k.OK(k.CreateQuestion(k.Context(), q))
	return q
}

// answer is one by a person who has this number.
func answer(n int, at time.Time) *bridge.Answer {
	return &bridge.Answer{
		Choice: bridge.Choice{Items: []bridge.ItemChoice{{Selected: []bridge.OptionID{"approve"}}}, Via: bridge.ViaReply},
		Labels: [][]string{{"Yes"}}, Meaning: bridge.Approve, At: at,
		By:    bridge.Responder{ID: bridge.UserID(fmt.Sprintf("@u%d:example.org", n)), DisplayName: "U" + strconv.Itoa(n)},
		Event: bridge.InteractionID(fmt.Sprintf("$e%d", n)),
	}
}

// answered settles a question by an answer of this person.
func answered(id bridge.QuestionID, n int, at time.Time) bridge.Settlement {
	return bridge.Settlement{Question: id, State: bridge.Answered, Revision: -1, Answer: answer(n, at), At: at}
}

// settle settles and must win.
func (k *kit) settle(s bridge.Settlement) bridge.Question {
	k.Helper()
	q, won, err := k.Settle(k.Context(), s)
	k.OK(err)
	k.Is("won", won, true)
	return q
}

// stored reads a question.
func (k *kit) stored(id bridge.QuestionID) bridge.Question {
	k.Helper()
	return demand.Got(k.Question(k.Context(), id))(k)
}

// add adds effects of a question, called by their keys, that are due at start.
func (k *kit) add(id bridge.QuestionID, keys ...string) {
	k.Helper()
	for _, key := range keys {
		k.OK(k.AddEffects(k.Context(), bridge.Effect{Kind: bridge.EffectTell, Question: id, Key: key, Due: start}))
	}
}

// claim claims for a minute and gives the effects and their keys.
func (k *kit) claim(now time.Time, limit int) ([]bridge.Effect, []string) {
	k.Helper()
	claimed := demand.Got(k.ClaimEffects(k.Context(), now, time.Minute, limit))(k)
	var keys []string
	for _, e := range claimed {
		keys = append(keys, e.Key)
	}
	return claimed, keys
}

// code demands an error with a code.
func (k *kit) code(what string, err error, want bridge.Code) {
	k.Helper()
	if bridge.CodeOf(err) != want {
		k.Errorf("%s: got error %v, want one with code %s", what, err, want)
	}
}

// only turns a value, an ok and an error into the value, or ends the test.
func only[T any](value T, ok bool, err error) func(*kit) T {
	return func(k *kit) T {
		k.Helper()
		k.OK(err)
		k.Is("ok", ok, true)
		return value
	}
}

// absent demands that nothing was found.
func absent[T any](_ T, ok bool, err error) func(*kit) {
	return func(k *kit) {
		k.Helper()
		k.OK(err)
		k.Is("ok", ok, false)
	}
}

// fill gives every field of a value something of its own, so that a store that drops one is noticed.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(after(*n)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{ "n": %d, "html": "<b>&amp;</b>" }`, *n))))
		return
	}
	switch v.Kind() {
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d <é> \x00", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic(fmt.Sprintf("storetest: cannot fill a %s", v.Type()))
	}
}

// filled is a value with something in every field.
func filled[T any]() (value T) {
	n := 0
	fill(reflect.ValueOf(&value).Elem(), &n)
	return value
}

// outside is a context of a caller that is in no transaction.
func (k *kit) outside() context.Context { return k.Context() }
