package schema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is what a pointer to each of our documents can do.
type document interface {
	definition() definition
	// check gives what the JSON Schema cannot say. It is called on a document that keeps its schema.
	check() []Fault
}

// definition says how one kind of document is validated.
type definition struct {
	kind   string
	schema func() *jsonschema.Schema
}

// Decode reads one document: its bytes (size, depth, UTF-8, duplicate keys, hostile numbers), its JSON Schema, and the
// rules that the schema cannot state, in that order. The tree that was validated is the tree that is decoded, with
// exact property names, so nothing is accepted under one reading and used under another. Properties that the document
// does not name are ignored. The error is a [*Refusal].
func Decode[T any, P interface {
	*T
	document
}](raw []byte) (*T, error) {
	doc := P(new(T))
	tree, err := read(raw, echoedIn(doc))
	if err != nil {
		return nil, err
	}
	if err := decodeTree(doc, tree); err != nil {
		return nil, err
	}
	return (*T)(doc), nil
}

func decodeTree(doc document, tree any) error {
	if err := refuse(validate(doc.definition().schema(), tree)); err != nil {
		return err
	}
	if err := refuse(assignTree(doc, tree)); err != nil {
		return err
	}
	return refuse(doc.check())
}
