package schema

import (
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ECMA-262 white space and line terminators, as the inside of an RE2 character class, and everything else. RE2's own
// \s is five ASCII characters, which would let a no-break space through where every other validator refuses it.
const (
	ecmaSpace = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	ecmaOther = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
)

// ecmaRegexp is the pattern engine of our schemas: RE2, which cannot be made slow by a pattern or a value, with \s and
// \S meaning what JSON Schema says they mean. \d and $ already agree.
func ecmaRegexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(translateSpace(pattern))
	if err != nil {
		return nil, err
	}
	return ecmaPattern{re, pattern}, nil
}

// ecmaPattern shows the pattern as the schema has it.
type ecmaPattern struct {
	*regexp.Regexp
	source string
}

func (p ecmaPattern) String() string { return p.source }

func translateSpace(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c != '\\' || i+1 == len(pattern) {
			switch c {
			case '[':
				inClass = true
			case ']':
				inClass = false
			}
			b.WriteByte(c)
			continue
		}
		i++
		class := ""
		switch pattern[i] {
		case 's':
			class = ecmaSpace
		case 'S':
			class = ecmaOther
		default:
			b.WriteByte('\\')
			b.WriteByte(pattern[i])
			continue
		}
		if !inClass {
			class = "[" + class + "]"
		}
		b.WriteString(class)
	}
	return b.String()
}
