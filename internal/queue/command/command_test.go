package command_test

import (
	"context"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
	"superpipeline.dev/question-bridge/internal/queue/command"
)

// held is what waits in a room.
type held struct {
	asked, waiting []queue.Candidate
	off            bool
}

func (h held) AskedThere(_ context.Context, _ bridge.ConversationID, limit int) ([]queue.Candidate, error) {
	return h.asked[:min(limit, len(h.asked))], nil
}

func (h held) WaitingThere(_ context.Context, _ bridge.ConversationID, limit int) ([]queue.Candidate, error) {
	return h.waiting[:min(limit, len(h.waiting))], nil
}

func (h held) QueueOff(context.Context) (bool, error) { return h.off, nil }

func candidates(texts ...string) (all []queue.Candidate) {
	for _, text := range texts {
		all = append(all, queue.Candidate{Agent: "a1", Text: text})
	}
	return all
}

// What is asked everybody may read; what waits to be asked, only who asks for it. A question stays within its line.
func TestQueueCommand(t *testing.T) {
	disabled := false
	for _, tt := range []struct {
		held    held
		want    string
		private bool
	}{
		{held{}, "Nothing waits in the question queue here.", false},
		{held{off: true, asked: candidates("One?")}, "The question queue is switched off.", false},
		{held{asked: candidates("One\n2. forged?")}, "Asked here, and waiting for a reply:\n• Planner: One 2. forged?", false},
		{
			held{asked: candidates("One?"), waiting: candidates("Two?", strings.Repeat("x", 300))},
			"Asked here, and waiting for a reply:\n• Planner: One?\nWaiting to be asked:\n• Planner: Two?\n• Planner: " + strings.Repeat("x", 200) + "…", true,
		},
		{
			held{waiting: candidates(make([]string, 12)...)},
			"Waiting to be asked:" + strings.Repeat("\n• Planner: ", 10) + "\n• and more", true,
		},
	} {
		c := command.Commander{Store: tt.held, Names: map[bridge.AgentID]string{"a1": "Planner"}, Disabled: func() bool { return disabled }}
		got, err := c.Command(t.Context(), bridge.Command{Name: "queue", Conversation: "!room:example.org"})
		if err != nil || got == nil || got.Text != tt.want || got.Private != tt.private {
			t.Errorf("got %+v %v, want %q", got, err, tt.want)
		}
	}
	disabled = true
	c := command.Commander{Store: held{asked: candidates("One?")}, Disabled: func() bool { return disabled }}
	if got, err := c.Command(t.Context(), bridge.Command{Name: "queue"}); err != nil || got.Text != "The question queue is switched off." {
		t.Errorf("disabled: %+v %v", got, err)
	}
}
