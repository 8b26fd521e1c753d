package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/schema"
)

// TestDocumentsSurviveARoundTrip writes every valid document of the core protocol and of the queries back as JSON: what
// a peer sent us is what we would send.
func TestDocumentsSurviveARoundTrip(t *testing.T) {
	for _, file := range []string{"../fixtures/api/examples.json", "../fixtures/webhook/examples.json", "../fixtures/queries/examples.json"} {
		for kind, cases := range readCases(t, file) {
			if kind == "question-protocol-1.1/ask" {
				continue // an ask is normalised, see TestAskIsNormalised
			}
			k, ok := schema.KindNamed(kind)
			if !ok {
				t.Fatalf("no kind %s", kind)
			}
			for _, c := range cases {
				t.Run(kind+"/"+c.Case, func(t *testing.T) {
					doc, err := k.Decode(c.Content)
					if err != nil {
						t.Fatal(err)
					}
					want := canonicalWithoutNulls(t, c.Content)
					raw, err := json.Marshal(doc)
					if err != nil {
						t.Fatal(err)
					}
					if got := canonicalWithoutNulls(t, raw); !bytes.Equal(got, want) {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				})
			}
		}
	}
}

type validCase struct {
	Case    string
	Content json.RawMessage
}

func readCases(t *testing.T, file string) map[string][]validCase {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string]struct{ Valid []validCase }
	if err := json.Unmarshal(raw, &corpus); err != nil {
		t.Fatal(err)
	}
	out := map[string][]validCase{}
	for kind, cases := range corpus {
		out[kind] = cases.Valid
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no cases", file)
	}
	return out
}

// canonicalWithoutNulls drops null properties, which mean the same as absent ones.
func canonicalWithoutNulls(t *testing.T, raw []byte) []byte {
	t.Helper()
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	out, err := schema.CanonicalJSON(dropNulls(tree))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if item == nil {
				delete(v, name)
			} else {
				v[name] = dropNulls(item)
			}
		}
	case []any:
		for i := range v {
			v[i] = dropNulls(v[i])
		}
	}
	return v
}

func TestAskIsNormalised(t *testing.T) {
	ask := decodeCore(t, `{"prompt":"Go?","options":["a",{"value":"b"},{"value":"c","label":"C","primary":true},
		{"value":"d","label":"D","style":"default","destructive":true}],"target_user_id":"@dana:ex.org","data":{"n":1.50,"big":12345678901234567890}}`)
	want := []schema.AskOption{{"a", "a", "default"}, {"b", "b", "default"}, {"c", "C", "primary"}, {"d", "D", "default"}}
	for i, o := range ask.Options {
		if o != want[i] {
			t.Errorf("option %d is %+v, want %+v", i, o, want[i])
		}
	}
	if got := ask.Scope(); got != "direct" {
		t.Errorf("an ask with a target has scope %q", got)
	}
	if got := decodeCore(t, `{"prompt":"Go?"}`).Scope(); got != "room" {
		t.Errorf("an ask without a target has scope %q", got)
	}
	raw, err := json.Marshal(ask.Data)
	if err != nil || string(raw) != `{"big":12345678901234567890,"n":1.50}` {
		t.Errorf("data came back as %s, %v", raw, err)
	}
}

// Field case D4: a ttl is clamped before it can overflow, and what is not a whole number is refused (the refusals are
// in fixtures/api).
func TestD4TTL(t *testing.T) {
	for ttl, want := range map[string]time.Duration{
		"9223372037": schema.CoreMaxLifetime, "292277022399": schema.CoreMaxLifetime, "1e18": schema.CoreMaxLifetime,
		"9223372036854775808": schema.CoreMaxLifetime, "1e30": schema.CoreMaxLifetime, "86401": schema.CoreMaxLifetime,
		"86400": schema.CoreMaxLifetime, "86399": 86399 * time.Second, "1800.0": 30 * time.Minute, "31": 31 * time.Second,
		"30": schema.CoreMinLifetime, "29": schema.CoreMinLifetime, "0": schema.CoreMinLifetime, "-1": schema.CoreMinLifetime,
		"-1e30": schema.CoreMinLifetime, "null": schema.CoreDefaultLifetime,
	} {
		if got := decodeCore(t, `{"prompt":"Go?","ttl":`+ttl+`}`).Lifetime(); got != want {
			t.Errorf("ttl %s gives %v, want %v", ttl, got, want)
		}
	}
	if got := decodeCore(t, `{"prompt":"Go?"}`).Lifetime(); got != schema.CoreDefaultLifetime {
		t.Errorf("no ttl gives %v", got)
	}
}

func TestElicitationAskTakesItsTermsOut(t *testing.T) {
	for _, c := range readCases(t, "../fixtures/api/examples.json")["question-protocol-1.1/ask"] {
		if c.Case != "a question.v2 content with its terms beside it" {
			continue
		}
		ask, err := schema.DecodeAsk(c.Content)
		if err != nil {
			t.Fatal(err)
		}
		v2, ok := ask.(*schema.ElicitationAsk)
		if !ok {
			t.Fatalf("decoded as %T", ask)
		}
		if got := v2.Lifetime(); got != 24*time.Hour {
			t.Errorf("lifetime %v", got)
		}
		if terms := v2.Terms(); terms.Scope() != "direct" || *terms.CorrelationID != "c1" || *terms.ReplyTo != "r1" || terms.Data == nil {
			t.Errorf("terms %+v", terms)
		}
		content, err := v2.Elicitation.Build(schema.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ttl", "target_user_id", "correlation_id", "reply_to", "data"} {
			if _, ok := content[name]; ok {
				t.Errorf("%s went into the event", name)
			}
		}
		return
	}
	t.Fatal("the case is gone")
}

func decodeCore(t *testing.T, body string) *schema.CoreAsk {
	t.Helper()
	ask, err := schema.DecodeAsk([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return ask.(*schema.CoreAsk)
}
