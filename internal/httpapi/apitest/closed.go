package apitest

// closed closes the schemas of a document's responses and webhooks: an object may then have no property that the document does not
// name. The document itself leaves them open, since readers ignore what they do not know.
type closed struct{ root object }

func (c closed) document() {
	components := c.root["components"].(object)
	for _, schema := range components["schemas"].(object) {
		c.inside(schema)
	}
	c.responses(components["responses"])
	for _, webhook := range components["pathItems"].(object) {
		c.content(webhook.(object)["post"].(object)["requestBody"])
	}
	for _, item := range c.root["paths"].(object) {
		for _, operation := range item.(object) {
			if operation, ok := operation.(object); ok {
				c.responses(operation["responses"])
			}
		}
	}
}

func (c closed) responses(all any) {
	for _, response := range all.(object) {
		c.content(response)
	}
}

// content closes the schemas of a response or of the body of a request.
func (c closed) content(of any) {
	content, _ := of.(object)["content"].(object)
	for _, media := range content {
		c.whole(media.(object)["schema"])
	}
}

// whole closes a schema that says everything about a value.
func (c closed) whole(schema any) {
	s, ok := schema.(object)
	if !ok {
		return
	}
	c.inside(s)
	if c.names(s) {
		s["unevaluatedProperties"] = false
	}
}

// The keywords whose schemas say more about the same value, and those whose schemas are about values within it.
var (
	sameValue  = []string{"allOf", "anyOf", "oneOf", "then", "else"}
	partValues = []string{"properties", "items", "prefixItems", "additionalProperties"}
)

// inside closes the schemas of the values within.
func (c closed) inside(schema any) {
	s, ok := schema.(object)
	if !ok {
		return
	}
	for _, keyword := range sameValue {
		each(s[keyword], c.inside)
	}
	for _, keyword := range partValues {
		if keyword == "properties" {
			properties, _ := s[keyword].(object)
			for _, p := range properties {
				c.whole(p)
			}
			continue
		}
		each(s[keyword], c.whole)
	}
}

// names says whether a schema names a property, itself or by one that says more about the same value.
func (c closed) names(schema object) bool {
	if properties, _ := schema["properties"].(object); len(properties) > 0 {
		return true
	}
	found := false
	for _, keyword := range sameValue {
		each(schema[keyword], func(s any) {
			if s, ok := s.(object); ok && c.names(s) {
				found = true
			}
		})
	}
	if to, ok := schema["$ref"].(string); ok {
		found = found || c.names((&description{root: c.root}).follow(to).object)
	}
	return found
}

// each calls f with a schema, or with every one of a list.
func each(schemas any, f func(any)) {
	list, ok := schemas.([]any)
	if !ok {
		list = []any{schemas}
	}
	for _, s := range list {
		f(s)
	}
}
