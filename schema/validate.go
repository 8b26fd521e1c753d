package schema

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// validate checks a tree and words the validator's findings without the value it found.
func validate(s *jsonschema.Schema, tree any) []Fault {
	err := s.Validate(tree)
	if err == nil {
		return nil
	}
	var verr *jsonschema.ValidationError
	if !errors.As(err, &verr) {
		return []Fault{{Rule: RuleSchema, Keyword: "schema", Reason: "could not be validated"}}
	}
	return flatten(nil, verr)
}

func flatten(faults []Fault, err *jsonschema.ValidationError) []Fault {
	causes := err.Causes
	switch err.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		faults = append(faults, fault(err))
		causes = likelyBranches(causes)
	default:
		if len(causes) == 0 {
			return append(faults, fault(err))
		}
	}
	for _, c := range causes {
		faults = flatten(faults, c)
	}
	return faults
}

// likelyBranches leaves out the branches of a oneOf whose own "type" constant already says that they are not meant,
// unless that is true of all of them.
func likelyBranches(branches []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	var meant []*jsonschema.ValidationError
	for _, b := range branches {
		if !failsConst(b) {
			meant = append(meant, b)
		}
	}
	if len(meant) == 0 {
		return branches
	}
	return meant
}

func failsConst(err *jsonschema.ValidationError) bool {
	if _, ok := err.ErrorKind.(*kind.Const); ok {
		return true
	}
	for _, c := range err.Causes {
		if failsConst(c) {
			return true
		}
	}
	return false
}

// reservedPolicies are the resolution policies that The Question Protocol 1.1, section 2, keeps for later.
var reservedPolicies = []string{"quorum", "all"}

func fault(err *jsonschema.ValidationError) Fault {
	f := Fault{Rule: RuleSchema, Location: pointer(err.InstanceLocation...)}
	if path := err.ErrorKind.KeywordPath(); len(path) > 0 {
		f.Keyword = path[len(path)-1]
	}
	switch k := err.ErrorKind.(type) {
	case repeated:
		f.Rule, f.Keyword, f.Limit = RuleUnique, uniqueByKeyword, k.path
		f.Reason = fmt.Sprintf("repeats a value: the values of %s must differ", k.path)
	case *kind.Required:
		f.Keyword, f.Limit = "required", k.Missing
		f.Reason = "lacks " + strings.Join(k.Missing, ", ")
	case *kind.Type:
		f.Limit = k.Want
		f.Reason = "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		f.Limit = k.Want
		f.Reason = "must be one of " + list(k.Want)
		if word, ok := k.Got.(string); ok && f.Location == "/resolution_policy" && slices.Contains(reservedPolicies, word) {
			f.Reason += fmt.Sprintf("; %q is reserved for later", word)
		}
	case *kind.Const:
		f.Limit = k.Want
		f.Reason = fmt.Sprintf("must be %s", literal(k.Want))
	case *kind.Format:
		f.Limit = k.Want
		f.Reason = "is not a valid " + k.Want
	case *kind.Pattern:
		f.Limit = k.Want
		f.Reason = patternReason(k.Want)
	case *kind.MinLength:
		f.Limit, f.Reason = k.Want, fmt.Sprintf("is shorter than %s", count(k.Want, "character"))
	case *kind.MaxLength:
		f.Limit, f.Reason = k.Want, fmt.Sprintf("is longer than %s", count(k.Want, "character"))
	case *kind.MinItems:
		f.Limit, f.Reason = k.Want, fmt.Sprintf("has fewer than %s", count(k.Want, "item"))
	case *kind.MaxItems:
		f.Limit, f.Reason = k.Want, fmt.Sprintf("has more than %s", count(k.Want, "item"))
	case *kind.Minimum:
		f.Limit, f.Reason = number(k.Want), "is less than "+k.Want.RatString()
	case *kind.Maximum:
		f.Limit, f.Reason = number(k.Want), "is more than "+k.Want.RatString()
	case *kind.Not:
		f.Keyword, f.Reason = "not", "has something that must not be there"
	case *kind.OneOf:
		f.Keyword, f.Reason = "oneOf", "has none of the shapes allowed here"
	case *kind.AnyOf:
		f.Keyword, f.Reason = "anyOf", "has none of the shapes allowed here"
	case *kind.FalseSchema:
		f.Keyword, f.Reason = "false", "is not allowed here"
	default:
		f.Reason = "breaks the rule " + f.Keyword
	}
	return f
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func number(r *big.Rat) any {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().Int64()
	}
	return r.RatString()
}

func list(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = literal(v)
	}
	return strings.Join(words, ", ")
}

func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
