package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"superpipeline.dev/question-bridge/bridge"
	"superpipeline.dev/question-bridge/internal/queue"
)

// oldestFirst is the order of candidates where there is no other.
const oldestFirst = ` ORDER BY c.created_turn, c.id`

// ListCandidates implements [queue.Candidates]. A limit outside 1–200 is taken as the nearest one inside.
func (s *Store) ListCandidates(ctx context.Context, l queue.Listing) ([]queue.Candidate, string, error) {
	query, args, err := candidateListing(l)
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, s, paging[queue.Candidate]{query, args, l.Limit, scanCandidate, func(c queue.Candidate) bridge.Place {
		return bridge.Place{CreatedAt: c.CreatedAt, ID: bridge.QuestionID(c.ID)}
	}})
}

// candidateListing writes the query for a page; its last placeholder is the limit.
func candidateListing(l queue.Listing) (query string, args []any, err error) {
	p := page{args: []any{l.Agent}}
	p.b.WriteString(`SELECT ` + candidateColumns + ` FROM queue_candidates c WHERE agent = $1`)
	if l.Status != "" {
		p.where("status = ?", l.Status)
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

// SimilarCandidates implements [queue.Candidates].
func (s *Store) SimilarCandidates(ctx context.Context, w queue.Similarity) ([]queue.Candidate, error) {
	return list(ctx, s, scanCandidate, similar(len(w.Keys)), withList([]any{w.Agent, w.AnsweredSince, sameText(w.Text), orNull(w.Disjunction)}, w.Keys)...)
}

func similar(keys int) string {
	byKey := ""
	if keys > 0 {
		byKey = `UNION SELECT candidate FROM queue_keys WHERE agent = $1 AND key IN (` + numberedFrom(5, keys) + `)`
	}
	return `
	SELECT ` + candidateColumns + ` FROM queue_candidates c
	WHERE c.id IN (
		SELECT id FROM queue_candidates WHERE agent = $1 AND same_text = $3
		UNION SELECT id FROM queue_candidates WHERE agent = $1 AND disjunction = $4 ` + byKey + `
	) AND (c.status IN ('pending', 'delivered', 'cooled') OR c.status = 'answered' AND c.resolved_turn >= $2)` + oldestFirst
}

// EqualCandidates implements [queue.Candidates].
func (s *Store) EqualCandidates(ctx context.Context, c queue.Candidate, others []bridge.AgentID) ([]queue.Candidate, error) {
	if len(others) == 0 {
		return nil, nil
	}
	return list(ctx, s, scanCandidate, equalCandidates(len(others)), withList([]any{c.Kind, sameText(c.Text)}, others)...)
}

func equalCandidates(others int) string {
	return `
	SELECT ` + candidateColumns + ` FROM queue_candidates c
	WHERE c.agent IN (` + numberedFrom(3, others) + `) AND c.same_text = $2 AND c.kind = $1 AND ` + isOpen + oldestFirst
}

// Followers implements [queue.Candidates].
func (s *Store) Followers(ctx context.Context, leader queue.CandidateID) ([]queue.Candidate, error) {
	return list(ctx, s, scanCandidate, selectFollowers, leader)
}

const selectFollowers = `SELECT ` + candidateColumns + ` FROM queue_candidates c WHERE c.leader = $1 AND c.status = 'delivered'` + oldestFirst

// CandidatesAbout implements [queue.Candidates].
func (s *Store) CandidatesAbout(ctx context.Context, agent bridge.AgentID, keys []string) ([]queue.Candidate, error) {
	var all []queue.Candidate
	for some := range slices.Chunk(keys, 500) {
		found, err := list(ctx, s, scanCandidate, candidatesAbout(len(some)), withList([]any{agent}, some)...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b queue.Candidate) int {
		return cmp.Or(cmp.Compare(a.CreatedTurn, b.CreatedTurn), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(all, sameID), nil
}

func candidatesAbout(keys int) string {
	return `
	SELECT ` + candidateColumns + ` FROM queue_candidates c
	WHERE c.id IN (SELECT candidate FROM queue_keys WHERE agent = $1 AND key IN (` + numberedFrom(2, keys) + `)) AND ` + isOpen
}

func sameID(a, b queue.Candidate) bool { return a.ID == b.ID }

// IgnoredCandidates implements [queue.Candidates].
func (s *Store) IgnoredCandidates(ctx context.Context, agent bridge.AgentID, turn queue.Turn, limit int) ([]queue.Candidate, error) {
	return list(ctx, s, scanCandidate, ignoredCandidates, agent, turn-queue.CooldownTurns, limit)
}

const ignoredCandidates = `
	SELECT ` + candidateColumns + ` FROM queue_candidates c
	WHERE c.agent = $1 AND c.status = 'delivered' AND c.delivered_turn <= $2
		AND NOT EXISTS (SELECT 1 FROM queue_candidates l WHERE l.id = c.leader AND l.status = 'delivered')
	ORDER BY c.delivered_turn, c.id LIMIT $3`

// WaitingCandidates implements [queue.Candidates]. Tokens are looked up a hundred in one query.
func (s *Store) WaitingCandidates(ctx context.Context, w queue.Window) ([]queue.Candidate, error) {
	if w.Cues == nil {
		query, args := waiting(w)
		return list(ctx, s, scanCandidate, query, args...)
	}
	var all []queue.Candidate
	for some := range slices.Chunk(w.Cues, 100) {
		query, args := waitingFor(w, some)
		found, err := list(ctx, s, scanCandidate, query, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, queue.CompareDelivery)
	all = slices.CompactFunc(all, sameID)
	return all[:min(len(all), w.Limit)], nil
}

// deliverable holds for candidates that are that on turn $2, among those of agent $1; $3 is the limit.
const deliverable = `c.` + waits + ` AND c.expires_turn >= $2 AND (c.cooldown_until IS NULL OR c.cooldown_until <= $2)`

func waiting(w queue.Window) (query string, args []any) {
	args = []any{w.Agent, w.Turn, w.Limit}
	return `
	SELECT ` + candidateColumns + ` FROM queue_candidates c
	WHERE c.agent = $1 AND ` + deliverable + inWindow(w, "c", "id", &args) + `
	ORDER BY c.last_seen_turn DESC, c.ask_count, c.created_turn, c.id LIMIT $3`, args
}

// waitingFor writes the query for the candidates with one of the tokens: of each token the first ones, and the first of
// those. Each token has an index of its own in order of delivery, so none is followed further than that.
func waitingFor(w queue.Window, tokens []string) (query string, args []any) {
	args = []any{w.Agent, w.Turn, w.Limit}
	window := inWindow(w, "t", "candidate", &args)
	of := make([]string, len(tokens))
	for i, token := range tokens {
		args = append(args, token)
		of[i] = `
		SELECT * FROM (
			SELECT t.candidate FROM queue_cues t JOIN queue_candidates c ON c.id = t.candidate
			WHERE t.agent = $1 AND t.token = $` + strconv.Itoa(len(args)) + ` AND ` + deliverable + window + `
			ORDER BY t.last_seen_turn DESC, t.ask_count, t.created_turn, t.candidate LIMIT $3
		) token` + strconv.Itoa(i)
	}
	return `
	SELECT ` + candidateColumns + ` FROM queue_candidates c
	WHERE c.id IN (` + strings.Join(of, " UNION ") + `)
	ORDER BY c.last_seen_turn DESC, c.ask_count, c.created_turn, c.id LIMIT $3`, args
}

// inWindow holds for rows of a table that pass the gate and stand behind a place in the order of delivery.
func inWindow(w queue.Window, table, id string, args *[]any) string {
	latest := w.Turn
	if w.After != nil {
		latest = min(latest, w.After.LastSeenTurn)
	}
	*args = append(*args, w.Turn-queue.RecentUseTurns, latest)
	n := len(*args)
	window := fmt.Sprintf(` AND %[1]s.last_seen_turn >= $%[2]d AND %[1]s.last_seen_turn <= $%[3]d`, table, n-1, n)
	if w.After == nil {
		return window
	}
	*args = append(*args, w.After.LastSeenTurn, w.After.AskCount, w.After.CreatedTurn, w.After.ID)
	return window + fmt.Sprintf(` AND (%[1]s.last_seen_turn < $%[3]d OR (%[1]s.ask_count, %[1]s.created_turn, %[1]s.%[2]s) > ($%[4]d, $%[5]d, $%[6]d))`,
		table, id, n+1, n+2, n+3, n+4)
}

// numberedFrom writes "$3,$4" for so many values, the first of which has a number.
func numberedFrom(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("$" + strconv.Itoa(first+i))
	}
	return b.String()
}

// withList gives arguments with the values of a list behind them.
func withList[T any](args []any, values []T) []any {
	for _, v := range values {
		args = append(args, v)
	}
	return args
}
