package client

import (
	"context"
	"iter"
	"net/http"

	"superpipeline.dev/question-bridge/schema"
)

// GrantOptions says which grants to list. The zero value lists all of them.
type GrantOptions struct {
	State    string // schema.GrantActive, GrantRevoked or GrantLapsed; "" for every one
	PageSize int    // grants per request, 1–MaxPage; 0 for the server's default
}

// Grants gives what answers to this agent's questions granted for a run or always, newest first, and asks for further
// pages as the loop gets to them. An error is the last thing it gives. The server enforces nothing of a grant: whoever is
// about to act on one reads here that it still stands (docs/grants.md).
func (c *Client) Grants(ctx context.Context, o GrantOptions) iter.Seq2[*schema.Grant, error] {
	return c.grants(ctx, "/api/agent/grants", o)
}

// Grants gives the grants that stand in the rooms which this person has joined, whoever gave them, newest first, as
// [Client.Grants] does. Their CorrelationID is the asker's and nil.
func (r *Responder) Grants(ctx context.Context) iter.Seq2[*schema.Grant, error] {
	return r.api.grants(ctx, "/api/grants", GrantOptions{})
}

// Revoke takes a grant back, as anybody may who could have given it. One that was revoked, or has lapsed, comes back as it
// stands, so it may be repeated. Refusals are [*Error]: 404 grant_not_found also for somebody who is not in its room.
func (r *Responder) Revoke(ctx context.Context, id string) (*schema.Grant, error) {
	segment, err := pathSegment("grant id", id)
	if err != nil {
		return nil, err
	}
	return documentOf(ctx, r.api, request{method: http.MethodPost, path: "/api/grants/" + segment + "/revoke"}, func(g *schema.Grant) bool {
		return g.ID != "" && g.State != "" && g.State != schema.GrantActive
	})
}

func (c *Client) grants(ctx context.Context, path string, o GrantOptions) iter.Seq2[*schema.Grant, error] {
	return paged[schema.Grants, schema.Grant]{
		path: path, selected: map[string]string{"state": o.State}, pageSize: o.PageSize,
		of: func(p *schema.Grants) ([]schema.Grant, *string) { return p.Grants, p.NextCursor },
	}.each(ctx, c)
}
