package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"superpipeline.dev/question-bridge/bridge/texts"
)

// Commander answers commands: the queue, the gate's decisions, grants. Several may answer to one name.
type Commander interface {
	// Commands are the names that it answers to, in lower case and without the mark.
	Commands() []string
	// Command does what somebody asked for and says what they are told; nil for a command that is for somebody else with
	// the same name. It runs inside the transaction that finishes the interaction: it may add effects, it talks to
	// nobody but by [AfterCommit], and it may run again when the database gave way.
	Command(ctx context.Context, c Command) (*CommandReply, error)
}

// Preparer is a Commander that has to ask others before it can do a command, such as the homeserver for rights.
type Preparer interface {
	// Prepare runs ahead of the transaction, and Command is given what it found. An error means that the command is to be
	// read again later.
	Prepare(ctx context.Context, c Command) (found any, err error)
}

// Command is what a person told the bridge itself, such as "!revoke d7k2m". Nothing that could be one is an answer.
type Command struct {
	ID           InteractionID
	Name         string   // folded and without the mark: "revoke"
	Args         []string // as typed
	By           UserID   // has joined the conversation, and is neither a machine nor an account of an agent
	Conversation ConversationID
	// Rights are those of the person in the conversation, as of now and apart from any question.
	Rights Rights
	// Doubted is set where the device that it came from is trusted too little here for what only admins may do.
	Doubted bool
	Found   any // what the Commander itself has prepared; nil for nothing
}

// CommandReply is what is told to whoever gave a command, in one or more lines. What others wrote in it stands within its
// line, as the caller's care.
type CommandReply struct {
	Text string
	// Private is for what nobody but the person is to read: where others are present too, it goes to them alone.
	Private bool
}

// AddressedReply is a reply on its way to the person who gave a command.
type AddressedReply struct {
	CommandReply
	To           UserID
	Conversation ConversationID
	About        InteractionID // the command
	Thread       MessageID     // the root of the thread that it was given in, if it was
	At           time.Time     // when the command was read
}

// EffectReply is one reply to a command; payload is an AddressedReply. It belongs to no question.
const EffectReply EffectKind = "reply"

// mark is what a command begins with.
const mark = "!"

// IsCommand says whether a text is a command that somebody answers to. Any other word with a mark is talk.
func (e *Engine) IsCommand(text string) bool {
	_, _, ok := e.readCommand(text)
	return ok
}

func (e *Engine) readCommand(text string) (name string, args []string, ok bool) {
	for first := range strings.FieldsSeq(text) { // most texts are none, and long ones are not taken apart to know it
		name, marked := strings.CutPrefix(Fold(first), mark)
		if !marked || len(e.commanders(name)) == 0 {
			return "", nil, false
		}
		return name, strings.Fields(text)[1:], true
	}
	return "", nil, false
}

func (e *Engine) commanders(name string) (all []Commander) {
	for _, c := range e.Commanders {
		if slices.Contains(c.Commands(), name) {
			all = append(all, c)
		}
	}
	return all
}

// commandIn reads the command that an interaction is, or that a message is corrected to.
func (e *Engine) commandIn(in Interaction) (c Command, ok bool) {
	text := ""
	switch act := in.Act.(type) {
	case Said:
		text = act.Text
	case Edited:
		text = act.Text
	}
	name, args, ok := e.readCommand(text)
	return Command{ID: in.ID, Name: name, Args: args, By: in.Sender, Conversation: in.Conversation, Doubted: in.Doubted}, ok
}

// obey does what a person commanded, owes them the reply, and finishes the interaction. Nobody else is obeyed or answered,
// and neither is an edit, nor what came in clear where people encrypt.
func (e *Engine) obey(ctx context.Context, in Interaction, c Command) (err error) {
	said, isNew := in.Act.(Said)
	if !isNew || in.Exposed {
		return e.Store.FinishInteraction(ctx, in.ID)
	}
	if c.Rights, err = e.rights(ctx, Question{Conversation: in.Conversation}, in.Sender, false); err != nil {
		return fmt.Errorf("read the sender's rights: %w", err)
	}
	if !c.Rights.Member || c.Rights.Machine || c.Rights.Agent {
		return e.Store.FinishInteraction(ctx, in.ID)
	}
	found, err := e.prepare(ctx, c)
	if err != nil {
		return fmt.Errorf("prepare a command: %w", err)
	}
	var reply CommandReply
	err = e.Store.Atomically(ctx, func(ctx context.Context) (err error) {
		if reply, err = e.command(ctx, c, found); err != nil {
			return fmt.Errorf("do a command: %w", err)
		}
		owed := AddressedReply{CommandReply: reply, To: in.Sender, Conversation: in.Conversation, About: in.ID, Thread: said.Thread, At: e.Clock.Now()}
		payload, err := json.Marshal(owed)
		if err != nil {
			return err
		}
		f := Effect{Kind: EffectReply, Key: string(EffectReply) + "/" + string(in.ID), Payload: payload, Due: owed.At}
		if err := e.Store.AddEffects(ctx, f); err != nil {
			return err
		}
		return e.Store.FinishInteraction(ctx, in.ID)
	})
	if err != nil {
		return err
	}
	zerolog.Ctx(ctx).Info().Str("command", c.Name).Msg("Command")
	e.Owed()
	return nil
}

// prepare lets those who answer to the name look ahead; found is in their order.
func (e *Engine) prepare(ctx context.Context, c Command) (found []any, err error) {
	all := e.commanders(c.Name)
	found = make([]any, len(all))
	for i, commander := range all {
		if p, ok := commander.(Preparer); ok {
			if found[i], err = p.Prepare(ctx, c); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// command asks those who answer to the name in turn. What nobody knows is said once.
func (e *Engine) command(ctx context.Context, c Command, found []any) (CommandReply, error) {
	for i, commander := range e.commanders(c.Name) {
		c.Found = found[i]
		reply, err := commander.Command(ctx, c)
		if err != nil {
			return CommandReply{}, err
		}
		if reply != nil {
			return *reply, nil
		}
	}
	return CommandReply{Text: texts.NothingNamed}, nil
}

func (e *Engine) reply(ctx context.Context, f Effect) error {
	var r AddressedReply
	if err := json.Unmarshal(f.Payload, &r); err != nil {
		return fmt.Errorf("read a reply: %w", err)
	}
	return ended(ctx, e.Channel.Reply(ctx, r, f.Key))
}
