package config

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// A certificate authority of one's own is read from a file beside the configuration, as PEM.
func TestAuthoritiesOfOnesOwn(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	path := write(t, least+"egress: {ca_file: ca.pem}")
	file := filepath.Join(filepath.Dir(path), "ca.pem")
	for want, content := range map[string][]byte{
		"egress.ca_file: the file cannot be read":              nil,
		"egress.ca_file: the file holds no certificate as PEM": []byte("-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n"),
		"": certificate,
	} {
		_ = os.Remove(file)
		if content != nil {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := Load(path, none)
		switch {
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("got %v, want %s", err, want)
		case want == "" && (err != nil || c.Egress.CAFile != file):
			t.Errorf("got %+v, %v", c.Egress, err)
		case want == "":
			both, err := x509.SystemCertPool()
			if err != nil {
				t.Fatal(err)
			}
			both.AddCert(server.Certificate())
			if roots, err := c.Egress.Roots(); err != nil || !both.Equal(roots) {
				t.Errorf("the file gives %v, %v", roots, err)
			}
		}
	}
	if roots, err := (Egress{}).Roots(); roots != nil || err != nil {
		t.Errorf("without a file: %v, %v", roots, err)
	}
}
