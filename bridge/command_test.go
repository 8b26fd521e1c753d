package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
)

// commander answers to its names, and knows the ids that begin with its letter.
type commander struct {
	names  []string
	letter string
	store  bridge.Store
	got    []bridge.Command
	fails  error
	stored []bool // what was stored when it was told so
}

func (c *commander) Commands() []string { return c.names }

func (c *commander) Command(ctx context.Context, cmd bridge.Command) (*bridge.CommandReply, error) {
	if c.fails != nil {
		return nil, c.fails
	}
	if cmd.Name == "revoke" && (len(cmd.Args) != 1 || !strings.HasPrefix(cmd.Args[0], c.letter)) {
		return nil, nil
	}
	if err := c.store.AddEffects(ctx, bridge.Effect{Kind: bridge.EffectReply, Key: "aside of " + c.letter, Payload: []byte(`{}`)}); err != nil {
		return nil, err
	}
	c.got = append(c.got, cmd)
	bridge.AfterCommit(ctx, func() {
		_, owed, err := c.store.NextEffect(context.Background())
		c.stored = append(c.stored, owed && err == nil)
	})
	return &bridge.CommandReply{Text: c.letter + " did " + cmd.Name, Private: cmd.Name == "decisions"}, nil
}

func newCommandBench(t *testing.T) (b *bench, decisions, grants *commander) {
	b = newBench(t)
	decisions = &commander{names: []string{"decisions", "revoke"}, letter: "d", store: b.store}
	grants = &commander{names: []string{"grants", "revoke"}, letter: "g", store: b.store}
	b.Commanders = []bridge.Commander{decisions, grants}
	return b, decisions, grants
}

// replied is what was said to commands, without what the commanders add.
func (b *bench) replied() (texts []string) {
	b.room.mu.Lock()
	defer b.room.mu.Unlock()
	for _, r := range b.room.replies {
		if r.To != "" {
			texts = append(texts, r.Text)
		}
	}
	b.room.replies = nil
	return texts
}

func TestIsCommand(t *testing.T) {
	b, _, _ := newCommandBench(t)
	for text, want := range map[string]bool{
		"!decisions": true, "  !Decisions  ": true, "!revoke d7k2m": true, "!revoke": true, "！grants": true, "!grants\nplease": true,
		"": false, "decisions": false, "!": false, "! decisions": false, "!queue": false, "!decisionsx": false, "say !decisions": false, "!!grants": false,
		"!decisions.": false,
	} {
		if got := b.IsCommand(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestCommands(t *testing.T) {
	b, decisions, grants := newCommandBench(t)
	for _, c := range []struct{ text, want string }{
		{"!decisions", "d did decisions"}, {"!GRANTS", "g did grants"}, {"!revoke d7k2m", "d did revoke"}, {"!revoke g7k2m", "g did revoke"},
		{"!revoke x", texts.NothingNamed}, {"!revoke", texts.NothingNamed},
	} {
		b.receive(b.event("@dana:ex.org", bridge.Said{Text: c.text, Thread: "$root"}))
		if got := b.replied(); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q", c.text, got)
		}
	}
	if got := decisions.got[1]; got.Name != "revoke" || !slices.Equal(got.Args, []string{"d7k2m"}) || got.By != "@dana:ex.org" ||
		got.Conversation != "!ops:ex.org" || got.ID != "$event3" || !got.Rights.Member || got.Rights.DisplayName != "Dana" {
		t.Errorf("got %+v", got)
	}
	if len(decisions.got) != 2 || len(grants.got) != 2 || b.unhandled() != 0 {
		t.Errorf("%d and %d commands, %d events left", len(decisions.got), len(grants.got), b.unhandled())
	}
}

func TestAReplyIsAddressed(t *testing.T) {
	b, _, _ := newCommandBench(t)
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "!decisions", Thread: "$root", ReplyTo: "$other"}))
	b.receive(b.event("@sam:ex.org", bridge.Said{Text: "!grants"}))
	var got []string
	for _, r := range b.room.replies {
		if r.To != "" {
			got = append(got, fmt.Sprintln(r.To, r.Conversation, r.About, r.Thread, r.Private, r.At.Equal(start)))
		}
	}
	want := []string{"@dana:ex.org !ops:ex.org $event1 $root true true\n", "@sam:ex.org !ops:ex.org $event2  false true\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if posts := b.room.said(); !slices.Contains(posts, "reply reply/$event1") || !slices.Contains(posts, "reply reply/$event2") {
		t.Errorf("sent as %q", posts)
	}
}

// A command is never an answer: in the thread of a free-text question, as a typed input, as the correction of talk, or
// where it is no command because of who gave it or how. Any other word with a mark is talk, which answers what takes talk.
func TestCommandsAreNoAnswers(t *testing.T) {
	b, decisions, grants := newCommandBench(t)
	b.room.rights["@agent:ex.org"] = bridge.Rights{Member: true, Agent: true}
	b.room.parse = func(in bridge.Interaction, _ bridge.Question, _ bridge.Posting) bridge.Reading {
		if said, ok := in.Act.(bridge.Said); ok && said.Text != "hm" { // every other text is the answer
			return bridge.Chosen{Choice: bridge.Choice{Via: bridge.ViaReply, Items: []bridge.ItemChoice{{Text: &said.Text}}}}
		}
		return bridge.Ignored{}
	}
	q := b.question()
	q.Items = []bridge.Item{{Prompt: "What?", Text: &bridge.TextInput{MaxLength: 100}}}
	q = b.ask(q)
	said := bridge.Said{Text: "!grants", Thread: b.root(q.ID)}
	b.receive(b.event("@dana:ex.org", said))
	if got := b.replied(); !slices.Equal(got, []string{"g did grants"}) {
		t.Errorf("replied %q", got)
	}
	talk := b.reply("@dana:ex.org", q.ID, "hm")
	b.receive(b.event("@dana:ex.org", bridge.Edited{Original: talk.ID, Text: "!grants"}))
	for _, who := range []bridge.UserID{"@bot:ex.org", "@agent:ex.org", "@stranger:ex.org"} {
		b.receive(b.event(who, said))
	}
	exposed := b.event("@dana:ex.org", said)
	exposed.Exposed = true
	b.receive(exposed)
	if got := b.replied(); len(got) > 0 || len(grants.got) != 1 || len(decisions.got) != 0 {
		t.Errorf("replied %q to %+v", got, grants.got)
	}
	if got := b.get(q.ID); got.State != bridge.Pending || b.unhandled() != 0 {
		t.Errorf("the question is %s, %d events are left", got.State, b.unhandled())
	}
	b.reply("@dana:ex.org", q.ID, "!important: keep it")
	if got := b.get(q.ID); got.State != bridge.Answered || *got.Answer.Items[0].Text != "!important: keep it" {
		t.Errorf("another word with a mark: %s", got.State)
	}
}

// What a command does, its reply and the mark that it is handled are stored together, or none of them.
func TestCommandsAreAtomic(t *testing.T) {
	b, decisions, _ := newCommandBench(t)
	decisions.fails = errors.New("the disk is full")
	in := b.event("@dana:ex.org", bridge.Said{Text: "!decisions"})
	if err := b.Receive(b.ctx, in); !errors.Is(err, decisions.fails) {
		t.Errorf("got %v", err)
	}
	b.work()
	if b.unhandled() != 1 || len(b.room.said()) > 0 {
		t.Errorf("%d events left, %q said", b.unhandled(), b.room.said())
	}
	decisions.fails = nil
	b.receive(in)
	if got := b.replied(); len(got) != 1 || b.unhandled() != 0 || !slices.Equal(decisions.stored, []bool{true}) {
		t.Errorf("replied %q, told %v", got, decisions.stored)
	}

	b.room.joined = map[bridge.UserID]bridge.Rights{"@new:ex.org": {Unreadable: true}}
	b.room.unread = errors.New("the homeserver is away")
	if err := b.Receive(b.ctx, b.event("@new:ex.org", bridge.Said{Text: "!decisions"})); !errors.Is(err, b.room.unread) {
		t.Errorf("while nobody's rights can be read: %v", err)
	}
}

// preparer asks somebody else first.
type preparer struct {
	commander
	fails error
}

func (p *preparer) Prepare(ctx context.Context, c bridge.Command) (any, error) {
	return "looked for " + c.Args[0], p.fails
}

// What a command needs of others is asked for ahead of its transaction, and given to nobody else.
func TestPreparedCommands(t *testing.T) {
	b, decisions, _ := newCommandBench(t)
	p := &preparer{commander: commander{names: []string{"revoke"}, letter: "p", store: b.store}}
	b.Commanders = append(b.Commanders, p)
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "!revoke p7k2m"}))
	b.receive(b.event("@dana:ex.org", bridge.Said{Text: "!revoke d7k2m"}))
	if len(p.got) != 1 || p.got[0].Found != "looked for p7k2m" || len(decisions.got) != 1 || decisions.got[0].Found != nil {
		t.Errorf("found %+v and %+v", p.got, decisions.got)
	}
	p.fails = errors.New("the homeserver is away")
	if err := b.Receive(b.ctx, b.event("@dana:ex.org", bridge.Said{Text: "!revoke p7k2m"})); !errors.Is(err, p.fails) || b.unhandled() != 1 {
		t.Errorf("got %v, %d events left", err, b.unhandled())
	}
}
