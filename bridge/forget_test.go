package bridge_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Of an answer by somebody who is forgotten, the decision stays and the person does not; of anybody else's, and of what
// is still pending, everything does.
func TestForget(t *testing.T) {
	typed, comment, input := "Ada wrote this", "Ada says so", "https://ada.example.org"
	answered := func() bridge.Question {
		return bridge.Question{
			ID: "q_1", State: bridge.Answered, Scope: bridge.Direct, Target: "@ada:example.org",
			Answer: &bridge.Answer{
				Choice: bridge.Choice{
					Items:   []bridge.ItemChoice{{Header: "A", Selected: []bridge.OptionID{"yes"}}, {Header: "B", Text: &typed}},
					Comment: &comment, Input: &input, Via: bridge.ViaReply, Subject: &bridge.SubjectRef{ID: "s"},
				},
				Labels: [][]string{{"Yes"}, nil}, Meaning: bridge.Approve, Grant: bridge.GrantOnce, At: time.Unix(1, 0),
				By: bridge.Responder{ID: "@ada:example.org", DisplayName: "Ada"}, Event: "$by-ada", Certificate: []byte("for Ada"),
			},
		}
	}
	q := answered()
	if !q.Forget("@ada:example.org") {
		t.Fatal("she is not in it")
	}
	left, _ := json.Marshal(q)
	if strings.Contains(strings.ToLower(string(left)), "ada") {
		t.Errorf("left of her: %s", left)
	}
	mark := bridge.Erased
	want := answered()
	want.Target = bridge.Forgotten
	want.Answer.By, want.Answer.Event, want.Answer.Certificate = bridge.Responder{ID: bridge.Forgotten}, "", nil
	want.Answer.Items[1].Text, want.Answer.Comment, want.Answer.Input = &mark, &mark, &mark
	if !reflect.DeepEqual(q, want) {
		t.Errorf("got %+v", q.Answer)
	}
	if typed != "Ada wrote this" {
		t.Error("somebody else's copy changed")
	}
	if q.Forget("@ada:example.org") {
		t.Error("she is in it still")
	}

	dismissed := bridge.Question{State: bridge.Cancelled, CancelledBy: bridge.ByResponder, DismissedBy: "@ada:example.org"}
	if !dismissed.Forget("@ada:example.org") || dismissed.DismissedBy != bridge.Forgotten {
		t.Errorf("dismissed by %q", dismissed.DismissedBy)
	}

	for name, other := range map[string]bridge.Question{
		"another's": {State: bridge.Answered, Answer: &bridge.Answer{By: bridge.Responder{ID: "@bob:example.org"}}},
		"pending":   {State: bridge.Pending, Target: "@ada:example.org"},
		"expired":   {State: bridge.Expired},
	} {
		before := other
		if other.Forget("@ada:example.org") || !reflect.DeepEqual(other, before) {
			t.Errorf("%s: changed to %+v", name, other)
		}
	}
}
