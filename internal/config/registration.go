package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Registration is the file that tells the homeserver about the bridge (Application Service API, "Registration"). It
// holds both secrets between the two.
type Registration struct {
	ID              string     `yaml:"id"`
	URL             string     `yaml:"url"`
	ASToken         string     `yaml:"as_token"` // we show it to the homeserver
	HSToken         string     `yaml:"hs_token"` // the homeserver shows it to us
	SenderLocalpart string     `yaml:"sender_localpart"`
	RateLimited     bool       `yaml:"rate_limited"`
	Namespaces      Namespaces `yaml:"namespaces"`
	// What follows asks for what encrypted rooms need, of homeservers that have it: messages between devices (MSC 2409), whose
	// devices changed (MSC 3202), and a device without a login (MSC 4190). Others pass it over.
	Ephemeral     bool `yaml:"receive_ephemeral,omitempty"`
	PushEphemeral bool `yaml:"de.sorunome.msc2409.push_ephemeral,omitempty"`
	DeviceNews    bool `yaml:"org.matrix.msc3202,omitempty"`
	OwnDevices    bool `yaml:"io.element.msc4190,omitempty"`
}

// Namespaces are the ids that belong to the bridge: its bot, and nothing else.
type Namespaces struct {
	Users   []Namespace `yaml:"users"`
	Aliases []Namespace `yaml:"aliases"`
	Rooms   []Namespace `yaml:"rooms"`
}

// Namespace is one pattern of ids.
type Namespace struct {
	Exclusive bool   `yaml:"exclusive"`
	Regex     string `yaml:"regex"`
}

// NewRegistration makes the registration that belongs to the configuration, with fresh tokens.
func (c Config) NewRegistration() Registration {
	return c.registration(newToken(), newToken())
}

func (c Config) registration(asToken, hsToken string) Registration {
	sealed := c.Encryption.Enabled
	return Registration{
		ID:              c.Appservice.ID,
		URL:             c.Appservice.URL,
		ASToken:         asToken,
		HSToken:         hsToken,
		SenderLocalpart: c.Appservice.Bot.Localpart,
		Namespaces: Namespaces{
			Users:   []Namespace{{Exclusive: true, Regex: "^" + regexp.QuoteMeta(c.BotID()) + "$"}},
			Aliases: []Namespace{},
			Rooms:   []Namespace{},
		},
		Ephemeral: sealed, PushEphemeral: sealed, DeviceNews: sealed, OwnDevices: sealed,
	}
}

// newToken gives 52 characters that hold 260 random bits.
func newToken() string { return rand.Text() + rand.Text() }

const registrationHead = `The registration of question-bridge, made by ` + "`questiond registration`" + ` from its configuration.
The homeserver needs it too, and a restart. It holds secrets: keep it from other eyes.`

// YAML gives the file's content.
func (r Registration) YAML() ([]byte, error) {
	data, err := yaml.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode registration: %w", err)
	}
	return append([]byte(comment(registrationHead)), data...), nil
}

// Save writes the file for its owner alone. A file that exists is an error that wraps [fs.ErrExist], unless replace.
func (r Registration) Save(path string, replace bool) error {
	data, err := r.YAML()
	if err != nil {
		return err
	}
	if replace {
		err = writeFile(path, data)
	} else {
		err = writeNewFile(path, data)
	}
	if err != nil {
		return fmt.Errorf("write registration: %w", err)
	}
	return nil
}

func writeNewFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path) // half a registration is worse than none
	}
	return err
}

// ReadRegistration reads a registration file, whatever it belongs to.
func ReadRegistration(path string) (Registration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Registration{}, fmt.Errorf("read registration: %w", err)
	}
	var r Registration
	if err := yaml.Unmarshal(data, &r); err != nil { // other programs' extra fields do not matter
		return Registration{}, fmt.Errorf("read registration: %w", yamlFaults(err))
	}
	return r, nil
}

// LoadRegistration reads the configuration's registration file, with the tokens of the environment in place of its own.
// With both tokens in the environment there need be no file. The error is a [Faults] with everything that does not fit
// the configuration, unless the file cannot be read.
func (c Config) LoadRegistration() (Registration, error) {
	r, err := ReadRegistration(c.Appservice.Registration)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.asToken != "" && c.hsToken != "":
		r = c.registration("", "")
	case errors.Is(err, fs.ErrNotExist):
		return Registration{}, fmt.Errorf("%w; `questiond registration` makes it", err)
	case err != nil:
		return Registration{}, err
	}
	if c.asToken != "" {
		r.ASToken = c.asToken
	}
	if c.hsToken != "" {
		r.HSToken = c.hsToken
	}
	if faults := c.checkRegistration(r); len(faults) > 0 {
		return Registration{}, faults
	}
	return r, nil
}

const minToken = 32

var token = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]+$`)

// checkRegistration compares the file with the configuration: they part when one of them is edited alone.
func (c Config) checkRegistration(r Registration) Faults {
	k := &checker{}
	const differs = "must equal %s: run `questiond registration --force`, and give the new file to the homeserver"
	k.rule(r.ID == c.Appservice.ID, "registration: id", differs, "appservice.id")
	k.rule(r.SenderLocalpart == c.Appservice.Bot.Localpart, "registration: sender_localpart", differs, "appservice.bot.localpart")
	k.rule(r.URL == c.Appservice.URL, "registration: url", differs, "appservice.url")
	for _, t := range []struct{ name, value, variable string }{{"as_token", r.ASToken, EnvASToken}, {"hs_token", r.HSToken, EnvHSToken}} {
		k.rule(len(t.value) >= minToken && token.MatchString(t.value), "registration: "+t.name,
			"must be at least %d letters, digits or ._~+/=- (also by %s)", minToken, t.variable)
	}
	k.rule(r.ASToken == "" || r.ASToken != r.HSToken, "registration: hs_token", "must differ from as_token")
	return k.faults
}
