package matrix

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"maunium.net/go/mautrix/appservice"
)

// NewRegistration makes the registration of one bridge: fresh random tokens, and the bot itself as its only namespace.
// rate_limited is off, because a held-up answer is a lost one.
func NewRegistration(id, address, localpart, serverName string) *appservice.Registration {
	reg := appservice.CreateRegistration()
	limited := false
	reg.ID, reg.URL, reg.SenderLocalpart, reg.RateLimited = id, address, localpart, &limited
	reg.Namespaces.UserIDs = appservice.NamespaceList{{
		Regex: "^" + regexp.QuoteMeta(userID(localpart, serverName)) + "$", Exclusive: true,
	}}
	return reg
}

// File is what a registration file says, as far as the channel needs it.
type File struct {
	ID, URL, ASToken, HSToken, SenderLocalpart string
	RateLimited                                bool
	Users                                      []Namespace
}

// Namespace is one pattern of user ids.
type Namespace struct {
	Regex     string
	Exclusive bool
}

// Registration makes the registration that a file describes; [New] checks it.
func (f File) Registration() *appservice.Registration {
	limited := f.RateLimited
	reg := &appservice.Registration{
		ID: f.ID, URL: f.URL, AppToken: f.ASToken, ServerToken: f.HSToken, SenderLocalpart: f.SenderLocalpart, RateLimited: &limited,
	}
	for _, ns := range f.Users {
		reg.Namespaces.UserIDs = append(reg.Namespaces.UserIDs, appservice.Namespace{Regex: ns.Regex, Exclusive: ns.Exclusive})
	}
	return reg
}

func userID(localpart, serverName string) string { return "@" + localpart + ":" + serverName }

// CheckRegistration finds everything wrong with a registration for this server name: what is missing, tokens that are
// the same, and namespaces of more than the bot itself, in which the homeserver would hide people from us.
func CheckRegistration(reg *appservice.Registration, serverName string) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("registration: "+format, args...))
	}
	for name, value := range map[string]string{
		"id": reg.ID, "as_token": reg.AppToken, "hs_token": reg.ServerToken, "sender_localpart": reg.SenderLocalpart,
	} {
		if strings.TrimSpace(value) == "" {
			fault("%s is missing", name)
		}
	}
	if reg.AppToken != "" && reg.AppToken == reg.ServerToken {
		fault("as_token and hs_token are the same")
	}
	if len(reg.Namespaces.RoomAliases) > 0 || len(reg.Namespaces.RoomIDs) > 0 {
		fault("namespaces: only the bot's own user id belongs in there")
	}
	bot := userID(reg.SenderLocalpart, serverName)
	for _, ns := range reg.Namespaces.UserIDs {
		switch pattern, err := regexp.Compile(ns.Regex); {
		case err != nil:
			fault("namespaces: %q is no regular expression", ns.Regex)
		case !pattern.MatchString(bot):
			fault("namespaces: %q does not match the bot %s", ns.Regex, bot)
		case !ns.Exclusive:
			fault("namespaces: the bot's own namespace must be exclusive")
		case pattern.MatchString("@somebody-else:"+serverName) || pattern.MatchString(bot+".elsewhere"):
			fault("namespaces: %q matches more than the bot %s", ns.Regex, bot)
		}
	}
	return errors.Join(faults...)
}
