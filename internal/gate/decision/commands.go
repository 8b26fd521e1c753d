package decision

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/schema"
)

var _ bridge.Commander = (*Book)(nil)

// The commands that a book answers to.
const (
	CommandList   = "decisions"
	CommandRevoke = "revoke" // which others answer to as well, each for its own ids
)

// Commands implements [bridge.Commander].
func (b *Book) Commands() []string { return []string{CommandList, CommandRevoke} }

// Command implements [bridge.Commander]: a person sees what they decided, and takes it back. What they decide is nobody
// else's business, nor that they did.
func (b *Book) Command(ctx context.Context, c bridge.Command) (*bridge.CommandReply, error) {
	if c.Name == CommandList {
		return b.list(ctx, c.By)
	}
	if len(c.Args) != 1 {
		return nil, nil
	}
	id, ok := ParseID(c.Args[0])
	if !ok {
		return nil, nil
	}
	d, err := b.revoke(ctx, id, func(d Decision) bool { return d.Made.By == c.By })
	if bridge.CodeOf(err) == CodeUnknown {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	bridge.AfterCommit(ctx, func() { b.revoked(ctx, d, Visitor{User: c.By, Via: bridge.ViaReply}, c.ID) })
	return &bridge.CommandReply{Text: texts.DecisionRevoked(string(id)), Private: true}, nil
}

// mostListed is how many decisions one message lists.
const mostListed = 30

func (b *Book) list(ctx context.Context, who bridge.UserID) (*bridge.CommandReply, error) {
	all, more, err := b.OfPerson(ctx, who, Listing{Limit: mostListed})
	if err != nil {
		return nil, err
	}
	lines := make([]texts.Remembered, 0, len(all))
	for _, d := range all {
		lines = append(lines, texts.Remembered{
			ID: string(d.ID), Requester: schema.ShownLine(d.Requester), Purpose: schema.ShownLine(d.Purpose),
			Approved: d.Made.Approved, Since: d.Made.At, Used: d.Made.Used.Times,
		})
	}
	return &bridge.CommandReply{Text: texts.Decisions(lines, more != ""), Private: true}, nil
}
