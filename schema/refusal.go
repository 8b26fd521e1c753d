package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule names what refused a document. A corpus names the same words in "refused_by".
type Rule string

// The rules, in the order in which a document meets them.
const (
	RuleJSON         Rule = "json"         // not one well-formed JSON text, or one that no two parsers read alike
	RuleSchema       Rule = "schema"       // the JSON Schema
	RuleUnique       Rule = "unique"       // x-uniqueBy: values that must not repeat
	RuleInteger      Rule = "integer"      // a number that cannot travel in a Matrix event
	RuleBody         Rule = "body"         // a blank body: a stock client would show nothing
	RuleCard         Rule = "card"         // run_id or stage_key without a card
	RuleSubject      Rule = "subject"      // an approval request without a subject, or a subject without options
	RuleApprove      Rule = "approve"      // an approval request with no option that approves
	RuleLabel        Rule = "label"        // a blank option label, in an event that we build
	RuleDeepLink     Rule = "deep_link"    // a deep link that is not http or https, in an event that we build
	RuleNUL          Rule = "nul"          // U+0000, in an event that we build, an answer or a query
	RuleDeadline     Rule = "deadline"     // a deadline that matches its pattern but is not a time, in an event that we build
	RuleApproval     Rule = "approval"     // a query of type approval that is more than approved or declined, by a person
	RuleContinuation Rule = "continuation" // a next query that does not follow the query it is returned for
	RuleSize         Rule = "size"         // larger than the room, or the dialect, can carry
)

var ruleOrder = []Rule{
	RuleJSON, RuleSchema, RuleUnique, RuleInteger, RuleBody, RuleCard, RuleSubject, RuleApprove,
	RuleLabel, RuleDeepLink, RuleNUL, RuleDeadline, RuleApproval, RuleContinuation, RuleSize,
}

// Fault is one thing wrong with a document.
type Fault struct {
	Rule Rule `json:"rule"`
	// Location is an RFC 6901 JSON pointer to the value at fault; "" is the whole document.
	Location string `json:"instance_location"`
	// Keyword is the JSON Schema keyword for the rules schema and unique, a word for the kind of fault for json
	// ("syntax", "utf8", "duplicate", "depth", "number", "size"), and the rule's own name for every other rule.
	Keyword string `json:"keyword"`
	// Limit is what the keyword demands: a number, a pattern, the allowed values, the names that are missing.
	Limit any `json:"limit,omitempty"`
	// Reason says it as a sentence, without the value.
	Reason string `json:"reason"`
}

func (f Fault) String() string {
	at := f.Location
	if at == "" {
		at = "(the whole document)"
	}
	return fmt.Sprintf("%s: %s: %s", f.Rule, at, f.Reason)
}

// maxFaults bounds what one refusal reports: a hostile document can break a rule thousands of times.
const maxFaults = 50

// Refusal is the error of every function here that refuses a document. Faults is never empty, ordered by rule, then
// location, then keyword, and holds at most 50; More counts the rest.
type Refusal struct {
	Faults []Fault `json:"faults"`
	More   int     `json:"more,omitempty"`
}

// Rule is the first rule that refused, in the order json, schema, unique, then ours.
func (r *Refusal) Rule() Rule { return r.Faults[0].Rule }

func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString("refused by ")
	b.WriteString(r.Faults[0].String())
	if n := len(r.Faults) - 1 + r.More; n > 0 {
		fmt.Fprintf(&b, " (and %d more)", n)
	}
	return b.String()
}

// refuse makes a Refusal of the faults, or a nil error of none.
func refuse(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(slices.Index(ruleOrder, a.Rule), slices.Index(ruleOrder, b.Rule)),
			strings.Compare(a.Location, b.Location),
			strings.Compare(a.Keyword, b.Keyword),
			strings.Compare(a.Reason, b.Reason),
		)
	})
	faults = slices.CompactFunc(faults, func(a, b Fault) bool {
		return a.Rule == b.Rule && a.Location == b.Location && a.Keyword == b.Keyword && a.Reason == b.Reason
	})
	r := &Refusal{Faults: faults}
	if len(faults) > maxFaults {
		r.Faults, r.More = faults[:maxFaults], len(faults)-maxFaults
	}
	return r
}

// ruleFault is a fault of one of our own rules, whose keyword is the rule's name.
func ruleFault(rule Rule, location, reason string) Fault {
	return Fault{Rule: rule, Location: location, Keyword: string(rule), Reason: reason}
}

// pointer writes an RFC 6901 JSON pointer. Property names of a document are the sender's text, so long ones are cut.
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(shorten(t)))
	}
	return b.String()
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

const maxToken = 100

func shorten(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxToken {
			return name[:i] + "…"
		}
	}
	return name
}
