package config

import (
	"regexp"
	"slices"
	"strings"
)

// Limits of settings. Those of Matrix count bytes, the others code points.
const (
	maxMatrixID   = 255
	maxServerName = 230
	maxCode       = 40
	maxID         = 64
	maxName       = 100
	maxLevel      = 1<<53 - 1
)

var (
	word       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	localpart  = regexp.MustCompile(`^[a-z0-9._=/+-]+$`)
	serverName = regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
)

// isWord accepts what may stand in a path, in a command line and in a table without quotes.
func isWord(s string, limit int) bool { return len(s) <= limit && word.MatchString(s) }

// IsAgentID says whether an agent may be called so.
func IsAgentID(s string) bool { return isWord(s, maxID) }

// IsUserID says whether s is the id of a Matrix user.
func IsUserID(s string) bool { return isUser(s) }

// IsMachine says whether a user is configured as one that never answers: our own bot, another bot or a carrier.
func (c Config) IsMachine(user string) bool {
	carries := func(carrier Carrier) bool { return carrier.UserID == user }
	return user == c.BotID() || slices.Contains(c.Bots, user) || slices.ContainsFunc(c.Carriers, carries)
}

// IsRoomName says whether s may name a room: by a code of the configuration, a room id or an alias.
func (c Config) IsRoomName(s string) bool {
	for _, r := range c.Rooms {
		if r.Code == s {
			return true
		}
	}
	return isRoom(s)
}

func isLocalpart(s string) bool { return localpart.MatchString(s) }

func isServerName(s string) bool { return len(s) <= maxServerName && serverName.MatchString(s) }

// isUser is lenient about the localpart: accounts with historical ids exist.
func isUser(s string) bool {
	name, domain, ok := strings.Cut(s, ":")
	return ok && len(s) <= maxMatrixID && len(name) > 1 && name[0] == '@' && plain(name) && isServerName(domain)
}

// isRoom takes any room id: those of newer room versions have no server name.
func isRoom(s string) bool {
	if len(s) < 2 || len(s) > maxMatrixID || !plain(s) {
		return false
	}
	_, domain, ok := strings.Cut(s, ":")
	return s[0] == '!' || s[0] == '#' && ok && isServerName(domain)
}

// plain refuses white space and control characters.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
