package sqlstore_test

import (
	"regexp"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/sqlstore"
)

// fullScan is a step that reads a table, or an index of it, from the first row to the last. A search that names no index
// is one too: it looks for the least of all rows.
var fullScan = regexp.MustCompile(`^SCAN (questions|q|postings|p|message_links|effects|earlier|inbox|i|h|sends|tokens|openid_tokens|webhook_deliveries|d|webhook_endpoints|e|responses|queue_\w+|gates|gate_queries|host_queries|decisions|decision_uses|grants|u|c|l|t)\b|^SEARCH \S+$`)

// ordered are the plans that may follow an index from its start, until they have the one row that they want, or to its end
// where it holds nothing but what they count.
var ordered = map[string]string{
	"next deadline":      "SCAN questions USING COVERING INDEX questions_deadline",
	"next effect":        "SCAN effects USING INDEX effects_due",
	"next of the others": "SCAN effects USING INDEX effects_due",
	"next events":        "SCAN i USING COVERING INDEX inbox_waiting",

	"gate: next deadline": "SCAN gates USING COVERING INDEX gates_due",

	"count what is pending": "SCAN questions USING COVERING INDEX questions_deadline",
	"count the inbox":       "SCAN inbox USING INDEX inbox_waiting",
}

// inOrder are the queries that follow an index in the order that they want.
var inOrder = regexp.MustCompile(`^((queue|gate): )?list|^queue: waiting(, next page)?$`)

// No statement that runs all the time reads a table from end to end.
func TestHotQueriesUseIndexes(t *testing.T) {
	s := newSQLite(t).open(t)
	queries := s.HotQueries()
	for name, query := range sqlstore.HotQueueQueries() {
		queries["queue: "+name] = query
	}
	for name, query := range sqlstore.HotGateQueries() {
		queries["gate: "+name] = query
	}
	for name, query := range sqlstore.HotGrantQueries() {
		queries["grant: "+name] = query
	}
	for name, query := range queries {
		for _, step := range plan(t, s, query) {
			if allowed, ok := ordered[name]; ok && strings.HasPrefix(step, allowed) {
				continue
			}
			if fullScan.MatchString(step) || strings.Contains(step, "TEMP B-TREE FOR ORDER BY") && inOrder.MatchString(name) {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}

func plan(t *testing.T, s *sqlstore.Store, query string) (steps []string) {
	t.Helper()
	args := make([]any, 0, 9)
	for range placeholderCount(query) {
		args = append(args, 1)
	}
	rows, err := s.Database().Query(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	noError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		noError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	noError(t, rows.Err())
	t.Logf("%s\n\t%s", strings.Join(strings.Fields(query), " "), strings.Join(steps, "\n\t"))
	return steps
}

var placeholder = regexp.MustCompile(`\$\d+`)

func placeholderCount(query string) int {
	seen := map[string]bool{}
	for _, p := range placeholder.FindAllString(query, -1) {
		seen[p] = true
	}
	return len(seen)
}
