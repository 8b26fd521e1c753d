package app

import (
	"encoding/json"
	"fmt"
	"net/http"

	"superpipeline.dev/question-bridge/schema"
)

// collectorAt is where a bridge under test says that it is reached by https.
const collectorAt = "https://collector.example.org"

const opsGates = "/api/agent/rooms/OPS/gates"

// gateOpening opens a gate whose approval is asked in the room, or returned.
func gateOpening(ask string) string {
	return fmt.Sprintf(`{"requester":"Provider","purpose":"feedback","subject":{"kind":"user","id":"usr_pairwise_Q7c","idScope":"pairwise"},
		"approval":{"prompt":"May the provider receive a report?"},"ask":%q,
		"query":{"type":"feedback","prompt":"How did it go?","requestedRespondent":"agent","timing":"after_outcome_known","response":{"format":"text","maxLength":700}}}`, ask)
}

// approvalOfQuery is a person's approval, through another host.
func approvalOfQuery(id string) string {
	return fmt.Sprintf(`{"protocolVersion":"2026-07-30","queryId":%q,"responseId":"0198c7d0-2180-7729-b005-d33c99fc7452","respondent":{"kind":"human"},
		"provenance":"mediated","answer":{"choice":"approved"},"respondedAt":"2026-07-30T17:05:13Z"}`, id)
}

// opened opens a gate in the room OPS.
func (s *served) opened(token, ask string) schema.Gate {
	s.t.Helper()
	r := s.call(call{method: http.MethodPost, path: opsGates, token: token, body: gateOpening(ask)})
	var g schema.Gate
	if err := json.Unmarshal([]byte(r.body), &g); err != nil || r.status != http.StatusCreated {
		s.t.Fatalf("a gate is answered with %d: %s", r.status, r.body)
	}
	return g
}
