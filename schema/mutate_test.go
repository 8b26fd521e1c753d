package schema_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mutant is one document to compare verdicts on, and how it was made.
type mutant struct {
	doc   []byte
	n     int
	steps []string
}

func (m mutant) String() string {
	return fmt.Sprintf("document %d (%s)", m.n, strings.Join(m.steps, ", then "))
}

// mutationSeed is one case of fixtures/matrix-events/examples.json.
type mutationSeed struct {
	Case    string          `json:"case"`
	Content json.RawMessage `json:"content"`
	tree    *node
}

// mutationSeeds gives the valid and the refused question.v2 contents that mutation starts from.
func mutationSeeds(t *testing.T) (valid, refused []mutationSeed) {
	t.Helper()
	raw, err := os.ReadFile("../fixtures/matrix-events/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]struct{ Valid, Refused []mutationSeed }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	cases := file["dev.superpipeline.question.v2"]
	if len(cases.Valid) == 0 || len(cases.Refused) == 0 {
		t.Fatal("examples.json has no question.v2 cases")
	}
	for _, list := range [][]mutationSeed{cases.Valid, cases.Refused} {
		for i := range list {
			list[i].tree = parseNode(string(list[i].Content))
		}
	}
	return cases.Valid, cases.Refused
}

// mutator makes documents that nearly are question.v2 events. The same seed makes the same documents.
type mutator struct {
	*rand.Rand
	valid, refused []mutationSeed
}

func newMutator(t *testing.T) *mutator {
	valid, refused := mutationSeeds(t)
	return &mutator{rand.New(rand.NewPCG(*ajvSeed, 1)), valid, refused}
}

// documents yields every example, then documents with one property missing, then with one of mutatedFields set to each
// of its values, then random mutations until there are n.
func (g *mutator) documents(n int) iter.Seq[mutant] {
	return func(yield func(mutant) bool) {
		made := 0
		emit := func(doc []byte, steps ...string) bool {
			made++
			return made <= n && yield(mutant{doc, made, steps})
		}
		for _, list := range [][]mutationSeed{g.valid, g.refused} {
			for _, e := range list {
				if !emit(e.Content, "example: "+e.Case) {
					return
				}
			}
		}
		for _, base := range []*node{g.richCard(), g.richApproval(), g.richFreeText()} {
			for _, doc := range withoutOne(base) {
				if !emit(doc, "one property or item deleted") {
					return
				}
			}
			for _, f := range mutatedFields {
				for _, value := range f.values {
					doc := base.clone()
					at := strings.ReplaceAll(f.at, "*", "1")
					if doc.set(at, &node{text: value}) && !emit(doc.bytes(), at+" = "+shortText(value)) {
						return
					}
				}
			}
		}
		for g.emitRandom(emit) {
		}
	}
}

// withoutOne gives the document without each of its properties and items in turn.
func withoutOne(base *node) (docs [][]byte) {
	base.walk(func(n *node) {
		whole := *n
		for i := range whole.kids {
			*n = node{text: whole.text, names: slices.Clone(whole.names), kids: slices.Clone(whole.kids)}
			n.remove(i)
			docs = append(docs, base.bytes())
		}
		*n = whole
	})
	return docs
}

func (g *mutator) emitRandom(emit func([]byte, ...string) bool) bool {
	list := g.valid
	if g.IntN(4) == 0 {
		list = g.refused
	}
	base := list[g.IntN(len(list))]
	doc, steps := base.tree.clone(), []string{base.Case}
	for range 1 + g.IntN(3) {
		name := g.mutateTree(doc)
		steps = append(steps, name)
	}
	raw := doc.bytes()
	if g.IntN(8) == 0 {
		var name string
		raw, name = g.mutateBytes(raw)
		steps = append(steps, name)
	}
	return emit(raw, steps...)
}

// richCard, richApproval and richFreeText have, between them, every property that the schema describes.
func (g *mutator) richCard() *node {
	doc := g.valid[2].tree.clone()
	doc.set("/options/1/input", parseNode(inputText))
	doc.set("/subject/preview", parseNode("["+strings.Join(previews, ",")+"]"))
	doc.set("/deadline", parseNode(`{"remind_at":"2026-11-02T09:00Z","escalate_at":"2026-11-03T09:00:00.5+01:00"}`))
	return doc
}

func (g *mutator) richApproval() *node { return g.valid[3].tree.clone() }

func (g *mutator) richFreeText() *node { return g.valid[1].tree.clone() }

func (g *mutator) pick(list []string) string { return list[g.IntN(len(list))] }

// value makes a JSON value of any kind.
func (g *mutator) value() *node {
	switch g.IntN(4) {
	case 0:
		return parseOrText(g.pick(anything))
	case 1:
		return &node{text: g.pick(integers)}
	default:
		return parseOrText(g.pick(mutatedFields[g.IntN(len(mutatedFields))].values))
	}
}

// parseOrText parses what is a list or an object, so that later steps can go into it.
func parseOrText(text string) *node {
	if text[0] == '{' || text[0] == '[' {
		return parseNode(text)
	}
	return &node{text: text}
}

// where puts numbers for the stars of a pointer.
func (g *mutator) where(doc *node, at string) string {
	parts := strings.Split(at, "/")
	for i, part := range parts[1:] {
		if part == "*" && doc != nil {
			part = strconv.Itoa(g.IntN(max(1, len(doc.kids))))
			parts[i+1] = part
		}
		if doc != nil {
			doc = doc.get(part)
		}
	}
	return strings.Join(parts, "/")
}

func shortText(s string) string {
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%s… (%d characters)", string(r[:50]), len(r))
	}
	return s
}
