package sqlstore

import (
	"context"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/gate"
	"superpipeline.dev/question-bridge/internal/gate/collector"
)

// Gate implements [collector.Store].
func (s *Store) Gate(ctx context.Context, agent bridge.AgentID, id collector.GateID) (collector.Gate, error) {
	g, ok, err := s.findGate(ctx, selectGate, id, agent)
	if err == nil && !ok {
		err = &bridge.Error{Code: collector.CodeGateUnknown, Reason: "there is no such gate"}
	}
	return g, err
}

// GateOfRequest implements [collector.Store].
func (s *Store) GateOfRequest(ctx context.Context, agent bridge.AgentID, room bridge.ConversationID, key string) (collector.Gate, bool, error) {
	return s.findGate(ctx, gateOfRequest, agent, room, key)
}

// GateOfQuery implements [collector.Store].
func (s *Store) GateOfQuery(ctx context.Context, id gate.QueryID) (collector.Gate, bool, error) {
	return s.findGate(ctx, gateOfQuery, id)
}

// GateOfQuestion implements [collector.Store].
func (s *Store) GateOfQuestion(ctx context.Context, id bridge.QuestionID) (collector.Gate, bool, error) {
	return s.findGate(ctx, gateOfQuestion, id)
}

// GatesOfQuestions implements [collector.Store].
func (s *Store) GatesOfQuestions(ctx context.Context, ids []bridge.QuestionID) ([]bridge.QuestionID, error) {
	return s.questionsIn(ctx, "gates", ids)
}

const (
	selectGate     = `SELECT ` + gateColumns + ` FROM gates WHERE id = $1 AND agent = $2`
	gateOfRequest  = `SELECT ` + gateColumns + ` FROM gates WHERE agent = $1 AND conversation = $2 AND request_key = $3`
	gateOfQuery    = `SELECT ` + gateColumns + ` FROM gates WHERE id = (SELECT gate FROM gate_queries WHERE id = $1)`
	gateOfQuestion = `SELECT ` + gateColumns + ` FROM gates WHERE question = $1`
)

func (s *Store) findGate(ctx context.Context, query string, args ...any) (collector.Gate, bool, error) {
	all, err := list(ctx, s, scanGate, query, args...)
	if err != nil || len(all) == 0 {
		return collector.Gate{}, false, err
	}
	err = s.withQueries(ctx, all)
	return all[0], true, err
}

// ListGates implements [collector.Store]. A limit outside 1–200 is taken as the nearest one inside.
func (s *Store) ListGates(ctx context.Context, l collector.Listing) ([]collector.Gate, string, error) {
	query, args, err := gateListing(l)
	if err != nil {
		return nil, "", err
	}
	all, next, err := pageOf(ctx, s, paging[collector.Gate]{query, args, l.Limit, scanGate, func(g collector.Gate) bridge.Place {
		return bridge.Place{CreatedAt: g.CreatedAt, ID: bridge.QuestionID(g.ID)}
	}})
	if err != nil {
		return nil, "", err
	}
	return all, next, s.withQueries(ctx, all)
}

// gateListing writes the query for a page; its last placeholder is the limit.
func gateListing(l collector.Listing) (query string, args []any, err error) {
	p := page{args: []any{l.Agent}}
	p.b.WriteString(`SELECT ` + gateColumns + ` FROM gates WHERE agent = $1`)
	if l.State != "" {
		p.where("state = ?", l.State)
	}
	if l.CorrelationID != nil {
		p.where("correlation_id = ?", *l.CorrelationID)
	}
	if l.Cursor != "" {
		place, err := bridge.ReadCursor(l.Cursor)
		if err != nil {
			return "", nil, err
		}
		p.after(&place)
	}
	return p.query(), p.args, nil
}

// withQueries reads the queries of gates, all of one gate by one statement, so that they are of one moment.
func (s *Store) withQueries(ctx context.Context, gates []collector.Gate) error {
	if len(gates) == 0 {
		return nil
	}
	place := make(map[collector.GateID]*collector.Gate, len(gates))
	ids := make([]collector.GateID, len(gates))
	for i := range gates {
		ids[i], place[gates[i].ID] = gates[i].ID, &gates[i]
	}
	queries, err := list(ctx, s, scanGateQuery, selectQueries(len(ids)), withList(nil, ids)...)
	if err != nil {
		return err
	}
	for _, q := range queries {
		q.take(place[q.gate])
	}
	for _, g := range place {
		if g.Continuation != nil {
			g.Continuation.ContinuationOf = g.Approval.ID
		}
	}
	return nil
}

func selectQueries(gates int) string {
	return `SELECT ` + queryColumns + ` FROM gate_queries WHERE gate IN (` + numberedFrom(1, gates) + `)`
}
