package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The environment variables that hold secrets; a variable that is set and not empty goes before the file.
const (
	EnvDatabaseURI = "QUESTION_DATABASE_URI"
	EnvASToken     = "QUESTION_AS_TOKEN"
	EnvHSToken     = "QUESTION_HS_TOKEN"
)

// Load reads the file at path, takes secrets from the environment, and validates. Paths in the file are relative to its
// folder, and absolute afterwards. The error is a [Faults] with all that is wrong, unless the file cannot be read.
func Load(path string, getenv func(string) string) (Config, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("read configuration: %w; config.example.yaml is one to begin with, and -c names another", err)
	}
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	c, faults := parse(data)
	if slices.ContainsFunc(faults, func(f Fault) bool { return f.syntax }) {
		return Config{}, faults // every rule about what was not read would be broken too
	}
	for variable, setting := range map[string]*string{
		EnvDatabaseURI: &c.Database.URI, EnvASToken: &c.asToken, EnvHSToken: &c.hsToken,
	} {
		if value := getenv(variable); value != "" {
			*setting = value
		}
	}
	for _, servers := range []*[]string{&c.Join.From, &c.Auth.OpenID.Servers} {
		if *servers == nil && c.Homeserver.Domain != "" {
			*servers = []string{c.Homeserver.Domain}
		}
	}
	faults = append(faults, c.check()...)
	if faults = append(faults, c.loadSecrets(folder, getenv)...); len(faults) > 0 {
		return Config{}, faults
	}
	c.resolve(folder)
	return c, nil
}

// parse reads one YAML document over the defaults, and keeps what could be read beside the faults.
func parse(data []byte) (Config, Faults) {
	c := Default()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	err := decoder.Decode(&c)
	if errors.Is(err, io.EOF) { // an empty file
		return c, nil
	}
	faults := yamlFaults(err)
	if err == nil && !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) {
		faults = append(faults, Fault{Rule: "must be one YAML document"})
	}
	return c, faults
}

var (
	unknownField = regexp.MustCompile(`^(?:line (\d+): )?field (\S+) not found in type \S+$`)
	wrongKind    = regexp.MustCompile("^(?:line (\\d+): )?cannot unmarshal (\\S+)(?: `[^`]*`)? into (\\S+)$")
	atLine       = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)
)

// yamlFaults words the decoder's errors without Go's types, and without values: one of them may be a secret.
func yamlFaults(err error) Faults {
	if err == nil {
		return nil
	}
	messages := []string{err.Error()}
	var mistyped *yaml.TypeError
	readable := errors.As(err, &mistyped)
	if readable {
		messages = mistyped.Errors
	}
	var faults Faults
	for _, message := range messages {
		var fault Fault
		if m := unknownField.FindStringSubmatch(message); m != nil {
			fault = Fault{Field: m[2], Rule: "is not a setting" + line(m[1])}
		} else if m := wrongKind.FindStringSubmatch(message); m != nil {
			fault = Fault{Rule: fmt.Sprintf("a value is %s where %s is wanted%s", kindOf(m[2]), kindOf(m[3]), line(m[1]))}
		} else if strings.Contains(message, "Unknown Level String") { // zerolog's, with the value in it
			readable = true
			fault = Fault{Field: "logging", Rule: "a min_level must be trace, debug, info, warn or error"}
		} else {
			m := atLine.FindStringSubmatch(strings.ReplaceAll(message, "\n", " "))
			fault = Fault{Rule: m[2] + line(m[1]), syntax: !readable}
		}
		faults = append(faults, fault)
	}
	return faults
}

func line(number string) string {
	if number == "" {
		return ""
	}
	return " (line " + number + ")"
}

// kindOf names a YAML tag or a Go type in plain words.
func kindOf(tag string) string {
	switch {
	case tag == "!!str" || tag == "string":
		return "text"
	case tag == "!!int" || tag == "int":
		return "a whole number"
	case tag == "!!bool" || tag == "bool":
		return "true or false"
	case tag == "!!seq" || strings.HasPrefix(tag, "[]"):
		return "a list"
	case tag == "time.Duration":
		return "a time like 24h"
	case tag == "!!float":
		return "a number"
	default:
		return "a group of settings"
	}
}

// resolve makes the paths absolute.
func (c *Config) resolve(folder string) {
	paths := []*string{&c.Appservice.Registration, &c.Database.Path, &c.Egress.CAFile}
	for i := range c.Logging.Writers {
		paths = append(paths, &c.Logging.Writers[i].Filename)
	}
	if c.Audit.File != Stdout && c.Audit.File != Stderr {
		paths = append(paths, &c.Audit.File)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
}

// Save writes the configuration as a file that [Load] reads, for its owner alone; head is a comment at its top.
func (c Config) Save(path, head string) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode configuration: %w", err)
	}
	return writeFile(path, append([]byte(comment(head)), data...))
}

// comment makes YAML comment lines of a text.
func comment(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("# " + strings.TrimRight(l, "\n") + "\n")
	}
	return b.String()
}

// writeFile puts a file in place of another in one step, for its owner alone.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no use once renamed
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
