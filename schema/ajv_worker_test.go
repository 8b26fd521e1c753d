package schema_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// ajvVerdict is what ajv says of one document.
type ajvVerdict struct {
	JSON   *bool       `json:"json"` // false where JavaScript cannot read the document; else absent
	Valid  bool        `json:"valid"`
	Errors [][2]string `json:"errors"` // location and keyword
}

func (v ajvVerdict) unreadable() bool { return v.JSON != nil && !*v.JSON }

func (v ajvVerdict) reports(l leaf) bool {
	for _, e := range v.Errors {
		if (leaf{e[0], e[1]}) == l {
			return true
		}
	}
	return false
}

const batchSize = 256

const ourSchema = "json/question.v2.schema.json"

// askAJV sends the documents to ajv, which holds the given schema, and calls each with every one of them and its
// verdict, in order, until each says false.
func askAJV(t *testing.T, schemaFile string, documents iter.Seq[mutant], each func(mutant, ajvVerdict) bool) {
	t.Helper()
	const installed = "ajv/node_modules/ajv/package.json"
	if _, err := os.Stat(installed); err != nil {
		t.Fatal("ajv is not installed: `make test` does that, or `npm ci` in schema/ajv")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("there is no node: the comparison with ajv needs Node.js 20 or newer, as `make test` says")
	}
	// Reading the worker here is what makes `go test` forget a cached result when it changes.
	if _, err := os.ReadFile("ajv/verdict.mjs"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := exec.CommandContext(ctx, node, "ajv/verdict.mjs", schemaFile)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan []mutant, 8)
	go send(ctx, stdin, documents, sent)

	answers := bufio.NewReaderSize(stdout, 1<<16)
	for batch := range sent {
		for _, m := range batch {
			line, err := answers.ReadBytes('\n')
			if err != nil {
				_ = cmd.Wait()
				t.Fatalf("ajv stopped at %s: %v\n%s", m, err, strings.TrimSpace(stderr.String()))
			}
			var v ajvVerdict
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("ajv said %q: %v", line, err)
			}
			if !each(m, v) {
				stop()
				_ = cmd.Wait()
				return
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("ajv: %v\n%s", err, strings.TrimSpace(stderr.String()))
	}
}

// send announces each batch before it writes it, so that whoever reads the answers never waits for a batch whose
// answers fill the pipe.
func send(ctx context.Context, to io.WriteCloser, documents iter.Seq[mutant], sent chan<- []mutant) {
	defer close(sent)
	defer to.Close()
	var batch []mutant
	var lines []byte
	flush := func() bool {
		select {
		case sent <- batch:
		case <-ctx.Done():
			return false
		}
		_, err := to.Write(lines)
		batch, lines = nil, lines[:0]
		return err == nil
	}
	for m := range documents {
		batch = append(batch, m)
		lines = append(base64.StdEncoding.AppendEncode(lines, m.doc), '\n')
		if len(batch) == batchSize && !flush() {
			return
		}
	}
	if len(batch) > 0 {
		flush()
	}
}
