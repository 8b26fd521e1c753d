package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Naming gives the settings whose value is exactly this, as a user id that is listed somewhere: like
// workspace_admins.users[0].
func (c Config) Naming(value string) []string {
	var doc yaml.Node
	if doc.Encode(c) != nil {
		return nil // what was loaded can be written
	}
	return naming(&doc, "", value)
}

func naming(n *yaml.Node, at, value string) (found []string) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Value == value {
			found = append(found, at)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			found = append(found, naming(item, fmt.Sprintf("%s[%d]", at, i), value)...)
		}
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if at != "" {
				name = at + "." + name
			}
			found = append(found, naming(n.Content[i+1], name, value)...)
		}
	}
	return found
}
