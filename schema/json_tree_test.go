package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// node is a JSON value as it is written: property order, repeated names and the spelling of every number and string
// are kept, because those are what is mutated.
type node struct {
	text  string   // a scalar's JSON text; "{" or "[" for the others
	names []string // the JSON text of an object's property names, beside kids
	kids  []*node
}

func parseNode(raw string) *node {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	n := readNode(dec)
	if dec.More() {
		panic("two JSON values: " + raw)
	}
	return n
}

func readNode(dec *json.Decoder) *node {
	tok, err := dec.Token()
	if err != nil {
		panic(err) // only our own text is parsed
	}
	switch t := tok.(type) {
	case json.Delim:
		n := &node{text: t.String()}
		for dec.More() {
			if t == '{' {
				name, _ := dec.Token()
				n.names = append(n.names, quote(name.(string)))
			}
			n.kids = append(n.kids, readNode(dec))
		}
		_, _ = dec.Token()
		return n
	case string:
		return &node{text: quote(t)}
	default:
		text, _ := json.Marshal(t)
		return &node{text: string(text)}
	}
}

func (n *node) write(b *bytes.Buffer) {
	b.WriteString(n.text)
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.isObject() {
			b.WriteString(n.names[i])
			b.WriteByte(':')
		}
		kid.write(b)
	}
	switch n.text {
	case "{":
		b.WriteByte('}')
	case "[":
		b.WriteByte(']')
	}
}

func (n *node) bytes() []byte {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *node) clone() *node {
	c := &node{text: n.text, names: append([]string(nil), n.names...)}
	for _, kid := range n.kids {
		c.kids = append(c.kids, kid.clone())
	}
	return c
}

func (n *node) isObject() bool { return n.text == "{" }
func (n *node) isArray() bool  { return n.text == "[" }
func (n *node) isString() bool { return n.text[0] == '"' }

// get finds a property or an item by its name or number.
func (n *node) get(name string) *node {
	if i := n.index(name); i >= 0 {
		return n.kids[i]
	}
	return nil
}

func (n *node) index(name string) int {
	if n.isArray() {
		if i, err := strconv.Atoi(name); err == nil && i < len(n.kids) {
			return i
		}
		return -1
	}
	for i, have := range n.names {
		if have == quote(name) {
			return i
		}
	}
	return -1
}

// set writes the value at a pointer and says whether there was a parent to hold it.
func (n *node) set(pointer string, value *node) bool {
	parts := strings.Split(pointer, "/")[1:]
	for _, part := range parts[:len(parts)-1] {
		if n = n.get(part); n == nil {
			return false
		}
	}
	last := parts[len(parts)-1]
	switch i := n.index(last); {
	case i >= 0:
		n.kids[i] = value
	case n.isObject():
		n.insert(len(n.kids), quote(last), value)
	default:
		return false
	}
	return true
}

// insert puts a value, and its name in an object, before the i-th.
func (n *node) insert(i int, name string, value *node) {
	n.kids = append(n.kids[:i], append([]*node{value}, n.kids[i:]...)...)
	if n.isObject() {
		n.names = append(n.names[:i], append([]string{name}, n.names[i:]...)...)
	}
}

func (n *node) remove(i int) {
	n.kids = append(n.kids[:i], n.kids[i+1:]...)
	if n.isObject() {
		n.names = append(n.names[:i], n.names[i+1:]...)
	}
}

// walk calls f for the value and for everything in it.
func (n *node) walk(f func(*node)) {
	f(n)
	for _, kid := range n.kids {
		kid.walk(f)
	}
}

// quote writes a string as JSON with nothing escaped that need not be, so that U+2028 and the like travel as they are.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unquote reads a JSON string that quote or a mutation wrote.
func unquote(text string) string {
	var s string
	_ = json.Unmarshal([]byte(text), &s)
	return s
}
