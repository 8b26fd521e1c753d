package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Secret says where a secret is: in a file or in an environment variable. The configuration itself never holds one.
type Secret struct {
	File string `yaml:"file,omitempty"`
	Env  string `yaml:"env,omitempty"`

	value string // as it was loaded
}

// Value is the secret, once it was loaded.
func (s Secret) Value() string { return s.value }

// given says whether one place is named, and not two.
func (s Secret) given() bool { return (s.File == "") != (s.Env == "") }

// secretSource is where secrets are read from: files relative to a folder, and the environment.
type secretSource struct {
	folder string
	getenv func(string) string
}

// load reads a secret that is given, and says whether there is one.
func (from secretSource) load(k *checker, s *Secret, at string) bool {
	if s.Env != "" {
		s.value = from.getenv(s.Env)
		return k.rule(s.value != "", at, "the environment variable is not set, or empty")
	}
	if !filepath.IsAbs(s.File) {
		s.File = filepath.Join(from.folder, s.File)
	}
	text, err := os.ReadFile(s.File)
	s.value = strings.TrimSpace(string(text))
	return k.rule(err == nil, at, "the file cannot be read") && k.rule(s.value != "", at, "the file is empty")
}
