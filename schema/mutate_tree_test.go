package schema_test

import (
	"slices"
	"strings"
)

// treeMutations are the ways to change a document that leave it JSON, or nearly. Each says whether it found a place.
var treeMutations = []struct {
	name   string
	weight int
	apply  func(*mutator, *node) bool
}{
	{"a field's value", 30, (*mutator).setField},
	{"another value", 8, (*mutator).replace},
	{"a value moved here", 4, (*mutator).graft},
	{"deleted", 10, (*mutator).delete},
	{"renamed", 8, (*mutator).rename},
	{"a name given twice", 3, (*mutator).duplicate},
	{"a new property", 6, (*mutator).addProperty},
	{"an item repeated", 4, (*mutator).repeatItem},
	{"two swapped", 3, (*mutator).swap},
	{"escapes", 3, (*mutator).respell},
	{"a character put in", 5, (*mutator).insertRune},
	{"wrapped", 3, (*mutator).wrap},
	{"nested deep", 2, (*mutator).nest},
	{"card or approval", 7, (*mutator).cardOrApproval},
	{"options or free text", 6, (*mutator).optionsOrFreeText},
	{"option ids", 6, (*mutator).optionIDs},
	{"a made-up time", 7, (*mutator).makeTime},
	{"a long integer", 3, (*mutator).makeNumber},
	{"grown to the size limit", 1, (*mutator).grow},
}

// mutateTree changes the document once and says how.
func (g *mutator) mutateTree(doc *node) string {
	total := 0
	for _, m := range treeMutations {
		total += m.weight
	}
	for {
		at := g.IntN(total)
		for _, m := range treeMutations {
			if at -= m.weight; at < 0 {
				if m.apply(g, doc) {
					return m.name
				}
				break
			}
		}
	}
}

func (g *mutator) setField(doc *node) bool {
	f := mutatedFields[g.IntN(len(mutatedFields))]
	return doc.set(g.where(doc, f.at), parseOrText(g.pick(f.values)))
}

// anywhere picks a value of the document that match likes.
func (g *mutator) anywhere(doc *node, match func(*node) bool) *node {
	var found []*node
	doc.walk(func(n *node) {
		if match(n) {
			found = append(found, n)
		}
	})
	if len(found) == 0 {
		return nil
	}
	return found[g.IntN(len(found))]
}

func filled(n *node) bool { return len(n.kids) > 0 }

func (g *mutator) parent(doc *node) (*node, int) {
	p := g.anywhere(doc, filled)
	if p == nil {
		return nil, 0
	}
	return p, g.IntN(len(p.kids))
}

func (g *mutator) replace(doc *node) bool {
	if g.IntN(60) == 0 {
		*doc = *g.value()
		return true
	}
	p, i := g.parent(doc)
	if p == nil {
		return false
	}
	p.kids[i] = g.value()
	return true
}

func (g *mutator) graft(doc *node) bool {
	from := g.anywhere(doc, func(n *node) bool { return n != doc }).orNull().clone()
	p, i := g.parent(doc)
	if p == nil {
		return false
	}
	p.kids[i] = from
	return true
}

func (n *node) orNull() *node {
	if n == nil {
		return &node{text: "null"}
	}
	return n
}

func (g *mutator) delete(doc *node) bool {
	p, i := g.parent(doc)
	if p == nil {
		return false
	}
	p.remove(i)
	return true
}

func (g *mutator) rename(doc *node) bool {
	p := g.anywhere(doc, func(n *node) bool { return n.isObject() && filled(n) })
	if p == nil {
		return false
	}
	i := g.IntN(len(p.kids))
	p.names[i] = g.near(unquote(p.names[i]))
	return true
}

// near spells a property name as somebody careless, or somebody clever, would.
func (g *mutator) near(name string) string {
	camel := name
	if head, tail, ok := strings.Cut(name, "_"); ok && tail != "" {
		camel = head + strings.ToUpper(tail[:1]) + tail[1:]
	}
	switch g.IntN(11) {
	case 0:
		return quote(strings.ToUpper(name))
	case 1:
		return quote(strings.Replace(name, "s", "\u017f", 1))
	case 2:
		return quote(strings.Replace(name, "k", "\u212a", 1))
	case 3:
		return quote(camel)
	case 4:
		return quote(name + g.pick(spaces))
	case 5:
		return quote(name + "s")
	case 6:
		return quote("__proto__")
	case 7:
		return quote(g.pick([]string{"constructor", "toString", "hasOwnProperty", "length", "", "$ref", "a/b~c"}))
	case 8:
		return quote1(escaped(name))
	case 9:
		return quote(strings.ReplaceAll(name, "_", "-"))
	default:
		return quote(strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):])
	}
}

func (g *mutator) duplicate(doc *node) bool {
	p := g.anywhere(doc, func(n *node) bool { return n.isObject() && filled(n) })
	if p == nil {
		return false
	}
	i := g.IntN(len(p.kids))
	name, value := p.names[i], p.kids[i].clone()
	if g.IntN(3) == 0 {
		name = quote1(escaped(unquote(name)))
	}
	if g.IntN(2) == 0 {
		value = g.value()
	}
	p.insert(g.IntN(len(p.kids)+1), name, value)
	return true
}

func (g *mutator) addProperty(doc *node) bool {
	p := g.anywhere(doc, (*node).isObject)
	if p == nil {
		return false
	}
	name := quote(g.pick([]string{
		"__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "extra", "", "0", "subject",
		"free_text", "requires", "meaning", "type",
		"card_id", "responder_scope", "style", "deadline", "formatted_body", "m.relates_to", "dev.superpipeline.question.send",
	}))
	value := g.value()
	if g.IntN(3) == 0 {
		value = parseNode(`{"extra":{"nested":[1,{"deeper":null}]}}`)
	}
	p.insert(g.IntN(len(p.kids)+1), name, value)
	return true
}

func (g *mutator) repeatItem(doc *node) bool {
	p := g.anywhere(doc, func(n *node) bool { return n.isArray() && filled(n) })
	if p == nil {
		return false
	}
	times := 1
	if g.IntN(4) == 0 {
		times = 18 + g.IntN(6)
	}
	if g.IntN(25) == 0 {
		times = 60
	}
	for range times {
		p.insert(g.IntN(len(p.kids)+1), "", p.kids[g.IntN(len(p.kids))].clone())
	}
	return true
}

func (g *mutator) swap(doc *node) bool {
	p, i := g.parent(doc)
	if p == nil {
		return false
	}
	j := g.IntN(len(p.kids))
	p.kids[i], p.kids[j] = p.kids[j], p.kids[i]
	return true
}

func (g *mutator) respell(doc *node) bool {
	s := g.anywhere(doc, (*node).isString)
	if s == nil {
		return false
	}
	s.text = quote1(escaped(unquote(s.text)))
	return true
}

func (g *mutator) insertRune(doc *node) bool {
	s := g.anywhere(doc, (*node).isString)
	if s == nil {
		return false
	}
	text := []rune(unquote(s.text))
	what := []rune(g.pick(spaces))[0]
	if g.IntN(3) == 0 {
		what = rune(g.IntN(0x3100))
	}
	s.text = quote(string(slices.Insert(text, g.IntN(len(text)+1), what)))
	return true
}

func (g *mutator) wrap(doc *node) bool {
	p, i := g.parent(doc)
	if p == nil {
		return false
	}
	switch kid := p.kids[i]; {
	case filled(kid) && g.IntN(2) == 0:
		p.kids[i] = kid.kids[g.IntN(len(kid.kids))]
	case g.IntN(2) == 0:
		p.kids[i] = &node{text: "[", kids: []*node{kid}}
	default:
		p.kids[i] = &node{text: "{", names: []string{quote(g.pick([]string{"value", "id", "__proto__", "type"}))}, kids: []*node{kid}}
	}
	return true
}

// nest puts a value of 60 to 68 levels somewhere: the limit is 64 for the whole document.
func (g *mutator) nest(doc *node) bool {
	value := &node{text: "1"}
	for range 60 + g.IntN(9) {
		if g.IntN(2) == 0 {
			value = &node{text: "[", kids: []*node{value}}
		} else {
			value = &node{text: "{", names: []string{`"n"`}, kids: []*node{value}}
		}
	}
	p, i := g.parent(doc)
	if p == nil {
		return false
	}
	if g.IntN(2) == 0 && p.isObject() {
		p.insert(i, `"extra"`, value)
	} else {
		p.kids[i] = value
	}
	return true
}
