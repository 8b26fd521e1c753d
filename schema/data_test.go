package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// odd is data that an asker may send: numbers that no computer computes with, and strings in odd spellings.
const odd = `{"big":12345678901234567890,"cents":0.1000,"far":1e400,"near":-1E-999999,"none":-0,"long":3.` +
	`14159265358979323846264338327950288419716939937510,"deep":[{"n":1e1000000}],"text":"\u2028<b>& \/ \u0000 \ud83d\ude00"}`

// oddCompact is odd without what makes no difference.
const oddCompact = `{"big":12345678901234567890,"cents":0.1000,"deep":[{"n":1e1000000}],"far":1e400,"long":3.` +
	`14159265358979323846264338327950288419716939937510,"near":-1E-999999,"none":-0,"text":"\u2028<b>& / \u0000 😀"}`

// Data is kept as it was written wherever it stands, and nowhere else may a number cost what such a number would.
func TestDataIsEchoed(t *testing.T) {
	question := strings.Replace(readCases(t, "../fixtures/api/examples.json")["question-protocol-1.1/question"][0].text(), `"data": {`, `"data": `+odd+`, "rest": {`, 1)
	for kind, doc := range map[string]string{
		"question-protocol-1.1/ask":             `{"prompt":"Go?","data":` + odd + `}`,
		"question-protocol-1.1/question":        question,
		"question-protocol-1.1/questions":       `{"questions":[` + question + `,` + question + `],"next_cursor":null}`,
		"question-protocol-1.1/answer-envelope": envelope(odd),
		"question-protocol-1.1/webhook-event":   `{"event":"question.expired","room":{"name":null,"code":null},"timestamp":"2026-06-27T10:31:04Z",` + envelope(odd)[1:],
	} {
		k, _ := schema.KindNamed(kind)
		read, err := k.Decode([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		written, err := schema.CompactJSON(read)
		if n := strings.Count(string(written), oddCompact); err != nil || n == 0 || kind == "question-protocol-1.1/questions" && n != 2 {
			t.Errorf("%s: data is written %d times, %v\n%s", kind, n, err, written)
		}
		for _, elsewhere := range []string{`"other":{"data":{"n":1e400}}`, `"date":1e400`, `"data/":{"n":1e400}`} {
			if _, err := k.Decode([]byte("{" + elsewhere + "," + doc[1:])); err == nil || faultsOf(t, err)[0].Keyword != "number" {
				t.Errorf("%s with %s: %v", kind, elsewhere, err)
			}
		}
	}
	event := strings.Replace(readExamples(t).Valid[0].text(), "{", `{"data":{"n":1e400},`, 1)
	if _, err := schema.DecodeAsk([]byte(event)); err != nil {
		t.Errorf("beside a question.v2 content: %v", err)
	}
	_, err := schema.Decode[schema.Elicitation]([]byte(event))
	checkRefused(t, err, schema.RuleJSON, "/data/n", "number")
}

func envelope(data string) string {
	return fmt.Sprintf(`{"question_id":"q","state":"expired","answer":null,"correlation_id":null,"reply_to":null,"data":%s}`, data)
}

func (c validCase) text() string { return string(c.Content) }
func (c example) text() string   { return string(c.Content) }

func TestFingerprint(t *testing.T) {
	of := func(body string) [32]byte {
		t.Helper()
		sum, err := schema.Fingerprint([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := of(`{"prompt":"é <b>","ttl":60,"data":` + odd + `}`)
	for _, same := range []string{` {"ttl":60, "data":` + oddCompact + `,"prompt":"\u00e9 \u003cb>"}` + "\n"} {
		if of(same) != first {
			t.Errorf("another one is %s", same)
		}
	}
	for _, other := range []string{
		`{"prompt":"é <b>","ttl":60.0,"data":` + odd + `}`, `{"prompt":"É <b>","ttl":60,"data":` + odd + `}`,
		`{"prompt":"é <b>","ttl":60}`, `{"prompt":"é <b>","ttl":60,"context":null,"data":` + odd + `}`,
	} {
		if of(other) == first {
			t.Errorf("the same is %s", other)
		}
	}
	_, err := schema.Fingerprint([]byte(`{"prompt":"a","prompt":"a"}`))
	checkRefused(t, err, schema.RuleJSON, "/prompt", "duplicate")
}

// A reserved policy is refused by its name, in both dialects, and enters no event (section 2).
func TestReservedPolicies(t *testing.T) {
	event := readExamples(t).Valid[0].text()
	for _, policy := range []string{"quorum", "all"} {
		for _, rest := range []string{`"prompt":"Go?"}`, event[1:]} {
			_, err := schema.DecodeAsk([]byte(`{"resolution_policy":"` + policy + `",` + rest))
			checkRefused(t, err, schema.RuleSchema, "/resolution_policy", "enum")
			if reason := faultsOf(t, err)[0].Reason; reason != `must be one of "first", null; "`+policy+`" is reserved for later` {
				t.Errorf("%s: %s", policy, reason)
			}
		}
	}
	ask, err := schema.DecodeAsk([]byte(`{"resolution_policy":"first",` + event[1:]))
	if err != nil || ask.Terms().ResolutionPolicy != "first" {
		t.Fatal(err)
	}
	content, err := ask.(*schema.ElicitationAsk).Elicitation.Content()
	if _, there := content["resolution_policy"]; there || err != nil {
		t.Errorf("the policy enters the event: %v", err)
	}
}
