package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Every rule, by what breaks it.
var faulty = []struct{ name, text, want string }{
	{"an empty file", "!", "homeserver.url: must be an http:// or https:// address without a user, a query or a fragment"},
	{"no domain", "!homeserver: {url: 'http://h'}", "homeserver.domain: must be set: the part of user ids after the first colon"},
	{"a domain that is none", "!homeserver: {url: 'http://h', domain: 'a b'}", "homeserver.domain: must be a server name of at most 230 characters, like example.org"},
	{"a domain that is too long", "!homeserver: {url: 'http://h', domain: " + strings.Repeat("a", 231) + "}", "homeserver.domain: must be a server name of at most 230 characters, like example.org"},
	{"another scheme", "!homeserver: {url: 'ftp://h', domain: h}", "homeserver.url: must be an http:// or https:// address without a user, a query or a fragment"},
	{"an unknown setting", "api: {lisen: x}", "lisen: is not a setting (line 3)"},
	{"a list for a text", "api: {listen: [x]}", "a value is a list where text is wanted (line 3)"},
	{"a text for a section", "api: x", "a value is text where a group of settings is wanted (line 3)"},
	{"a text for a number", "workspace_admins: {power_level: high}", "a value is text where a whole number is wanted (line 3)"},
	{"a setting twice", "bots: []\nbots: []", `mapping key "bots" already defined at line 3 (line 4)`},
	{"two documents", "---\nbots: []", "must be one YAML document"},
	{"no YAML", "\t", "found character that cannot start any token (line 3)"},
	{"encryption without a key", "encryption: {enabled: true}", "encryption.pickle_key: must have either file or env"},
	{"a key in two places", "encryption: {enabled: true, pickle_key: {file: a, env: B}}", "encryption.pickle_key: must have either file or env"},
	{"a key that is nowhere", "encryption: {pickle_key: {env: QUESTION_NO_SUCH_THING}}", "encryption.pickle_key: the environment variable is not set, or empty"},
	{"a password in two places", "encryption: {password: {file: a, env: B}}", "encryption.password: must have either file or env"},
	{"another trust", "encryption: {trust: all}", "encryption.trust: must be known or cross-signed"},
	{"another trust in a room", "encryption: {room_trust: {'!a:b': all}}", "encryption.room_trust.!a:b: must be known or cross-signed"},
	{"a room that is none", "encryption: {room_trust: {OPS: known}}", "encryption.room_trust.OPS: must be a code of rooms, a room id or an alias"},
	{"no port to listen on", "appservice: {listen: localhost}", "appservice.listen: must be HOST:PORT with a port up to 65535, like 127.0.0.1:29330"},
	{"a port too high", "api: {listen: ':65536'}", "api.listen: must be HOST:PORT with a port up to 65535, like 127.0.0.1:29330"},
	{"any port for the homeserver", "appservice: {listen: ':0'}", "appservice.listen: must name a port other than 0, which the homeserver can be told of"},
	{"metrics at no address", "metrics: {listen: here}", "metrics.listen: must be HOST:PORT with a port up to 65535, like 127.0.0.1:29330"},
	{"metrics beside the API", "metrics: {listen: '127.0.0.1:29330'}", "metrics.listen: must differ from api.listen and appservice.listen"},
	{"one port for both", "api: {listen: '127.0.0.1:29331'}", "api.listen: must differ from appservice.listen"},
	{"an appservice address with a query", "appservice: {url: 'http://h?x'}", "appservice.url: must be an http:// or https:// address without a user, a query or a fragment"},
	{"an appservice id with a blank", "appservice: {id: 'a b'}", "appservice.id: must be 1 to 64 letters, digits or ._-"},
	{"a bot in capitals", "appservice: {bot: {localpart: Q}}", "appservice.bot.localpart: must be lower-case letters, digits or ._=/+- and not empty"},
	{"a bot too long", "appservice: {bot: {localpart: " + strings.Repeat("q", 243) + "}}", "appservice.bot.localpart: must give a user id of at most 255 bytes"},
	{"a display name too long", "appservice: {bot: {display_name: " + strings.Repeat("ü", 101) + "}}", "appservice.bot.display_name: must be at most 100 characters"},
	{"no registration", "appservice: {registration: ''}", "appservice.registration: must be the path of the registration file"},
	{"a public address that is none", "api: {public_url: here}", "api.public_url: must be an http:// or https:// address without a user, a query or a fragment"},
	{"a server that is none", "auth: {openid: {servers: ['https://example.org']}}", "auth.openid.servers[0]: must be a server name of at most 230 characters, like example.org"},
	{"a server twice", "auth: {openid: {servers: [a.org, b.org, a.org]}}", "auth.openid.servers[2]: must differ from auth.openid.servers[0]"},
	{"a proxy by its name", "api: {trusted_proxies: [127.0.0.1, proxy]}", "api.trusted_proxies[1]: must be a network like 10.1.0.0/16 or an address"},
	{"a pace of signing in that lets nothing", "limits: {sign_in: {burst: 0}}", "limits.sign_in.burst: must be 1 to 60000 where per_minute is not 0"},
	{"an unknown database", "database: {type: mysql}", "database.type: must be sqlite or postgres"},
	{"no file", "database: {path: ''}", "database.path: must be set for type sqlite"},
	{"both databases", "database: {uri: 'postgres://h/d'}", "database.uri: is for type postgres: set database.type, or take away the uri (also QUESTION_DATABASE_URI)"},
	{"no database named", "database: {type: postgres, uri: 'postgres://h'}", "database.uri: must be like postgres://USER:PASSWORD@HOST/DATABASE for type postgres (also by QUESTION_DATABASE_URI)"},
	{"no code", "rooms: [{room: '!a'}]", "rooms[0].code: must be 1 to 40 letters, digits or ._-"},
	{"a code too long", "rooms: [{code: " + strings.Repeat("A", 41) + ", room: '!a'}]", "rooms[0].code: must be 1 to 40 letters, digits or ._-"},
	{"a code twice", "rooms: [{code: A, room: '!a'}, {code: a, room: '!b'}]", "rooms[1].code: must differ from rooms[0].code, also in another case"},
	{"a room twice", "rooms: [{code: A, room: '!a'}, {code: B, room: '!a'}]", "rooms[1].room: must differ from rooms[0].room"},
	{"an alias without a server", "rooms: [{code: A, room: '#a'}]", "rooms[0].room: must be a room id like !abc:example.org or an alias like #ops:example.org"},
	{"a room name too long", "rooms: [{code: A, room: '!a', name: " + strings.Repeat("n", 101) + "}]", "rooms[0].name: must be at most 100 characters"},
	{"no agent id", "agents: [{name: x}]", "agents[0].id: must be 1 to 64 letters, digits or ._-"},
	{"an agent twice", "agents: [{id: a}, {id: b}, {id: a}]", "agents[2].id: must differ from agents[0].id"},
	{"an agent's name too long", "agents: [{id: a, name: " + strings.Repeat("n", 101) + "}]", "agents[0].name: must be at most 100 characters"},
	{"an agent's user without a server", "agents: [{id: a, user_ids: ['@a']}]", "agents[0].user_ids[0]: must be a user id like @alice:example.org of at most 255 bytes"},
	{"the bot as an agent's user", "agents: [{id: a, user_ids: ['@questions:example.org']}]", "agents[0].user_ids[0]: must not be the bot itself"},
	{"the bot as a carrier", "carriers: [{user_id: '@questions:example.org', agent: a}]", "carriers[0].user_id: must not be the bot itself"},
	{"a carrier twice", "carriers: [{user_id: '@c:h', agent: a}, {user_id: '@c:h', agent: b}]", "carriers[1].user_id: must differ from carriers[0].user_id"},
	{"a carrier without an agent", "carriers: [{user_id: '@c:h'}]", "carriers[0].agent: must be 1 to 64 letters, digits or ._-"},
	{"an admin that is no user", "workspace_admins: {users: [alice]}", "workspace_admins.users[0]: must be a user id like @alice:example.org of at most 255 bytes"},
	{"admins of an unknown code", "workspace_admins: {rooms: {OPS: ['@a:h']}}", "workspace_admins.rooms.OPS: must be a code of rooms, a room id or an alias"},
	{"a room admin that is no user", "workspace_admins: {rooms: {'!a': [a]}}", "workspace_admins.rooms.!a[0]: must be a user id like @alice:example.org of at most 255 bytes"},
	{"a board admin that is no user", "workspace_admins: {boards: {b: [a]}}", "workspace_admins.boards.b[0]: must be a user id like @alice:example.org of at most 255 bytes"},
	{"admins of no board", "workspace_admins: {boards: {'': ['@a:h']}}", "workspace_admins.boards: must name each board by its board_id, which is not empty"},
	{"everybody an admin", "workspace_admins: {power_level: 0}", "workspace_admins.power_level: must be 1 to 9007199254740991: everybody has at least 0"},
	{"a pace below none", "limits: {agent: {per_minute: -1}}", "limits.agent.per_minute: must be 1 to 60000, or 0 for no limit"},
	{"a pace too fast", "limits: {person: {per_minute: 60001}}", "limits.person.per_minute: must be 1 to 60000, or 0 for no limit"},
	{"a pace that lets nothing", "limits: {room: {burst: 0}}", "limits.room.burst: must be 1 to 60000 where per_minute is not 0"},
	{"a quota too large", "limits: {room: {pending: 100001}}", "limits.room.pending: must be 1 to 100000, or 0 for no limit"},
	{"part of a pace", "limits: {agent: {per_minute: 0.5}}", "a value is a number where a whole number is wanted (line 3)"},
	{"an agent's pace that lets nothing", "agents: [{id: a, limits: {burst: 0}}]", "agents[0].limits.burst: must be 1 to 60000 where per_minute is not 0"},
	{"an agent's quota below none", "agents: [{id: a, limits: {pending: -1}}]", "agents[0].limits.pending: must be 1 to 100000, or 0 for no limit"},
	{"another way to reply", "replies: {unthreaded: always}", "replies.unthreaded: must be direct or never"},
	{"another way to approve", "approvals: {by_reply: always}", "approvals.by_reply: must be never or complete"},
	{"invites from a room", "join: {from: ['!a:h']}", "join.from[0]: must be a user id like @alice:example.org, a server name like example.org, or *"},
	{"a bot that is no user", "bots: [x]", "bots[0]: must be a user id like @alice:example.org of at most 255 bytes"},
	{"an unknown level", "logging: {min_level: loud}", "logging: a min_level must be trace, debug, info, warn or error"},
	{"an unknown level of a writer", "logging: {writers: [{type: stderr, min_level: loud}]}", "logging: a min_level must be trace, debug, info, warn or error"},
	{"an unknown writer", "logging: {writers: [{type: paper}]}", "logging.writers[0].type: must be stdout, stderr, file, syslog, syslog-cee or journald"},
	{"an unknown format", "logging: {writers: [{type: stdout, format: x}]}", "logging.writers[0].format: must be json, pretty or pretty-colored"},
	{"a log file without a name", "logging: {writers: [{type: file}]}", "logging.writers[0].filename: must be set for a writer of type file"},
}

func TestFaults(t *testing.T) {
	for _, tt := range faulty {
		t.Run(tt.name, func(t *testing.T) {
			text, alone := strings.CutPrefix(tt.text, "!")
			if !alone {
				text = least + text
			}
			_, err := Load(write(t, text), none)
			var faults Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want faults", err)
			}
			for _, f := range faults {
				if f.String() == tt.want {
					return
				}
			}
			t.Errorf("got %q, want %q among them", faults, tt.want)
		})
	}
}

// The file's own faults do not hide the rules'.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Load(write(t, `
homeserver: {url: nowhere, domain: "", spelling: x}
database: {type: mysql}
api: {listen: [1]}
rooms: [{code: "", room: ""}]
`), none)
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 7 {
		t.Errorf("got %d faults, want 7:\n%v", len(faults), err)
	}
}

// Of a file that is no YAML nothing else is said: what it lacks was most likely written, and not read.
func TestBrokenYAMLIsTheOnlyFault(t *testing.T) {
	for _, text := range []string{"homeserver: [\n  url: x\n", "a: b: c\n\t- x", "\x00\xff", least + "\"", "homeserver: {url: x}\n}"} {
		_, err := Load(write(t, text), none)
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 || strings.Contains(err.Error(), "homeserver.") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, good := range []string{"@a:h", "@alice:example.org:8448", "@_irc_x|y:[::1]:8448", "@ü:h"} {
		if !isUser(good) {
			t.Errorf("%s is refused as a user id", good)
		}
	}
	for _, bad := range []string{"", "@", "@:h", "a:h", "@a", "@a:", "@a:h/x", "@a b:h", "@a\n:h", "@" + long + ":h"} {
		if isUser(bad) {
			t.Errorf("%q passes as a user id", bad)
		}
	}
	for _, good := range []string{"!abc:example.org", "!abc", "#ops:example.org"} {
		if !isRoom(good) {
			t.Errorf("%s is refused as a room", good)
		}
	}
	for _, bad := range []string{"", "!", "#ops", "OPS", "!a b", "#:", "!" + long} {
		if isRoom(bad) {
			t.Errorf("%q passes as a room", bad)
		}
	}
}

func ExampleFaults() {
	fmt.Println(Config{}.Validate().(Faults)[1])
	// Output: homeserver.domain: must be set: the part of user ids after the first colon
}
