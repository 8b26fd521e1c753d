package grant

import (
	"context"
	"errors"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/bridge/texts"
	"superpipeline.dev/question-bridge/schema"
)

var (
	_ bridge.Commander = (*Book)(nil)
	_ bridge.Preparer  = (*Book)(nil)
)

// The commands that a book answers to.
const (
	CommandList   = "grants"
	CommandRevoke = "revoke" // which others answer to as well, each for its own ids
)

// Commands implements [bridge.Commander].
func (b *Book) Commands() []string { return []string{CommandList, CommandRevoke} }

// permitted is a grant of the room that a command is about, and what keeps the person from taking it back: nil for nothing.
type permitted struct {
	grant   Grant
	refusal *bridge.Error
}

// Prepare implements [bridge.Preparer]: it reads the rights of the person with the question that gave the grant.
func (b *Book) Prepare(ctx context.Context, c bridge.Command) (any, error) {
	if c.Name != CommandRevoke || len(c.Args) != 1 {
		return nil, nil
	}
	id, ok := ParseID(c.Args[0])
	if !ok {
		return nil, nil
	}
	g, err := b.Store.Grant(ctx, id)
	switch {
	case bridge.CodeOf(err) == CodeUnknown:
		return nil, nil
	case err != nil:
		return nil, err
	case g.Conversation != c.Conversation: // of which nobody here is to hear
		return nil, nil
	}
	rights, err := b.rights(ctx, g, c.By)
	if err != nil {
		return nil, err
	}
	p := permitted{grant: g}
	switch err := g.Revocable(c.By, rights); {
	case err != nil && !errors.As(err, &p.refusal):
		return nil, err
	case err == nil && c.Doubted && g.Option.Requires != "":
		p.refusal = &bridge.Error{Code: bridge.CodeDeviceUntrusted, Reason: texts.DeviceUntrusted}
	}
	return p, nil
}

// Command implements [bridge.Commander]: people see what was granted in their room, and take it back.
func (b *Book) Command(ctx context.Context, c bridge.Command) (*bridge.CommandReply, error) {
	if c.Name == CommandList {
		return b.listed(ctx, c.Conversation)
	}
	p, ok := c.Found.(permitted)
	switch {
	case !ok:
		return nil, nil
	case p.refusal != nil:
		bridge.AfterCommit(ctx, func() { b.refused(ctx, p, c) })
		return &bridge.CommandReply{Text: p.refusal.Reason}, nil
	}
	g, revoked, err := b.revoke(ctx, Revoking{Grant: p.grant.ID, By: c.By, At: b.Clock.Now()})
	if err != nil {
		return nil, err
	}
	shown := inRoom(g)
	switch {
	case revoked:
		bridge.AfterCommit(ctx, func() { b.told(ctx, g, bridge.ViaReply, c.ID) })
		return &bridge.CommandReply{Text: shown.GrantRevoked()}, nil
	case g.RevokedAt != nil:
		return &bridge.CommandReply{Text: shown.RevokedAlready(schema.ShownLine(string(g.RevokedBy)), *g.RevokedAt)}, nil
	}
	return &bridge.CommandReply{Text: shown.LapsedAlready()}, nil
}

// mostListed is how many grants one message lists.
const mostListed = 30

// listed is for everybody in the room, where each of them stands.
func (b *Book) listed(ctx context.Context, conv bridge.ConversationID) (*bridge.CommandReply, error) {
	all, more, err := b.List(ctx, Listing{Conversations: []bridge.ConversationID{conv}, State: Active, Limit: mostListed})
	if err != nil {
		return nil, err
	}
	lines := make([]texts.Granted, 0, len(all))
	for _, g := range all {
		lines = append(lines, inRoom(g))
	}
	return &bridge.CommandReply{Text: texts.Grants(lines, more != "")}, nil
}

// inRoom is a grant as it may stand in a line of a message.
func inRoom(g Grant) texts.Granted {
	return texts.Granted{
		ID: string(g.ID), Label: schema.ShownLine(g.Option.Label), Asker: schema.ShownLine(g.Question.AskedBy), By: schema.ShownLine(string(g.By)),
		Run: g.Granted.Grant == bridge.GrantRun, Since: g.At, Until: g.Until,
	}
}

// refused records that somebody may not take a grant back.
func (b *Book) refused(ctx context.Context, p permitted, c bridge.Command) {
	q := p.grant.Question
	b.Auditor.Record(ctx, bridge.AuditRecord{
		At: b.Clock.Now(), Action: bridge.AuditRevokeRefused, Question: q.ID, Conversation: c.Conversation, Agent: q.Asker, User: c.By,
		Via: bridge.ViaReply, Code: p.refusal.Code, Event: c.ID, Origin: bridge.OriginOf(ctx),
	})
}
