package dialect_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/internal/dialect"
	"superpipeline.dev/question-bridge/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is one ask with everything that is made of it. Ids are written as q_ID.
type golden struct {
	Ask      json.RawMessage   `json:"ask"`
	Question json.RawMessage   `json:"question"`
	Events   []json.RawMessage `json:"events"`
}

// TestGolden compares the question and the events of every ask in testdata with what is written there.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want golden
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			got := goldenOf(t, want.Ask)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(got, raw) {
				t.Errorf("got\n%s\nwant\n%s", got, raw)
			}
		})
	}
}

func goldenOf(t *testing.T, body json.RawMessage) []byte {
	t.Helper()
	q := asked(t, string(body))
	out := golden{Ask: body}
	plainID := func(v any) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(canonical(t, v), string(q.ID), "q_ID"))
	}
	document := dialect.ToQuestion(q)
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Decode[schema.Question](raw); err != nil {
		t.Fatalf("the question is no valid document: %v", err)
	}
	out.Question = plainID(document)
	for i := range q.Items {
		e, err := dialect.Elicitation(q, i)
		if err != nil {
			t.Fatal(err)
		}
		event, err := e.Build(schema.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		delete(event, "formatted_body") // says the same as body, and package schema tests that it does
		out.Events = append(out.Events, plainID(event))
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
