package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"superpipeline.dev/question-bridge/bridge/certificate"
	"superpipeline.dev/question-bridge/internal/httpapi"
)

func TestKeys(t *testing.T) {
	var fail error
	key := certificate.NewKey(make([]byte, 32))
	key.CreatedAt = new(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
	h := newHouse(t, func(c *httpapi.Config, _ *http.Server) {
		c.Keys = func(context.Context) (certificate.KeyList, error) {
			return certificate.KeyList{Issuer: "https://q.example.org", Keys: []certificate.Key{key}}, fail
		}
	})
	a := h.do("GET", certificate.KeysPath, "", "") // without a token
	want := `{"issuer":"https://q.example.org","keys":[{"key_id":"` + key.ID + `","algorithm":"Ed25519","public_key":"` + strings.Repeat("A", 43) +
		`","created_at":"2026-11-01T09:00:00Z","retired_at":null}]}` + "\n"
	if a.status != http.StatusOK || string(a.body) != want || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if got := a.header.Get("Cache-Control"); got != "public, max-age=300" {
		t.Errorf("it is cached as %q", got)
	}
	h.problem(h.do("POST", certificate.KeysPath, "", ""), http.StatusMethodNotAllowed, "method_not_allowed")
	fail = errors.New("disk on fire at /var/lib/secret")
	a = h.do("GET", certificate.KeysPath, "", "")
	h.problem(a, http.StatusInternalServerError, "internal")
	if a.header.Get("Cache-Control") != "no-store" || strings.Contains(string(a.body), "secret") {
		t.Errorf("%v %s", a.header, a.body)
	}
	a = newHouse(t).do("GET", certificate.KeysPath, "", "")
	if a.status != http.StatusOK || string(a.body) != `{"issuer":"","keys":[]}`+"\n" {
		t.Errorf("without keys: %d %s", a.status, a.body)
	}
}
