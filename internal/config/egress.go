package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Egress says what may be called of the addresses that others give us.
type Egress struct {
	Allow []string `yaml:"allow,omitempty"` // networks, addresses and host names, beyond what is public
	// CAFile has certificates as PEM. Whom they vouch for is believed to be who they say they are, beside whom the machine
	// believes.
	CAFile string `yaml:"ca_file,omitempty"`
}

// Roots are the certificate authorities to trust: those of the machine and of CAFile. It is nil without that: the
// machine's alone.
func (e Egress) Roots() (*x509.CertPool, error) {
	if e.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(e.CAFile)
	if err != nil {
		return nil, errors.New("the file cannot be read")
	}
	roots, err := x509.SystemCertPool()
	if err != nil { // a machine that has none
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the file holds no certificate as PEM")
	}
	return roots, nil
}

func (k *checker) egress(e Egress) {
	for i, entry := range e.Allow {
		_, network := Network(entry).Prefix()
		host := isServerName(entry) && strings.ContainsAny(strings.ToLower(entry), "abcdefghijklmnopqrstuvwxyz") && !strings.Contains(entry, ":")
		k.rule(network || host, fmt.Sprintf("egress.allow[%d]", i), "must be a network like 10.1.0.0/16, an address, or a host name without a port")
	}
}

// authorities sees whether the certificates can be read, from a path relative to folder.
func (k *checker) authorities(e Egress, folder string) {
	if e.CAFile != "" && !filepath.IsAbs(e.CAFile) {
		e.CAFile = filepath.Join(folder, e.CAFile)
	}
	_, err := e.Roots()
	k.rule(err == nil, "egress.ca_file", "%v", err)
}
