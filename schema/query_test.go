package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// A receipt stands without the follow-up query that breaks the rules, and the refusal of that says which.
func TestAReceiptStandsWithoutABrokenFollowUp(t *testing.T) {
	receipts := readCases(t, "../fixtures/queries/examples.json")[schema.ProtocolVersion+"/receipt"]
	whole := string(receipts[0].Content)
	for name, c := range map[string]struct {
		from, to string
		rule     schema.Rule
	}{
		"the document's":           {"", "", ""},
		"another predecessor":      {`"continuationOf": "0198c7cb`, `"continuationOf": "0198c7cc`, schema.RuleContinuation},
		"no prompt":                {`"prompt": "Provide`, `"x": "Provide`, schema.RuleSchema},
		"an approval of two words": {`"type": "feedback"`, `"type": "approval"`, schema.RuleApproval},
		"U+0000":                   {"Provide a", `Provide\u0000a`, schema.RuleNUL},
		"of a rejected response":   {`"status": "accepted"`, `"status": "rejected"`, schema.RuleSchema},
	} {
		t.Run(name, func(t *testing.T) {
			r, next, err := schema.DecodeReceipt([]byte(strings.Replace(whole, c.from, c.to, 1)))
			if err != nil || r.QueryID != "0198c7cb-1af1-7e79-bd7f-02f8a89b8857" {
				t.Fatalf("receipt %+v, error %v", r, err)
			}
			if (r.NextQuery == nil) != (c.rule != "") {
				t.Errorf("follow-up %+v", r.NextQuery)
			}
			var refusal *schema.Refusal
			if errors.As(next, &refusal); c.rule == "" && next != nil || c.rule != "" && (refusal == nil || refusal.Rule() != c.rule) {
				t.Errorf("the follow-up is refused with %v, want the rule %q", next, c.rule)
			}
		})
	}
	for _, broken := range []string{`{}`, `[]`, `{"nextQuery": {}}`, strings.Replace(whole, `"retryable": false,`, "", 1), whole + whole} {
		if r, _, err := schema.DecodeReceipt([]byte(broken)); err == nil {
			t.Errorf("%.40s was read as %+v", broken, r)
		}
	}
}

// What is written beside a query is read as in every ask: its data keeps its digits.
func TestAQueryIsAskedOnTheTermsOfAnAsk(t *testing.T) {
	query := readCases(t, "../fixtures/queries/examples.json")[schema.ProtocolVersion+"/query"][0].Content
	ask, err := schema.Decode[schema.QueryAsk]([]byte(`{"query": ` + string(query) + `, "target_user_id": "@dana:ex.org", "data": {"n": 1.50, "big": 1e400}}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(ask.Data)
	if err != nil || string(raw) != `{"big":1e400,"n":1.50}` || ask.Scope() != "direct" || ask.Query.Type != schema.TypeApproval {
		t.Errorf("read as %+v with data %s, %v", ask, raw, err)
	}
}
