package config

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Webhook is one endpoint that is told how the questions of its rooms ended.
type Webhook struct {
	Name    string   `yaml:"name"`             // unique; operators and the database know the endpoint by it
	Rooms   []string `yaml:"rooms"`            // codes, room ids or aliases; "*" for every room
	URL     string   `yaml:"url"`              // where the events are posted
	Secrets []Secret `yaml:"secrets"`          // one, or two while they are being changed: each event is signed with both
	Events  []string `yaml:"events,omitempty"` // which events, by their exact names; if empty, those that tell how questions end
}

// EveryRoom in [Webhook.Rooms] stands for all of them.
const EveryRoom = "*"

// WebhookEvents are the events that there are: the first three tell how questions end, and are The Question Protocol's.
// Others come only to endpoints that name them.
var WebhookEvents = []string{
	"question.answered", "question.expired", "question.cancelled",
	"question.next_query", "candidate.answered", "grant.revoked",
	"gate.approved", "gate.declined", "gate.expired", "gate.answered", "gate.withheld",
}

const (
	secretPrefix = "whsec_"
	minSecret    = 24 // bytes, of the Standard Webhooks specification
	maxSecret    = 64
	maxEndpoint  = 64
	maxSecrets   = 2
)

func (k *checker) webhooks(hooks []Webhook, rooms []Room) {
	names := map[string]int{}
	for i, w := range hooks {
		at := fmt.Sprintf("webhooks[%d]", i)
		if k.rule(isWord(w.Name, maxEndpoint), at+".name", "must be 1 to %d letters, digits or ._-", maxEndpoint) {
			k.unique(names, w.Name, i, at+".name", "webhooks[%d].name")
		}
		k.rule(len(w.Rooms) > 0, at+".rooms", "must name at least one room, or * for every room")
		for j, name := range w.Rooms {
			known := slices.ContainsFunc(rooms, func(r Room) bool { return r.Code == name })
			k.rule(known || name == EveryRoom || isRoom(name), fmt.Sprintf("%s.rooms[%d]", at, j), "must be a code of rooms, a room id, an alias, or *")
		}
		u, err := url.Parse(w.URL)
		k.rule(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == "", at+".url",
			"must be an https:// address (http:// only where egress.allow lists the host) without a user or a fragment")
		k.rule(len(w.Secrets) >= 1 && len(w.Secrets) <= maxSecrets, at+".secrets", "must be one, or two while they are being changed")
		for j, s := range w.Secrets {
			k.rule((s.File == "") != (s.Env == ""), fmt.Sprintf("%s.secrets[%d]", at, j), "must have either file or env")
		}
		for j, event := range w.Events {
			k.rule(slices.Contains(WebhookEvents, event), fmt.Sprintf("%s.events[%d]", at, j), "must be one of %s", strings.Join(WebhookEvents, ", "))
		}
	}
}

// loadSecrets reads the secrets and the certificates, files relative to folder. The faults never hold a secret.
func (c *Config) loadSecrets(folder string, getenv func(string) string) Faults {
	k, from := &checker{}, secretSource{folder, getenv}
	for i := range c.Webhooks {
		seen := map[string]bool{}
		for j := range c.Webhooks[i].Secrets {
			s, at := &c.Webhooks[i].Secrets[j], fmt.Sprintf("webhooks[%d].secrets[%d]", i, j)
			if !s.given() || !from.load(k, s, at) {
				continue
			}
			k.rule(isSecret(s.value), at, "must be %s and %d to %d bytes in Base64: `questiond webhook secret` makes one", secretPrefix, minSecret, maxSecret)
			k.rule(!seen[s.value], at, "must differ from the other one")
			seen[s.value] = true
		}
	}
	c.Encryption.loadSecrets(k, from)
	k.authorities(c.Egress, folder)
	return k.faults
}

func isSecret(s string) bool {
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return ok && err == nil && len(key) >= minSecret && len(key) <= maxSecret && !strings.ContainsAny(encoded, "\r\n")
}
