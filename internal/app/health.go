package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"superpipeline.dev/question-bridge/internal/config"
)

// Health asks the bridge that runs on this machine whether it can work. The error says that it does not answer, or names
// what of it does not work.
func Health(ctx context.Context, cfg config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(cfg.API.Listen)+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req) // past every proxy
	if err != nil {
		return fmt.Errorf("the bridge does not answer at %s: %w", cfg.API.Listen, withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var problem struct {
		Errors []struct{ Keyword string }
	}
	var broken []string
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&problem) == nil {
		for _, e := range problem.Errors {
			broken = append(broken, e.Keyword)
		}
	}
	if len(broken) == 0 {
		return fmt.Errorf("what answers at %s answers %d, and is no bridge", cfg.API.Listen, resp.StatusCode)
	}
	return errors.New("does not work: " + strings.Join(broken, ", "))
}

// reachable is where what listens at an address is reached from this machine.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
