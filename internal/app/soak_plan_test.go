package app

import (
	"fmt"
	"math/rand/v2"
	"time"

	"superpipeline.dev/question-bridge/bridge/client"
	"superpipeline.dev/question-bridge/internal/testserver"
	"superpipeline.dev/question-bridge/schema"
)

// plan is what will be done with one question: by its asker, and by people once they see it.
type plan struct {
	number      int
	room        string
	ownID       bool // asked as a question.v2 with an id of its own, again and again until there is a response
	options     []string
	target      *testserver.User // nil: anybody in the room
	acts        []act
	late        *act          // done when the outcome is seen
	cancelAfter time.Duration // 0: never
	silent      bool          // nobody answers, and it expires
	waiters     int
}

// act is something that somebody does about a question.
type act struct {
	kind   actKind
	by     *testserver.User
	option int // from 0
	pause  time.Duration
}

type actKind string

const (
	byNumber   actKind = "number"     // the number, in the thread
	byLabel    actKind = "label"      // the label, as a rich reply
	byReaction actKind = "reaction"   // a keycap
	byEvent    actKind = "event"      // a structured answer
	byEdit     actKind = "edit"       // talk in the thread, edited into the number
	talk       actKind = "talk"       // no answer
	elsewhere  actKind = "elsewhere"  // the number, related to nothing
	outOfRange actKind = "outOfRange" // a number that no option has
)

var words = []string{"run_them", "skip", "later", "never"}

func label(value string) string { return "Option " + value }

// promptOf names a question by its number: in the room, a question is known by that alone.
func promptOf(number int) string { return fmt.Sprintf("Question %d: which one?", number) }

// planned draws what will be done with the question of a number.
func (s *soak) planned(number int, room string) plan {
	r := s.draw(1000 + uint64(number))
	p := plan{number: number, room: room, ownID: r.IntN(3) == 0, options: words[:2+r.IntN(3)], waiters: 1 + r.IntN(2)}
	somebody := func() *testserver.User { return s.people[r.IntN(len(s.people))] }
	if r.IntN(5) == 0 {
		p.target = somebody()
	}
	if r.IntN(6) == 0 {
		p.cancelAfter = time.Duration(1+r.IntN(900)) * time.Millisecond
	}
	if *soakRounds > soakChapter && r.IntN(12) == 0 {
		p.silent, p.cancelAfter = true, 0
		return p
	}
	kinds := []actKind{byNumber, byLabel, byReaction, byEvent, byEdit, talk, elsewhere, outOfRange}
	for range r.IntN(3) {
		p.acts = append(p.acts, act{kinds[r.IntN(len(kinds))], somebody(), r.IntN(len(p.options)), someTime(r)})
	}
	if r.IntN(8) == 0 {
		p.acts = append(p.acts, act{byNumber, s.hub, r.IntN(len(p.options)), someTime(r)})
	}
	if r.IntN(4) == 0 {
		p.late = &act{kinds[r.IntN(4)], somebody(), r.IntN(len(p.options)), someTime(r)}
	}
	sure := act{kinds[r.IntN(4)], somebody(), r.IntN(len(p.options)), someTime(r)}
	if p.target != nil {
		sure.by = p.target
	}
	if p.cancelAfter == 0 || r.IntN(2) == 0 {
		p.acts = append(p.acts, sure)
	}
	r.Shuffle(len(p.acts), func(i, j int) { p.acts[i], p.acts[j] = p.acts[j], p.acts[i] })
	return p
}

func someTime(r *rand.Rand) time.Duration { return time.Duration(r.IntN(300)) * time.Millisecond }

// means is the option that an act chooses, by everybody's understanding; "" for none.
func (p plan) means(a act, hub *testserver.User) string {
	if a.by == hub || p.target != nil && a.by != p.target || a.kind == talk || a.kind == elsewhere || a.kind == outOfRange {
		return ""
	}
	return p.options[a.option]
}

func (p plan) correlation(seed uint64) string { return fmt.Sprintf("soak-%d-%d", seed, p.number) }

// ask is the plan's question as a program sends it.
func (p plan) ask(seed uint64) schema.Ask {
	terms := schema.AskTerms{CorrelationID: new(p.correlation(seed))}
	if p.target != nil {
		terms.TargetUserID = p.target.ID
	}
	terms.TTL = client.TTL(time.Hour)
	if p.silent {
		terms.TTL = client.TTL(schema.CoreMinLifetime)
	}
	if !p.ownID {
		ask := &schema.CoreAsk{AskTerms: terms, Prompt: promptOf(p.number)}
		for _, value := range p.options {
			ask.Options = append(ask.Options, schema.AskOption{Value: value, Label: label(value)})
		}
		return ask
	}
	e := &schema.Elicitation{
		MsgType: "m.text", SuiteEventType: schema.EventType, SchemaVersion: 1, ElicitationID: "own-" + p.correlation(seed),
		BoardID: "brd_1", CardID: "crd_1", RunID: "run_1", StageKey: "draft", CardTitle: "A soak", AskedBy: "CI", Question: promptOf(p.number),
	}
	for _, value := range p.options {
		e.Options = append(e.Options, schema.Option{ID: value, Label: label(value), Meaning: schema.Choose})
	}
	return &schema.ElicitationAsk{AskTerms: terms, Elicitation: e}
}
