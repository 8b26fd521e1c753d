// Package config is what an operator sets: defaults, over them one YAML file, over that the environment for secrets.
package config

import (
	"go.mau.fi/zeroconfig"
)

// Config is the whole configuration. config.example.yaml shows every field of it.
type Config struct {
	Homeserver      Homeserver        `yaml:"homeserver"`
	Appservice      Appservice        `yaml:"appservice"`
	API             API               `yaml:"api"`
	Auth            Auth              `yaml:"auth"`
	Metrics         Metrics           `yaml:"metrics"`
	Database        Database          `yaml:"database"`
	Rooms           []Room            `yaml:"rooms,omitempty"`
	Agents          []Agent           `yaml:"agents,omitempty"`
	Carriers        []Carrier         `yaml:"carriers,omitempty"`
	WorkspaceAdmins WorkspaceAdmins   `yaml:"workspace_admins,omitempty"`
	Replies         Replies           `yaml:"replies"`
	Approvals       Approvals         `yaml:"approvals"`
	Encryption      Encryption        `yaml:"encryption"`
	Join            Join              `yaml:"join"`
	Limits          Limits            `yaml:"limits"`
	Bots            []string          `yaml:"bots,omitempty"` // user ids of bots and relays, which never answer
	Webhooks        []Webhook         `yaml:"webhooks,omitempty"`
	Egress          Egress            `yaml:"egress,omitempty"`
	Audit           Audit             `yaml:"audit,omitempty"`
	Logging         zeroconfig.Config `yaml:"logging"`

	// The tokens of the environment, which [Config.LoadRegistration] puts in place of those of the file.
	asToken, hsToken string
}

// Homeserver is the Matrix homeserver that the bridge is registered on.
type Homeserver struct {
	URL    string `yaml:"url"`    // of its client API, like http://127.0.0.1:8008
	Domain string `yaml:"domain"` // the part of its user ids after the first colon
}

// Appservice is the side that the homeserver talks to.
type Appservice struct {
	Listen       string `yaml:"listen"` // address to listen on, host:port
	URL          string `yaml:"url"`    // where the homeserver reaches Listen; it is written into the registration
	ID           string `yaml:"id"`     // of the registration, unique on the homeserver
	Bot          Bot    `yaml:"bot"`
	Registration string `yaml:"registration"` // path of the registration file
}

// Bot is the one account that the bridge speaks through.
type Bot struct {
	Localpart   string `yaml:"localpart"`
	DisplayName string `yaml:"display_name"`
}

// API is the side that askers talk to.
type API struct {
	Listen         string    `yaml:"listen"`                    // address to listen on, host:port
	PublicURL      string    `yaml:"public_url,omitempty"`      // where askers reach it; "" for http://LISTEN
	TrustedProxies []Network `yaml:"trusted_proxies,omitempty"` // whose X-Forwarded-For is believed
}

// Metrics is the side that a monitoring system reads.
type Metrics struct {
	Listen string `yaml:"listen"` // address to listen on, host:port; "" for not at all
}

// Kinds of database.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Database is where everything is kept.
type Database struct {
	Type string `yaml:"type"`           // sqlite or postgres
	Path string `yaml:"path,omitempty"` // of the SQLite file
	URI  string `yaml:"uri,omitempty"`  // of the PostgreSQL database; QUESTION_DATABASE_URI goes before it
}

// Room gives a room a short code that askers may use in place of its id.
type Room struct {
	Code string `yaml:"code"`
	Room string `yaml:"room"`           // a room id or an alias
	Name string `yaml:"name,omitempty"` // the one that the room has in Matrix if empty
}

// Agent says how an asker is named to people, and which accounts are the asker itself.
type Agent struct {
	ID      string      `yaml:"id"`
	Name    string      `yaml:"name,omitempty"`     // the id if empty
	UserIDs []string    `yaml:"user_ids,omitempty"` // accounts that count as the asker, which never answers itself
	Limits  *AgentLimit `yaml:"limits,omitempty"`
}

// Carrier is an account that posts question.v2 events itself; the bridge adopts them.
type Carrier struct {
	UserID          string `yaml:"user_id"`
	Agent           string `yaml:"agent"` // to whom the adopted questions belong
	FreeTextReplies bool   `yaml:"free_text_replies,omitempty"`
}

// WorkspaceAdmins says who may choose options that require a workspace admin. Empty allows nobody.
type WorkspaceAdmins struct {
	Users      []string            `yaml:"users,omitempty"`       // everywhere
	Rooms      map[string][]string `yaml:"rooms,omitempty"`       // by code, room id or alias
	Boards     map[string][]string `yaml:"boards,omitempty"`      // by the question's board_id
	PowerLevel *int                `yaml:"power_level,omitempty"` // in the room, beside the lists; nil for the lists alone
}

// Choices of [Replies].
const (
	UnthreadedDirect = "direct"
	UnthreadedNever  = "never"
)

// Replies says what counts as an answer.
type Replies struct {
	// Unthreaded says whether a message without any relation may answer: direct, in a room with one other member and one
	// pending question; or never.
	Unthreaded string `yaml:"unthreaded"`
}

// Choices of [Approvals].
const (
	ByReplyNever    = "never"
	ByReplyComplete = "complete"
)

// Approvals says how what a question's subject does may be approved.
type Approvals struct {
	// ByReply says whether replies and reactions may do more with a subject than decline it: never; or complete, where the
	// bridge posted a message that shows all of it.
	ByReply string `yaml:"by_reply"`
}

// Everybody in [Join] stands for every user of every server.
const Everybody = "*"

// Join says whose invites the bot accepts.
type Join struct {
	From []string `yaml:"from"` // user ids and server names; the own server if absent, nobody if empty
}

// Audit says where the audit log goes.
type Audit struct {
	File string `yaml:"file,omitempty"` // its path, or stdout or stderr; "" for none
}

// Streams that may stand in place of a path in [Audit].
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Default gives every setting that has a default. What it leaves empty must be set, or means "none".
func Default() Config {
	return Config{
		Appservice: Appservice{
			Listen:       "127.0.0.1:29331",
			URL:          "http://127.0.0.1:29331",
			ID:           "question-bridge",
			Bot:          Bot{Localpart: "questions", DisplayName: "Questions"},
			Registration: "registration.yaml",
		},
		API:        API{Listen: "127.0.0.1:29330"},
		Database:   Database{Type: SQLite, Path: "question-bridge.db"},
		Replies:    Replies{Unthreaded: UnthreadedDirect},
		Approvals:  Approvals{ByReply: ByReplyNever},
		Encryption: Encryption{Trust: TrustKnown},
		Limits:     defaultLimits(),
		Logging:    defaultLogging(),
	}
}

// BotID is the bot's whole user id.
func (c Config) BotID() string { return "@" + c.Appservice.Bot.Localpart + ":" + c.Homeserver.Domain }

// APIURL is where askers reach the API.
func (c Config) APIURL() string {
	if c.API.PublicURL != "" {
		return c.API.PublicURL
	}
	return "http://" + c.API.Listen
}
