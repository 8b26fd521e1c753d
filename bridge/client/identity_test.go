package client

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"superpipeline.dev/question-bridge/schema"
)

// Nothing that a caller can hand to this package has a place for who answers (section 8): every field of every type that
// a method takes, and of the types within those, is read by its name.
func TestNoResponderCanBeNamed(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, receiver := range []reflect.Type{reflect.TypeFor[*Client](), reflect.TypeFor[*Responder](), reflect.TypeFor[*Webhook]()} {
		for i := range receiver.NumMethod() {
			for arg := range receiver.Method(i).Type.Ins() {
				if arg != receiver {
					readNames(t, arg, seen)
				}
			}
		}
	}
	readNames(t, reflect.TypeFor[Config](), seen)
	// What stands behind the interface schema.Ask.
	readNames(t, reflect.TypeFor[schema.CoreAsk](), seen)
	readNames(t, reflect.TypeFor[schema.ElicitationAsk](), seen)
	for _, must := range []reflect.Type{reflect.TypeFor[schema.AskTerms](), reflect.TypeFor[schema.Option](), reflect.TypeFor[schema.AnswerBodyItem](), reflect.TypeFor[ListOptions]()} {
		if !seen[must] {
			t.Errorf("%s was not read", must)
		}
	}
}

// Whom a question is for, and not who answered it.
var addressees = []string{"ResponderScope", "TargetUserID"}

func readNames(t *testing.T, of reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		readNames(t, of.Elem(), seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[of] || !strings.HasPrefix(of.PkgPath(), "superpipeline.dev/") {
		return
	}
	seen[of] = true
	for field := range of.Fields() {
		if !field.IsExported() || slices.Contains(addressees, field.Name) {
			continue
		}
		for _, word := range []string{"user", "responder", "sender", "person", "actor", "identity", "answered", "decided"} {
			if strings.Contains(strings.ToLower(field.Name), word) {
				t.Errorf("%s has %s", of, field.Name)
			}
		}
		readNames(t, field.Type, seen)
	}
}
