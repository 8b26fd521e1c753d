package schema

import (
	"embed"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed json
var schemaFiles embed.FS

const (
	fileElicitation = "question.v2.schema.json"
	fileProtocol    = "question-protocol-1.1.schema.json"
	fileQueries     = "queries-2026-07-30.schema.json"

	schemaURL = "https://superpipeline.dev/schemas/"
)

// JSON is the text of one of our JSON Schemas: "question.v2.schema.json", "question-protocol-1.1.schema.json" or
// "queries-2026-07-30.schema.json". The last two hold one definition per document under "$defs".
func JSON(name string) ([]byte, error) { return schemaFiles.ReadFile("json/" + name) }

// compiled gives the validator of one document of one of our schemas, compiled when it is first asked for.
func compiled(file, fragment string) func() *jsonschema.Schema {
	return sync.OnceValue(func() *jsonschema.Schema {
		c := newCompiler()
		for _, name := range []string{fileElicitation, fileProtocol, fileQueries} {
			mustAdd(c, name, mustLoad(name))
		}
		return c.MustCompile(schemaURL + file + fragment)
	})
}

// mustLoad reads an embedded schema. It is ours and constant, so a fault in it is a programming error.
func mustLoad(file string) map[string]any {
	raw, err := JSON(file)
	if err != nil {
		panic(err)
	}
	tree, err := read(raw, nil)
	if err != nil {
		panic(fmt.Sprintf("schema %s: %v", file, err))
	}
	return tree.(map[string]any)
}

func mustAdd(c *jsonschema.Compiler, name string, doc map[string]any) {
	if err := c.AddResource(schemaURL+name, doc); err != nil {
		panic(fmt.Sprintf("schema %s: %v", name, err))
	}
}

func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseRegexpEngine(ecmaRegexp)
	c.RegisterVocabulary(uniqueByVocabulary())
	c.AssertVocabs()
	return c
}

// draftSchema is question.v2 without its demand for a body.
var draftSchema = sync.OnceValue(func() *jsonschema.Schema {
	doc := mustLoad(fileElicitation)
	var required []any
	for _, name := range doc["required"].([]any) {
		if name != "body" {
			required = append(required, name)
		}
	}
	doc["required"] = required
	c := newCompiler()
	mustAdd(c, fileElicitation, doc)
	return c.MustCompile(schemaURL + fileElicitation)
})
