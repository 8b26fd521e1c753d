package dialect

import (
	"bytes"
	"encoding/json"

	"superpipeline.dev/question-bridge/bridge"
)

// Forget takes a person out of a question, a response or a webhook's event as it was sent, as [bridge.Question.Forget]
// does. changed is false where they are not in it.
func Forget(document []byte, who bridge.UserID) (cleared []byte, changed bool) {
	var doc map[string]any
	if decodeNumbers(document, &doc) != nil {
		return document, false
	}
	changed = forgetIn(doc, who, "target_user_id")
	if answer, ok := doc["answer"].(map[string]any); ok {
		changed = forgetResponder(answer, who) || changed
	}
	if grant, ok := doc["grant"].(map[string]any); ok {
		changed = forgetIn(grant, who, "by", "revoked_by") || changed
	}
	if next, ok := doc["next_query"].(map[string]any); ok {
		if subject, ok := next["subject"].(map[string]any); ok {
			changed = forgetIn(subject, who, "id") || changed
		}
	}
	if !changed {
		return document, false
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(doc) != nil {
		return document, false // what was decoded can be encoded
	}
	if bytes.HasSuffix(document, []byte("\n")) {
		return out.Bytes(), true
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true
}

func forgetResponder(answer map[string]any, who bridge.UserID) bool {
	by, ok := answer["responder"].(map[string]any)
	if !ok || by["id"] != string(who) {
		return false
	}
	answer["responder"] = map[string]any{"id": string(bridge.Forgotten), "display_name": nil}
	delete(answer, "event_id")
	delete(answer, "certificate")
	if grant, ok := answer["grant"].(map[string]any); ok {
		forgetIn(grant, who, "by")
	}
	erase(answer, "text", "comment", "input")
	items, _ := answer["items"].([]any)
	for _, item := range items {
		if item, ok := item.(map[string]any); ok {
			erase(item, "text")
		}
	}
	return true
}

// forgetIn takes a person out of properties that hold one id each.
func forgetIn(object map[string]any, who bridge.UserID, names ...string) (changed bool) {
	for _, name := range names {
		if object[name] == string(who) {
			object[name], changed = string(bridge.Forgotten), true
		}
	}
	return changed
}

func erase(object map[string]any, names ...string) {
	for _, name := range names {
		if object[name] != nil {
			object[name] = bridge.Erased
		}
	}
}
