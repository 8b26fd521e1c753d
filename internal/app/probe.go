package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// versions is what a homeserver says that it speaks.
type versions struct {
	Versions []string        `json:"versions"`
	Unstable map[string]bool `json:"unstable_features"`
}

var stableVersion = regexp.MustCompile(`^v1\.([0-9]+)$`)

// supportPing says whether the appservice ping is there: specification v1.7, or MSC 2659 by its flag.
func (v versions) supportPing() bool {
	return v.Unstable["fi.mau.msc2659.stable"] || slices.ContainsFunc(v.Versions, func(version string) bool {
		m := stableVersion.FindStringSubmatch(version)
		if m == nil {
			return false
		}
		minor, err := strconv.Atoi(m[1])
		return err == nil && minor >= 7
	})
}

func (c *check) get(ctx context.Context, into any, path ...string) error {
	return c.call(ctx, http.MethodGet, nil, into, path)
}

func (c *check) post(ctx context.Context, path ...string) error {
	return c.call(ctx, http.MethodPost, []byte("{}"), new(json.RawMessage), path)
}

// call makes one request as the bot. It takes nothing but JSON for an answer, and shows no more than the Matrix error.
func (c *check) call(ctx context.Context, method string, body []byte, into any, path []string) error {
	address := strings.TrimSuffix(c.cfg.Homeserver.URL, "/")
	for _, segment := range path {
		address += "/" + url.PathEscape(segment)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if !slices.Contains(path, "versions") { // which is asked before we know who answers
		req.Header.Set("Authorization", "Bearer "+c.reg.ASToken)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var refusal struct {
			Code  string `json:"errcode"`
			Error string `json:"error"`
		}
		_ = json.Unmarshal(data, &refusal)
		if refusal.Code == "" {
			return fmt.Errorf("it answers %d", resp.StatusCode)
		}
		return fmt.Errorf("it answers %d %s %q", resp.StatusCode, refusal.Code, refusal.Error)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return errors.New("what answers is not a Matrix homeserver")
	}
	return nil
}

// withoutURL is what went wrong, without the request that it went wrong with.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
