package app

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"superpipeline.dev/question-bridge/internal/config"
	"superpipeline.dev/question-bridge/internal/egress"
)

// withAuthority makes a file with a certificate, and gives its path.
func withAuthority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// egress.ca_file makes a certificate of one's own be believed, and opens no address.
func TestOutward(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	file := withAuthority(t, server)
	here := []string{"127.0.0.1"}
	for name, c := range map[string]struct {
		egress config.Egress
		called bool
	}{
		"believed and open":     {config.Egress{Allow: here, CAFile: file}, true},
		"open and not believed": {config.Egress{Allow: here}, false},
		"believed and not open": {config.Egress{CAFile: file}, false},
	} {
		client, err := outward(config.Config{Egress: c.egress}, egress.Timeouts{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Do(t.Context(), egress.Request{Method: http.MethodHead, URL: server.URL})
		if (err == nil) != c.called {
			t.Errorf("%s: %v", name, err)
		}
	}
}
