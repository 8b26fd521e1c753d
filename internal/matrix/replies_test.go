package matrix

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/fixtures"
)

var update = flag.Bool("update", false, "write the golden files anew")

type structuredCase struct {
	Case, Question, Sender string
	Content                json.RawMessage
	RefusedBy              string `json:"refused_by"`
	Answer                 map[string]string
}

// Every structured answer of the fixtures does what stands beside it.
func TestStructuredFixtures(t *testing.T) {
	raw, err := fixtures.FS.ReadFile("replies/answers.json")
	noError(t, err)
	var file struct {
		Questions      map[string]map[string]any
		Valid, Refused []structuredCase
	}
	noError(t, json.Unmarshal(raw, &file))
	if len(file.Valid) == 0 || len(file.Refused) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range append(file.Valid, file.Refused...) {
		t.Run(c.Case, func(t *testing.T) {
			r := newRig(t, isRoot)
			q, m := r.askV2(file.Questions[c.Question])
			r.put("1", r.says(c.Sender, "m.room.message", strings.ReplaceAll(string(c.Content), `"$question"`, `"`+m+`"`)))
			r.work()
			got := r.question(q.ID)
			if c.RefusedBy != "" {
				if code := r.toldCode(); code != c.RefusedBy || got.State != bridge.Pending {
					t.Errorf("refused by %q and %s, want %q", code, got.State, c.RefusedBy)
				}
				return
			}
			if got.Answer == nil {
				t.Fatalf("refused by %q", r.toldCode())
			}
			a := map[string]string{}
			for name, s := range map[string]*string{"text": got.Answer.Items[0].Text, "comment": got.Answer.Comment, "input": got.Answer.Input} {
				if s != nil {
					a[name] = *s
				}
			}
			for _, id := range got.Answer.Items[0].Selected {
				a["option_id"] = string(id)
			}
			is, _ := json.Marshal(a)
			want, _ := json.Marshal(c.Answer)
			if !bytes.Equal(is, want) || string(got.Answer.By.ID) != c.Sender {
				t.Errorf("recorded %s by %s, want %s", is, got.Answer.By.ID, want)
			}
		})
	}
}

// toldCode is the code of the courtesy that is owed.
func (r *rig) toldCode() string {
	r.t.Helper()
	effects, err := r.db.ClaimEffects(r.t.Context(), r.clock.Now(), time.Minute, 10)
	noError(r.t, err)
	for _, f := range effects {
		var c bridge.Courtesy
		if f.Kind == bridge.EffectTell && json.Unmarshal(f.Payload, &c) == nil {
			return c.Code
		}
	}
	return ""
}

// Every way in which a question ends, as its carrier reads it.
func TestOutcomeFixtures(t *testing.T) {
	type outcomeCase struct {
		Case    string `json:"case"`
		Outcome any    `json:"outcome"`
	}
	rejecting := func() bridge.Question {
		q := q1()
		q.Items[0].Options[1].NeedsComment = true
		return q
	}
	set := func() bridge.Question {
		q := plain()
		q.Items[0].Header, q.Items[0].Multiple = "tests", true
		q.Items = append(q.Items, bridge.Item{Header: "branch", Prompt: "Which branch?", Text: &bridge.TextInput{MaxLength: 20}})
		return q
	}
	several := func() bridge.Question {
		q := plain()
		q.Items[0].Multiple = true
		return q
	}
	dismissible := func() bridge.Question {
		q := plain()
		q.Dismissible = true
		return q
	}
	reply := func(body string) func(r *rig, q bridge.Question, m string) {
		return func(r *rig, _ bridge.Question, m string) {
			r.put("1", r.says("@dana:ex.org", "m.room.message", threadReply(m, body)))
			r.work()
		}
	}
	api := func(c bridge.Choice) func(r *rig, q bridge.Question, m string) {
		return func(r *rig, q bridge.Question, _ string) {
			_, err := r.engine.Answer(r.t.Context(), "@dana:ex.org", q.ID, c)
			noError(r.t, err)
		}
	}
	main := "main"
	var got []outcomeCase
	for _, c := range []struct {
		name string
		q    bridge.Question
		v2   map[string]any
		do   func(r *rig, q bridge.Question, m string)
	}{
		{"answered by an option", plain(), nil, reply("2")},
		{"answered by an option, outside the room", plain(), nil, api(overHTTP("skip", nil))},
		{"answered by a text", freeText(), nil, reply("main")},
		{"answered with a comment", rejecting(), nil, reply("2: not today")},
		{"answered with an input", q1(), nil, reply("3: use a mirror")},
		{"answered by several options", several(), nil, reply("1, 2")},
		{"answered as a set", set(), nil, api(bridge.Choice{Items: []bridge.ItemChoice{{Header: "tests", Selected: []bridge.OptionID{"run_them", "skip"}}, {Header: "branch", Text: &main}}})},
		{"approved, on a board", bridge.Question{}, approval(nil), func(r *rig, q bridge.Question, m string) {
			r.put("1", r.says("@dana:ex.org", "m.room.message", decided(q, m, "approve", exactly("D1", 1))))
			r.work()
		}},
		{"rejected, on a board", bridge.Question{}, approval(nil), reply("4")},
		{"expired", plain(), nil, func(r *rig, _ bridge.Question, _ string) {
			r.clock.Move(time.Hour)
			_, err := r.engine.Expire(r.t.Context(), 10)
			noError(r.t, err)
		}},
		{"cancelled by its asker", plain(), nil, func(r *rig, q bridge.Question, _ string) {
			_, err := r.engine.Cancel(r.t.Context(), "ci", q.ID)
			noError(r.t, err)
		}},
		{"superseded, on a board", bridge.Question{}, approval(nil), func(r *rig, _ bridge.Question, _ string) {
			_, err := r.askedV2(approval(func(c, s map[string]any) { c["elicitation_id"], s["digest"], s["revision"] = "elc_2", "D2", 2 }))
			noError(r.t, err)
		}},
		{"dismissed", dismissible(), nil, reply("dismiss")},
	} {
		r := newRig(t, isRoot)
		q, m := c.q, ""
		if c.v2 != nil {
			q, m = r.askV2(c.v2)
		} else {
			q, m = r.ask(q)
		}
		c.do(r, q, m)
		r.pump()
		got = append(got, outcomeCase{c.name, r.outcomeOf(q, m)})
	}
	r := carrierRig(t)
	r.put("1", r.says("@pod:ex.org", "m.room.message", carriedQuestion)) // $p1
	r.work()
	r.put("2", r.says("@pod:ex.org", "m.room.message", correction("$p1", "May I?")))
	r.work()
	r.pump()
	q, _ := r.carried()
	got = append(got, outcomeCase{"edited by its carrier", r.outcomeOf(q, "$p1")})

	var is bytes.Buffer
	enc := json.NewEncoder(&is)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	noError(t, enc.Encode(got))
	if *update {
		noError(t, os.WriteFile("../../fixtures/replies/outcomes.json", is.Bytes(), 0o644))
		return
	}
	want, err := fixtures.FS.ReadFile("replies/outcomes.json")
	noError(t, err)
	if !bytes.Equal(is.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", is.Bytes(), want)
	}
}

// outcomeOf is the one outcome that was sent of a question, with names in place of the ids that are new each time.
func (r *rig) outcomeOf(q bridge.Question, m string) any {
	r.t.Helper()
	var all []any
	for _, e := range r.server.sent(room, "m.room.message") {
		o, ok := content(e)[outcomeKey].(map[string]any)
		if !ok || o["elicitation_id"] != q.ElicitationID {
			continue
		}
		if content(e)["msgtype"] != "m.notice" {
			r.t.Errorf("an outcome in %v", e)
		}
		raw, _ := json.Marshal(o)
		text := strings.ReplaceAll(strings.ReplaceAll(string(raw), string(q.ID), "q_ID"), `"`+m+`"`, `"$question"`)
		var plain map[string]any
		noError(r.t, json.Unmarshal([]byte(text), &plain))
		if a := r.question(q.ID).Answer; a != nil && a.Event != "" && plain["answer_event_id"] == string(a.Event) {
			plain["answer_event_id"] = "$answer"
		}
		all = append(all, plain)
	}
	if len(all) != 1 {
		r.t.Fatalf("%d outcomes of %s: %v", len(all), q.ElicitationID, all)
	}
	return all[0]
}
