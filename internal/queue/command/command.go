// Package command answers !queue in a room: what of the Question Queue waits there.
package command

import (
	"context"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/schema"
)

// Store knows what waits in a room.
type Store interface {
	// AskedThere gives the candidates that a conversation is asked right now, the longest asked first, at most limit;
	// without those that only follow another one.
	AskedThere(ctx context.Context, conv bridge.ConversationID, limit int) ([]queue.Candidate, error)
	// WaitingThere gives the candidates that wait to be asked of those agents whose candidates the conversation was asked
	// before, and that have not lapsed on their agent's highest turn: the latest used first, at most limit.
	WaitingThere(ctx context.Context, conv bridge.ConversationID, limit int) ([]queue.Candidate, error)
	// QueueOff says whether an operator has switched the queue off.
	QueueOff(ctx context.Context) (bool, error)
}

// Commander answers !queue. It is a [bridge.Commander].
type Commander struct {
	Store    Store
	Names    map[bridge.AgentID]string // how agents are named to people; an agent that is not in it by its id
	Disabled func() bool               // see [queue.Parts]
}

// Commands implements [bridge.Commander].
func (Commander) Commands() []string { return []string{"queue"} }

// How much is shown.
const (
	mostShown = 10
	longest   = 200 // characters of a question
)

// Command implements [bridge.Commander]: it shows what waits, and changes nothing. What was proposed and not asked yet is
// for nobody but who wants to know.
func (c Commander) Command(ctx context.Context, cmd bridge.Command) (*bridge.CommandReply, error) {
	off, err := c.Store.QueueOff(ctx)
	if err != nil {
		return nil, err
	}
	if off || c.Disabled() {
		return &bridge.CommandReply{Text: texts.QueueOff}, nil
	}
	asked, err := c.Store.AskedThere(ctx, cmd.Conversation, mostShown+1)
	if err != nil {
		return nil, err
	}
	waiting, err := c.Store.WaitingThere(ctx, cmd.Conversation, mostShown+1)
	if err != nil {
		return nil, err
	}
	if len(asked)+len(waiting) == 0 {
		return &bridge.CommandReply{Text: texts.QueueEmpty}, nil
	}
	var lines []string
	if len(asked) > 0 {
		lines = c.listed(append(lines, texts.QueueAsked), asked)
	}
	if len(waiting) > 0 {
		lines = c.listed(append(lines, texts.QueueWaiting), waiting)
	}
	return &bridge.CommandReply{Text: strings.Join(lines, "\n"), Private: len(waiting) > 0}, nil
}

// listed adds a line for each candidate, as far as they are shown.
func (c Commander) listed(lines []string, candidates []queue.Candidate) []string {
	for i, candidate := range candidates {
		if i == mostShown {
			return append(lines, texts.QueueMore)
		}
		name := c.Names[candidate.Agent]
		if name == "" {
			name = string(candidate.Agent)
		}
		lines = append(lines, texts.QueueLine(schema.ShownLine(name), clipped(candidate.Text)))
	}
	return lines
}

func clipped(text string) string {
	text = schema.ShownLine(text)
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
