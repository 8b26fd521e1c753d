package app

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Each listener serves its own routes and none of the others': who may reach one reaches nothing else.
func TestListenersAreSeparate(t *testing.T) {
	address := freeAddress(t)
	homeserverOn(t, address, http.StatusOK, `{"user_id":"@questions:question.test"}`)
	cfg, reg := checked(t, "http://"+address)
	cfg.API.Listen, cfg.Appservice.Listen, cfg.Metrics.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		ended <- Run(ctx, Options{Config: cfg, Registration: reg, Log: zerolog.Nop(), Ready: func(at Addresses) { ready <- at }})
	}()
	var at Addresses
	select {
	case at = <-ready:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("it does not get ready")
	}

	status := func(base, route string) int {
		t.Helper()
		method, path, _ := strings.Cut(route, " ")
		req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(`{"events":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/_matrix/") { // with a wrong token, some of the others say that there is nothing
			req.Header.Set("Authorization", "Bearer "+reg.HSToken)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	listeners := map[string]string{
		"api": at.API, "appservice": at.Appservice, "metrics": strings.TrimSuffix(at.Metrics, "/metrics"),
	}
	for own, routes := range map[string][]string{
		"api":        describedAt(t, at.API),
		"appservice": {"PUT /_matrix/app/v1/transactions/1", "POST /_matrix/app/v1/ping", "GET /_matrix/app/v1/users/@questions:question.test"},
		"metrics":    {"GET /metrics"},
	} {
		for _, route := range routes {
			for name, base := range listeners {
				if got := status(base, route); (got != http.StatusNotFound) != (name == own) {
					t.Errorf("%s on the listener %s: %d", route, name, got)
				}
			}
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// describedAt are the routes of an API, as it describes itself, with something in place of every parameter.
func describedAt(t *testing.T, api string) (routes []string) {
	t.Helper()
	resp, err := http.Get(api + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&described); err != nil {
		t.Fatal(err)
	}
	for path, methods := range described.Paths {
		for method := range methods {
			if method = strings.ToUpper(method); method == http.MethodGet || method == http.MethodPost {
				routes = append(routes, method+" "+regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x"))
			}
		}
	}
	if len(routes) < 12 {
		t.Fatalf("it describes only %q", routes)
	}
	return routes
}

// Without an address for them, metrics are served nowhere.
func TestMetricsAreOffByDefault(t *testing.T) {
	cfg, reg := checked(t, "http://127.0.0.1:1")
	cfg.API.Listen, cfg.Appservice.Listen = "127.0.0.1:0", "127.0.0.1:0"
	l, err := Options{Config: cfg, Registration: reg}.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if l.Metrics != nil || l.addresses().Metrics != "" {
		t.Errorf("they are served at %s", l.addresses().Metrics)
	}
}
