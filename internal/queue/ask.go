package queue

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"superpipeline.dev/question-bridge/bridge"
)

// Asker asks questions in rooms. A [bridge.Engine] is one.
type Asker interface {
	// Ready says whether a question could be asked where it is meant to be. It may use the network.
	Ready(ctx context.Context, q bridge.Question) error
	// AskWithin asks it in the transaction of ctx.
	AskWithin(ctx context.Context, q bridge.Question) error
}

// Place is where a candidate is asked, whom, and for how long.
type Place struct {
	Conversation bridge.ConversationID
	Scope        bridge.ResponderScope
	Target       bridge.UserID // for bridge.Direct
	AskedBy      string        // how the agent is named to people; its id if empty
	Lifetime     time.Duration // of the question; the candidate cools with it
}

// NextIn does what [Queue.Next] does, and asks the candidate in a room as part of its claim: claim, question and what posts
// it are one transaction. It spends what the person who is asked, or the room as a whole, is left with, too. Errors are
// those of Next, and what keeps the room from being asked: nothing is claimed then, and nothing spent.
func (q *Queue) NextIn(ctx context.Context, r Request, p Place) (*Candidate, error) {
	r.Whom = string(p.Conversation)
	if p.Scope == bridge.Direct {
		r.Whom = string(p.Target)
	}
	r.Delivery = &delivery{asker: q.Asker, clock: q.Clock, agent: r.Agent, place: p}
	return q.Next(ctx, r)
}

// delivery asks candidates of an agent in one place.
type delivery struct {
	asker Asker
	clock bridge.Clock
	agent bridge.AgentID
	place Place
}

// Ready implements [Delivery].
func (d *delivery) Ready(ctx context.Context) error { return d.asker.Ready(ctx, d.question()) }

// Deliver implements [Delivery].
func (d *delivery) Deliver(ctx context.Context, c Candidate) (bridge.QuestionID, error) {
	q := d.question()
	item := bridge.Item{Prompt: c.Text}
	for i, o := range c.Options {
		item.Options = append(item.Options, bridge.Option{ID: optionID(i), Label: o.Label, Meaning: bridge.Choose, Style: "default"})
	}
	q.Items = []bridge.Item{item}
	return q.ID, d.asker.AskWithin(ctx, q)
}

// question is a new one that asks nothing yet.
func (d *delivery) question() bridge.Question {
	now, id := d.clock.Now(), bridge.NewQuestionID()
	return bridge.Question{
		ID: id, ElicitationID: string(id), Asker: d.agent, AskedBy: cmp.Or(d.place.AskedBy, string(d.agent)), Conversation: d.place.Conversation, Dialect: bridge.Core,
		Scope: d.place.Scope, Target: d.place.Target, Rationed: true,
		CreatedAt: now, ExpiresAt: now.Add(d.place.Lifetime), ForgetAfter: now.Add(bridge.Retention),
	}
}

// optionID names an option of a candidate in its question by the number that people see.
func optionID(index int) bridge.OptionID { return bridge.OptionID(strconv.Itoa(index + 1)) }

// optionIndex is the option of that id, from 0; -1 for none of so many.
func optionIndex(id bridge.OptionID, of int) int {
	for i := range of {
		if optionID(i) == id {
			return i
		}
	}
	return -1
}
