package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"superpipeline.dev/question-bridge/schema"
)

// schemas brings the schemas that the document refers to into it.
type schemas struct{ into object }

const schemaPlace = "#/components/schemas/"

// fill looks through a value for references and makes each lead to a place in the document. file is where the value
// comes from, "" for the document itself.
func (s schemas) fill(value any, file string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			s.fill(item, file)
		}
	case object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if to, ok := value[name].(string); ok && name == "$ref" {
				value[name] = s.place(to, file)
				continue
			}
			s.fill(value[name], file)
		}
	}
}

// The schema files, and what their definitions are called in the document.
const (
	protocolFile    = "question-protocol-1.1.schema.json"
	elicitationFile = "question.v2.schema.json"
	queriesFile     = "queries-2026-07-30.schema.json"
	elicitationName = "question.v2"
	queriesPrefix   = "queries."
)

// place gives the place of what a reference leads to, and brings it there.
func (s schemas) place(reference, file string) string {
	if file == "" {
		if name, ok := strings.CutPrefix(reference, schemaPlace); ok {
			name, _, _ = strings.Cut(name, "/")
			s.bring(name)
		}
		return reference
	}
	other, fragment, _ := strings.Cut(reference, "#")
	if other != "" {
		file = other
	}
	inside, isDefinition := strings.CutPrefix(fragment, "/$defs/")
	switch {
	case file == elicitationFile:
		s.bring(elicitationName)
		return schemaPlace + elicitationName + fragment
	case file == protocolFile && isDefinition:
	case file == queriesFile && isDefinition:
		inside = queriesPrefix + inside
	default:
		panic("openapi: no place for " + reference + " of " + file)
	}
	s.bring(inside)
	return schemaPlace + inside
}

// bring adds a schema by its name in the document, unless the document has it.
func (s schemas) bring(name string) {
	if _, ok := s.into[name]; ok {
		return
	}
	file, definition := protocolFile, name
	if inside, ok := strings.CutPrefix(name, queriesPrefix); ok {
		file, definition = queriesFile, inside
	}
	if name == elicitationName {
		file = elicitationFile
	}
	raw, err := schema.JSON(file)
	var whole object
	if err == nil {
		err = decodeKeepingNumbers(raw, &whole)
	}
	if err != nil {
		panic(fmt.Sprintf("openapi: %s: %v", file, err))
	}
	found := whole
	if file != elicitationFile {
		definitions := whole["$defs"].(object)
		if found, _ = definitions[definition].(object); found == nil {
			panic("openapi: there is no schema " + name + " in " + file)
		}
	}
	delete(found, "$schema")
	delete(found, "$id")
	s.into[name] = found
	s.fill(found, file)
}
