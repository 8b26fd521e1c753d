package schema

import (
	"fmt"
	"strconv"
	"time"
)

// MaxDataBytes is how large an ask's data may be, in bytes of compact JSON.
const MaxDataBytes = 8192

// Ask is what an asker sends to ask a question: a [*CoreAsk] or an [*ElicitationAsk].
type Ask interface {
	// Terms is what the asker says about the asking and not about the question.
	Terms() AskTerms
	// Lifetime is how long the question waits for an answer: the ttl, clamped to the dialect's range.
	Lifetime() time.Duration
	isAsk()
}

// AskTerms is what stands beside the question in an ask. None of it enters a room event.
type AskTerms struct {
	ResponderScope string         `json:"responder_scope,omitempty"` // direct or room; "" for direct with a target, else room
	TargetUserID   string         `json:"target_user_id,omitempty"`  // a Matrix id, for direct scope only
	TTL            *Seconds       `json:"ttl,omitempty"`             // nil for the dialect's default
	CorrelationID  *string        `json:"correlation_id,omitempty"`  // at most 255 characters
	ReplyTo        *string        `json:"reply_to,omitempty"`        // at most 255 characters
	Data           map[string]any `json:"data,omitempty"`            // at most MaxDataBytes; numbers keep their digits
	// ResolutionPolicy is first, the only one there is, or "" for it; quorum and all are reserved (section 2).
	ResolutionPolicy string `json:"resolution_policy,omitempty"`
}

// Scope is the responder scope with its default filled in.
func (t AskTerms) Scope() string {
	switch {
	case t.ResponderScope != "":
		return t.ResponderScope
	case t.TargetUserID != "":
		return "direct"
	default:
		return "room"
	}
}

// Seconds is a whole number of seconds. One too large for an int64 is read as the largest.
type Seconds int64

func (s *Seconds) assignTree(tree any) { *s = Seconds(saturated(tree)) }

// The range of a question's lifetime, by dialect.
const (
	CoreDefaultLifetime = time.Hour
	CoreMinLifetime     = 30 * time.Second
	CoreMaxLifetime     = 24 * time.Hour

	ElicitationDefaultLifetime = 7 * 24 * time.Hour
	ElicitationMinLifetime     = 30 * time.Second
	ElicitationMaxLifetime     = 30 * 24 * time.Hour
)

// clamp compares before it multiplies: a large ttl times a second would overflow.
func clamp(ttl *Seconds, otherwise, low, high time.Duration) time.Duration {
	switch {
	case ttl == nil:
		return otherwise
	case int64(*ttl) <= int64(low/time.Second):
		return low
	case int64(*ttl) >= int64(high/time.Second):
		return high
	default:
		return time.Duration(*ttl) * time.Second
	}
}

// CoreAsk is the ask body of The Question Protocol 1.1, section 7, with the additive fields of this project.
type CoreAsk struct {
	AskTerms
	Prompt      string      `json:"prompt,omitempty"`     // 1–500 characters; may be absent beside Items
	Context     string      `json:"context,omitempty"`    // at most 200 characters
	Options     []AskOption `json:"options,omitempty"`    // 2–4 with unique values, or none
	TextInput   *TextInput  `json:"text_input,omitempty"` // max_length at most 60
	Dismissible bool        `json:"dismissible,omitempty"`
	Items       []AskItem   `json:"items,omitempty"` // 1–20 with unique headers, in place of Options and TextInput
}

// TextInput invites a typed answer.
type TextInput struct {
	Placeholder string `json:"placeholder"`
	MaxLength   int    `json:"max_length"` // characters; 0 in an ask that leaves it to the default of 60
}

// DefaultTextLength is the max_length of a text_input that names none, and the most the core protocol allows.
const DefaultTextLength = 60

// AskItem is one prompt of a set (document Channel questions; our additive property items).
type AskItem struct {
	Header    string      `json:"header"` // 1–30 characters
	Prompt    string      `json:"prompt"` // 1–500 characters
	Options   []AskOption `json:"options,omitempty"`
	Multiple  bool        `json:"multiple,omitempty"`
	TextInput *TextInput  `json:"text_input,omitempty"` // max_length at most 2000
}

// Terms and Lifetime implement [Ask].
func (a *CoreAsk) Terms() AskTerms { return a.AskTerms }

// Lifetime is 3600 s by default, clamped to 30–86400 s.
func (a *CoreAsk) Lifetime() time.Duration {
	return clamp(a.TTL, CoreDefaultLifetime, CoreMinLifetime, CoreMaxLifetime)
}
func (*CoreAsk) isAsk() {}

// ElicitationAsk is an ask body that is a question.v2 content, with [AskTerms] beside it.
type ElicitationAsk struct {
	AskTerms
	Elicitation *Elicitation
}

// Terms and Lifetime implement [Ask].
func (a *ElicitationAsk) Terms() AskTerms { return a.AskTerms }

// Lifetime is 7 days by default, clamped to 30 s–30 days.
func (a *ElicitationAsk) Lifetime() time.Duration {
	return clamp(a.TTL, ElicitationDefaultLifetime, ElicitationMinLifetime, ElicitationMaxLifetime)
}
func (*ElicitationAsk) isAsk() {}

var (
	coreAskSchema  = compiled(fileProtocol, "#/$defs/ask")
	askTermsSchema = compiled(fileProtocol, "#/$defs/ask_terms")
)

const kindAsk = "question-protocol-1.1/ask"

func (*CoreAsk) definition() definition { return definition{kindAsk, coreAskSchema} }

// askTerms is the document that an elicitation's terms make on their own.
type askTerms struct{ AskTerms }

func (*askTerms) definition() definition { return definition{kindAsk, askTermsSchema} }
func (t *askTerms) check() []Fault       { return t.checkData() }

// DecodeAsk reads an ask body in either dialect: a question.v2 content if it has suite_event_type, with the terms taken
// out before it is validated, else a core ask. The error is a [*Refusal].
func DecodeAsk(raw []byte) (Ask, error) {
	tree, err := read(raw, inData)
	if err != nil {
		return nil, err
	}
	obj, _ := tree.(map[string]any)
	if _, ok := obj["suite_event_type"]; !ok {
		ask := &CoreAsk{}
		if err := decodeTree(ask, tree); err != nil {
			return nil, err
		}
		return ask, nil
	}
	var terms askTerms
	if err := decodeTree(&terms, obj); err != nil {
		return nil, err
	}
	for _, f := range fieldsOf(typeOfTerms) {
		delete(obj, f.name)
	}
	e := &Elicitation{}
	if err := decodeTree(e, obj); err != nil {
		return nil, err
	}
	return &ElicitationAsk{terms.AskTerms, e}, nil
}

func (a *CoreAsk) check() []Fault {
	faults := append(a.checkData(), repeatedValues(a.Options, "options")...)
	for i, item := range a.Items {
		faults = append(faults, repeatedValues(item.Options, "items", strconv.Itoa(i), "options")...)
	}
	return faults
}

func (t AskTerms) checkData() []Fault {
	if t.Data == nil {
		return nil
	}
	if compact, err := CompactJSON(t.Data); err == nil && len(compact) <= MaxDataBytes {
		return nil
	}
	f := ruleFault(RuleSize, "/data", fmt.Sprintf("is larger than %d bytes", MaxDataBytes))
	f.Limit = MaxDataBytes
	return []Fault{f}
}

// repeatedValues finds what x-uniqueBy cannot: a bare string and an object with the same value.
func repeatedValues(options []AskOption, at ...string) []Fault {
	var faults []Fault
	seen := map[string]bool{}
	for i, o := range options {
		if seen[o.Value] {
			here := pointer(append(at, strconv.Itoa(i))...)
			faults = append(faults, Fault{RuleUnique, here, uniqueByKeyword, "options[].value", "repeats a value: the values of the options must differ"})
		}
		seen[o.Value] = true
	}
	return faults
}
