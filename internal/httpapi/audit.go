package httpapi

import (
	"context"
	"net/http"
	"regexp"

	"superpipeline.dev/question-bridge/bridge"
)

// The audit log's side of this API: what is refused here. What succeeds is recorded by the engine, which knows of no
// refusal by a scope, a pace or a body that makes no sense.

// refusals say what was refused to a token that lacks a scope, or that has it.
var refusals = map[string]bridge.AuditAction{
	ScopeAsk: bridge.AuditAskRefused, ScopeCancel: bridge.AuditCancelRefused, ScopeRead: bridge.AuditReadRefused,
	ScopeQueue: bridge.AuditQueueRefused, ScopeGate: bridge.AuditGateRefused,
}

type attemptKey struct{}

// attempt begins what the audit log will say if the request is refused, and gives a request whose context has it.
func (s *server) attempt(r *http.Request, t bridge.Token, refusal bridge.AuditAction) (*http.Request, *bridge.AuditRecord) {
	via := bridge.ViaAPI
	if t.Session {
		via = bridge.ViaOpenID
	}
	ctx := bridge.Origin{Request: bridge.OriginOf(r.Context()).Request, Token: t.ID}.In(r.Context())
	a := &bridge.AuditRecord{Action: refusal, Question: askedFor(r), Agent: t.Agent, User: t.User, Via: via}
	return r.WithContext(context.WithValue(ctx, attemptKey{}, a)), a
}

// attemptOf is what a request tries, as far as it is known by now; handlers add to it what they find out.
func attemptOf(ctx context.Context) *bridge.AuditRecord {
	if a, ok := ctx.Value(attemptKey{}).(*bridge.AuditRecord); ok {
		return a
	}
	return &bridge.AuditRecord{} // nobody looks at it
}

// refused records that a request was refused, and why. What failed on our side, or was said to nobody, is no refusal. Of
// refusals by a pace only the first in a row is recorded: a client in a hurry must not fill the log.
func (s *server) refused(ctx context.Context, a *bridge.AuditRecord, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError || p.again {
		return
	}
	record := *a
	record.At, record.Code, record.Origin = s.Clock.Now(), p.Code, bridge.OriginOf(ctx)
	s.Audit.Record(ctx, record)
}

// questionForm is what ids of questions look like: whatever else is in a path anybody may have written.
var questionForm = regexp.MustCompile(`^q_[a-z2-7]{26}$`)

func askedFor(r *http.Request) bridge.QuestionID {
	if id := r.PathValue("id"); questionForm.MatchString(id) {
		return bridge.QuestionID(id)
	}
	return ""
}
