package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/internal/command"
)

const (
	maxKeyList  = 1 << 20
	keysTimeout = 30 * time.Second
)

// keySource is where the keys come from that are trusted: the command line and files, or a server.
type keySource struct {
	keys, files []string
	server      string
}

func (k *keySource) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&k.keys, "key", nil, "a public `KEY` to trust, as \"questiond key list\" prints it; may be given again")
	f.StringArrayVar(&k.files, "keys", nil, "a `FILE` with a list of keys to trust, as the server publishes it")
	f.StringVar(&k.server, "server", "", "address of the server whose published keys are trusted (default $QUESTION_SERVER)")
	command.Files(cmd, "keys")
}

// check wants exactly one kind of source. A variable of the environment never adds to what a flag says.
func (k *keySource) check(cmd *cobra.Command) error {
	offline := len(k.keys)+len(k.files) > 0
	switch {
	case offline && cmd.Flags().Changed("server"):
		return errors.New("either --key and --keys, or --server: not both")
	case offline:
		return nil
	case !cmd.Flags().Changed("server"):
		k.server = os.Getenv("QUESTION_SERVER")
	}
	if k.server == "" {
		return errors.New("no keys to trust: give --key, --keys or --server, or set QUESTION_SERVER")
	}
	u, err := url.Parse(k.server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the server address is not an http or https URL without a user, a query and a fragment")
	}
	return nil
}

// read gives the keys that are trusted.
func (k *keySource) read(cmd *cobra.Command) (trusted []certificate.Key, err error) {
	for _, text := range k.keys {
		key, err := certificate.ParseKey(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--key: %s", reasonOf(err))
		}
		trusted = append(trusted, key)
	}
	for _, name := range k.files {
		raw, err := readUpTo(cmd, []string{name}, maxKeyList)
		if err != nil {
			return nil, err
		}
		list, err := certificate.ParseKeyList(raw)
		if err != nil {
			return nil, exitf(exitUsage, "cannot read %s: %s", name, reasonOf(err))
		}
		trusted = append(trusted, list.Keys...)
	}
	if len(k.keys)+len(k.files) > 0 {
		return trusted, nil
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	raw, err := k.fetch(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, exitf(exitInterrupted, "interrupted")
	case err != nil:
		return nil, exitf(exitFailed, "cannot get the keys: %s", oneLine(err.Error()))
	}
	list, err := certificate.ParseKeyList(raw)
	if err != nil {
		return nil, exitf(exitFailed, "cannot get the keys: %s", reasonOf(err))
	}
	return list.Keys, nil
}

// readUpTo reads the FILE of a command line, or standard input for "-"; one byte more than the limit, if there is more.
func readUpTo(cmd *cobra.Command, args []string, limit int64) ([]byte, error) {
	name, in := "standard input", cmd.InOrStdin()
	if args[0] != "-" {
		name = args[0]
		f, err := os.Open(name)
		if err != nil {
			return nil, exitf(exitUsage, "cannot read %s: %s", name, command.Plain(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, exitf(exitUsage, "cannot read %s: %s", name, command.Plain(err))
	}
	return raw, nil
}

// reasonOf is the reason of a refusal, alone.
func reasonOf(err error) string {
	var e *certificate.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return oneLine(err.Error())
}

// certificateOf takes the certificate out of a question's document, in its exact bytes.
func certificateOf(document []byte) ([]byte, error) {
	var q struct {
		Answer *struct {
			Certificate json.RawMessage `json:"certificate"`
		} `json:"answer"`
	}
	if err := json.Unmarshal(document, &q); err != nil {
		return nil, errors.New("the response is not a question")
	}
	if q.Answer == nil || len(q.Answer.Certificate) == 0 || string(q.Answer.Certificate) == "null" {
		return nil, errors.New("the question has no certificate: only an approval of a subject has one")
	}
	raw, err := certificate.Canonical(q.Answer.Certificate)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be written: %s", reasonOf(err))
	}
	return raw, nil
}

// fetch gets the list that the server publishes. Redirects are not followed: another address is another one to trust.
func (k *keySource) fetch(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(k.server, "/")+certificate.KeysPath, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{
		Timeout:       keysTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxKeyList+1))
	if err == nil && len(raw) > maxKeyList {
		err = errors.New("the list is too long")
	}
	return raw, err
}
