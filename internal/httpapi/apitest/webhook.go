package apitest

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Webhook says in what a request to a webhook's endpoint is not as the description has it.
func Webhook(header http.Header, body []byte) error {
	d := described()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	event, _ := tree.(object)["event"].(string)
	operation, ok := d.get(at{object: d.root}, "webhooks", event, "post")
	if !ok {
		return fmt.Errorf("the event %q is not described", event)
	}
	for _, p := range operation.object["parameters"].([]any) {
		parameter := d.follow(p.(object)["$ref"].(string))
		name := parameter.object["name"].(string)
		if err := d.validate(at{pointer: parameter.pointer + pointer("schema")}, header.Get(name)); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	return d.validate(at{pointer: operation.pointer + pointer("requestBody", "content", "application/json", "schema")}, tree)
}
