package gate

import (
	"encoding/json"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// The ids that we make are those that the documents take, tell when they were made, and are never the same.
func TestIDs(t *testing.T) {
	at := time.UnixMilli(0x0198c7cb1af1)
	seen := map[string]bool{}
	for range 1000 {
		query, response := string(NewQueryID(at)), string(NewResponseID(at))
		for _, id := range []string{query, response} {
			if seen[id] || id[:13] != "0198c7cb-1af1" {
				t.Fatalf("made %s", id)
			}
			seen[id] = true
		}
		raw, err := json.Marshal(schema.Receipt{
			ProtocolVersion: schema.ProtocolVersion, QueryID: query, ResponseID: response, Status: schema.ReceiptAccepted, ReceivedAt: "2026-07-30T17:05:13Z",
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Decode[schema.Receipt](raw); err != nil {
			t.Fatal(err)
		}
	}
}
