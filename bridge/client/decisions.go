package client

import (
	"context"
	"iter"
	"net/http"

	"superpipeline.dev/question-bridge/schema"
)

// Decisions gives what people decided about this agent's gated exchanges, where that is remembered, newest first, and asks
// for further pages as the loop gets to them. An error is the last thing it gives. The token needs the scope gate.
func (c *Client) Decisions(ctx context.Context) iter.Seq2[*schema.Decision, error] {
	return decisionsAt("/api/agent/decisions", "").each(ctx, c)
}

// RevokeDecision takes back what is remembered for this agent's exchanges, and gives it as it stood. It answers nothing any
// more. What does not stand is an [*Error]: 404 decision_not_found.
func (c *Client) RevokeDecision(ctx context.Context, id string) (*schema.Decision, error) {
	return revokeDecision(ctx, c, "/api/agent/decisions/", id)
}

// Decisions gives what this person decided about gated exchanges, as [Client.Decisions] does.
func (r *Responder) Decisions(ctx context.Context) iter.Seq2[*schema.Decision, error] {
	return decisionsAt("/api/decisions", "").each(ctx, r.api)
}

// AllDecisions gives what anybody decided, to an admin: whoever workspace_admins.users names. Others get an [*Error]: 403
// admins_only, or weak_sign_in in a session.
func (r *Responder) AllDecisions(ctx context.Context) iter.Seq2[*schema.Decision, error] {
	return decisionsAt("/api/decisions", "everybody").each(ctx, r.api)
}

// RevokeDecision takes back what this person decided, or, as an admin, what anybody did; see [Client.RevokeDecision].
func (r *Responder) RevokeDecision(ctx context.Context, id string) (*schema.Decision, error) {
	return revokeDecision(ctx, r.api, "/api/decisions/", id)
}

func decisionsAt(path, of string) paged[schema.Decisions, schema.Decision] {
	return paged[schema.Decisions, schema.Decision]{
		path: path, selected: map[string]string{"of": of},
		of: func(p *schema.Decisions) ([]schema.Decision, *string) { return p.Decisions, p.NextCursor },
	}
}

func revokeDecision(ctx context.Context, c *Client, path, id string) (*schema.Decision, error) {
	segment, err := pathSegment("decision id", id)
	if err != nil {
		return nil, err
	}
	return documentOf(ctx, c, request{method: http.MethodPost, path: path + segment + "/revoke"}, func(d *schema.Decision) bool {
		return d.ID != "" && d.Decision != ""
	})
}
