package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault is one thing that is wrong: the setting's path, and the rule that it breaks. It never holds the value.
type Fault struct {
	Field string // like rooms[1].code; "" for the file as a whole
	Rule  string

	syntax bool // the file is no YAML, so that nothing was read of it
}

func (f Fault) String() string {
	if f.Field == "" {
		return f.Rule
	}
	return f.Field + ": " + f.Rule
}

// Faults is all that is wrong at once.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Validate gives a [Faults] with everything that is wrong, or nil.
func (c Config) Validate() error {
	if faults := c.check(); len(faults) > 0 {
		return faults
	}
	return nil
}

// checker collects faults.
type checker struct {
	faults Faults
	bot    string
	domain string
}

func (c Config) check() Faults {
	k := &checker{bot: c.BotID(), domain: c.Homeserver.Domain}
	k.homeserver(c.Homeserver)
	k.appservice(c.Appservice, c.Homeserver)
	k.api(c.API, c.Appservice)
	k.openID(c.Auth.OpenID)
	k.metrics(c.Metrics, c.API, c.Appservice)
	k.database(c.Database)
	k.rooms(c.Rooms)
	k.agents(c.Agents)
	k.carriers(c.Carriers)
	k.admins(c.WorkspaceAdmins, c.Rooms)
	k.rule(c.Replies.Unthreaded == UnthreadedDirect || c.Replies.Unthreaded == UnthreadedNever,
		"replies.unthreaded", "must be direct or never")
	k.rule(c.Approvals.ByReply == ByReplyNever || c.Approvals.ByReply == ByReplyComplete,
		"approvals.by_reply", "must be never or complete")
	k.encryption(c.Encryption, c.Rooms)
	k.join(c.Join)
	k.users("bots", c.Bots)
	k.limits(c.Limits, c.Agents)
	k.webhooks(c.Webhooks, c.Rooms)
	k.egress(c.Egress)
	k.logging(c.Logging)
	return k.faults
}

// rule records a fault unless it is kept, and says whether it is.
func (k *checker) rule(kept bool, field, rule string, args ...any) bool {
	if !kept {
		k.faults = append(k.faults, Fault{Field: field, Rule: fmt.Sprintf(rule, args...)})
	}
	return kept
}

func (k *checker) homeserver(h Homeserver) {
	k.address("homeserver.url", h.URL)
	if k.rule(h.Domain != "", "homeserver.domain", "must be set: the part of user ids after the first colon") {
		k.rule(isServerName(h.Domain), "homeserver.domain", "must be a server name of at most %d characters, like example.org", maxServerName)
	}
}

func (k *checker) appservice(a Appservice, h Homeserver) {
	if port, ok := k.listen("appservice.listen", a.Listen); ok {
		k.rule(port != 0, "appservice.listen", "must name a port other than 0, which the homeserver can be told of")
	}
	k.address("appservice.url", a.URL)
	k.rule(isWord(a.ID, maxID), "appservice.id", "must be 1 to %d letters, digits or ._-", maxID)
	k.rule(isLocalpart(a.Bot.Localpart), "appservice.bot.localpart", "must be lower-case letters, digits or ._=/+- and not empty")
	k.rule(len("@"+a.Bot.Localpart+":"+h.Domain) <= maxMatrixID, "appservice.bot.localpart",
		"must give a user id of at most %d bytes", maxMatrixID)
	k.text("appservice.bot.display_name", a.Bot.DisplayName, maxName)
	k.rule(a.Registration != "", "appservice.registration", "must be the path of the registration file")
}

func (k *checker) api(api API, a Appservice) {
	port, ok := k.listen("api.listen", api.Listen)
	k.rule(!ok || port == 0 || api.Listen != a.Listen, "api.listen", "must differ from appservice.listen")
	k.networks("api.trusted_proxies", api.TrustedProxies)
	if api.PublicURL != "" {
		k.address("api.public_url", api.PublicURL)
	}
}

func (k *checker) metrics(m Metrics, api API, a Appservice) {
	if m.Listen == "" {
		return
	}
	port, ok := k.listen("metrics.listen", m.Listen)
	k.rule(!ok || port == 0 || m.Listen != a.Listen && m.Listen != api.Listen, "metrics.listen",
		"must differ from api.listen and appservice.listen")
}

func (k *checker) database(d Database) {
	switch d.Type {
	case SQLite:
		k.rule(d.Path != "", "database.path", "must be set for type sqlite")
		k.rule(d.URI == "", "database.uri", "is for type postgres: set database.type, or take away the uri (also %s)", EnvDatabaseURI)
	case Postgres:
		u, err := url.Parse(d.URI)
		k.rule(err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && len(u.Path) > 1, "database.uri",
			"must be like postgres://USER:PASSWORD@HOST/DATABASE for type postgres (also by %s)", EnvDatabaseURI)
	default:
		k.rule(false, "database.type", "must be sqlite or postgres")
	}
}

func (k *checker) rooms(rooms []Room) {
	codes, ids := map[string]int{}, map[string]int{}
	for i, r := range rooms {
		at := fmt.Sprintf("rooms[%d]", i)
		if k.rule(isWord(r.Code, maxCode), at+".code", "must be 1 to %d letters, digits or ._-", maxCode) {
			k.unique(codes, strings.ToLower(r.Code), i, at+".code", "rooms[%d].code, also in another case")
		}
		if k.rule(isRoom(r.Room), at+".room", "must be a room id like !abc:example.org or an alias like #ops:example.org") {
			k.unique(ids, r.Room, i, at+".room", "rooms[%d].room")
		}
		k.text(at+".name", r.Name, maxName)
	}
}

func (k *checker) agents(agents []Agent) {
	ids := map[string]int{}
	for i, a := range agents {
		at := fmt.Sprintf("agents[%d]", i)
		if k.rule(isWord(a.ID, maxID), at+".id", "must be 1 to %d letters, digits or ._-", maxID) {
			k.unique(ids, a.ID, i, at+".id", "agents[%d].id")
		}
		k.text(at+".name", a.Name, maxName)
		k.users(at+".user_ids", a.UserIDs)
	}
}

func (k *checker) carriers(carriers []Carrier) {
	ids := map[string]int{}
	for i, c := range carriers {
		at := fmt.Sprintf("carriers[%d]", i)
		if k.user(at+".user_id", c.UserID) {
			k.unique(ids, c.UserID, i, at+".user_id", "carriers[%d].user_id")
		}
		k.rule(isWord(c.Agent, maxID), at+".agent", "must be 1 to %d letters, digits or ._-", maxID)
	}
}

func (k *checker) admins(a WorkspaceAdmins, rooms []Room) {
	k.users("workspace_admins.users", a.Users)
	for _, name := range slices.Sorted(maps.Keys(a.Rooms)) {
		at := "workspace_admins.rooms." + name
		known := slices.ContainsFunc(rooms, func(r Room) bool { return r.Code == name })
		k.rule(known || isRoom(name), at, "must be a code of rooms, a room id or an alias")
		k.users(at, a.Rooms[name])
	}
	for _, board := range slices.Sorted(maps.Keys(a.Boards)) {
		k.rule(board != "", "workspace_admins.boards", "must name each board by its board_id, which is not empty")
		k.users("workspace_admins.boards."+board, a.Boards[board])
	}
	k.rule(a.PowerLevel == nil || *a.PowerLevel >= 1 && *a.PowerLevel <= maxLevel, "workspace_admins.power_level",
		"must be 1 to %d: everybody has at least 0", maxLevel)
}

func (k *checker) join(j Join) {
	for i, from := range j.From {
		k.rule(from == Everybody || isUser(from) || isServerName(from), fmt.Sprintf("join.from[%d]", i),
			"must be a user id like @alice:example.org, a server name like example.org, or *")
	}
}

func (k *checker) users(field string, ids []string) {
	for i, id := range ids {
		k.user(fmt.Sprintf("%s[%d]", field, i), id)
	}
}

// user demands a user id other than the bot's, which is none of these anyway.
func (k *checker) user(field, id string) bool {
	return k.rule(isUser(id), field, "must be a user id like @alice:example.org of at most %d bytes", maxMatrixID) &&
		k.rule(id != k.bot, field, "must not be the bot itself")
}

func (k *checker) unique(seen map[string]int, value string, i int, field, other string) {
	first, twice := seen[value]
	if !twice {
		seen[value] = i
	}
	k.rule(!twice, field, "must differ from "+other, first)
}

func (k *checker) text(field, value string, limit int) {
	k.rule(utf8.RuneCountInString(value) <= limit, field, "must be at most %d characters", limit)
}

func (k *checker) address(field, value string) {
	u, err := url.Parse(value)
	good := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
	k.rule(good, field, "must be an http:// or https:// address without a user, a query or a fragment")
}

func (k *checker) listen(field, value string) (port uint64, ok bool) {
	_, text, err := net.SplitHostPort(value)
	if err == nil {
		port, err = strconv.ParseUint(text, 10, 16)
	}
	return port, k.rule(err == nil, field, "must be HOST:PORT with a port up to 65535, like 127.0.0.1:29330")
}
