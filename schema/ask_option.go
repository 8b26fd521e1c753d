package schema

import (
	"encoding/json"
	"math/big"
	"reflect"
)

// Style is how a button looks (The Question Protocol 1.1, "Styling the options").
type Style string

// The three styles; there are no others, so every question looks consistent.
const (
	StylePrimary Style = "primary"
	StyleDanger  Style = "danger"
	StyleDefault Style = "default"
)

// AskOption is one option of an ask: an object, or a bare string that is both value and label.
type AskOption struct {
	Value string `json:"value"` // 1–40 characters, unique, round-trips exactly
	Label string `json:"label"` // 1–40 characters (200 in an item); the value when the asker gave none
	Style Style  `json:"style"` // from style, else from the legacy booleans, else default
}

func (o *AskOption) assignTree(tree any) {
	switch t := tree.(type) {
	case string:
		*o = AskOption{Value: t, Label: t, Style: StyleDefault}
	case map[string]any:
		var legacy struct {
			Value       string  `json:"value"`
			Label       *string `json:"label"`
			Style       Style   `json:"style"`
			Primary     bool    `json:"primary"`
			Destructive bool    `json:"destructive"`
		}
		assignTree(&legacy, t)
		*o = AskOption{legacy.Value, legacy.Value, legacy.Style}
		if legacy.Label != nil {
			o.Label = *legacy.Label
		}
		switch {
		case o.Style != "":
		case legacy.Destructive:
			o.Style = StyleDanger
		case legacy.Primary:
			o.Style = StylePrimary
		default:
			o.Style = StyleDefault
		}
	}
}

// DefaultOptions is the binary question that an ask with neither options nor text_input asks (section 7, "Ask").
func DefaultOptions() []AskOption {
	return []AskOption{{"approve", "Approve", StylePrimary}, {"deny", "Deny", StyleDanger}}
}

var typeOfTerms = reflect.TypeFor[AskTerms]()

// saturated reads an integer of any size, as near as an int64 comes to it.
func saturated(tree any) int64 {
	num, ok := tree.(json.Number)
	if !ok {
		return 0
	}
	if n, err := num.Int64(); err == nil {
		return n
	}
	r, ok := new(big.Rat).SetString(string(num))
	switch {
	case !ok:
		return 0
	case r.Num().IsInt64():
		return r.Num().Int64()
	case r.Sign() < 0:
		return -1 << 63
	default:
		return 1<<63 - 1
	}
}
