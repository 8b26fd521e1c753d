package config

import (
	"maps"
	"slices"
)

// Encryption says whether and how the bot takes part in encrypted rooms.
type Encryption struct {
	Enabled bool `yaml:"enabled"`
	// PickleKey encrypts the keys in the database. It must stay what it was when they were made.
	PickleKey Secret `yaml:"pickle_key,omitempty"`
	// Password is the bot's own on the homeserver: some ask for it before they take cross-signing keys.
	Password Secret `yaml:"password,omitempty"`
	// Trust is how well the device must be known that an answer comes from which approves: known or cross-signed.
	Trust string `yaml:"trust"`
	// RoomTrust goes before Trust, by code, room id or alias.
	RoomTrust map[string]string `yaml:"room_trust,omitempty"`
	// Keycaps puts number reactions up in encrypted rooms too; reactions are not encrypted.
	Keycaps bool `yaml:"keycaps"`
}

// Choices of [Encryption.Trust].
const (
	TrustKnown       = "known"
	TrustCrossSigned = "cross-signed"
)

// minPickleKey is how many characters a key has that is as good as random.
const minPickleKey = 20

func (k *checker) encryption(e Encryption, rooms []Room) {
	trust := func(field, value string) {
		k.rule(value == TrustKnown || value == TrustCrossSigned, field, "must be %s or %s", TrustKnown, TrustCrossSigned)
	}
	trust("encryption.trust", e.Trust)
	for _, name := range slices.Sorted(maps.Keys(e.RoomTrust)) {
		at := "encryption.room_trust." + name
		known := slices.ContainsFunc(rooms, func(r Room) bool { return r.Code == name })
		k.rule(known || isRoom(name), at, "must be a code of rooms, a room id or an alias")
		trust(at, e.RoomTrust[name])
	}
	if e.Enabled {
		k.rule((e.PickleKey.File == "") != (e.PickleKey.Env == ""), "encryption.pickle_key", "must have either file or env")
	}
	k.rule(e.Password.File == "" || e.Password.Env == "", "encryption.password", "must have either file or env")
}

func (e *Encryption) loadSecrets(k *checker, from secretSource) {
	if e.PickleKey.given() && from.load(k, &e.PickleKey, "encryption.pickle_key") {
		k.rule(len(e.PickleKey.value) >= minPickleKey, "encryption.pickle_key", "must be at least %d characters: `openssl rand -base64 32` makes one", minPickleKey)
	}
	if e.Password.given() {
		from.load(k, &e.Password, "encryption.password")
	}
}
