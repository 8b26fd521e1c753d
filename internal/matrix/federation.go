package matrix

import (
	"context"
	"net"
	"net/http"
	"strconv"

	"maunium.net/go/mautrix/id"

	"superpipeline.dev/question-bridge/internal/egress"
)

const (
	federationPort = 8448
	maxWellKnown   = 50 << 10 // what the specification recommends
)

// federation gives the address of another server's federation API (Server-Server API, "Resolving server names"): its name
// as it is where that has a port or is an IP address, else what its .well-known/matrix/server names, else its name. The
// port is 8448 where none is given. SRV records are not looked up, and redirects of the .well-known are not followed.
func (o *OpenID) federation(ctx context.Context, server string) string {
	name := id.ParseServerName(server)
	if name == nil { // the guard refuses it
		return "https://" + server
	}
	if name.Type == id.ServerNameDNS && name.Port == 0 {
		if delegated := o.delegated(ctx, name.Host); delegated != nil {
			name = delegated
		}
	}
	port := name.Port
	if port == 0 {
		port = federationPort
	}
	return "https://" + net.JoinHostPort(name.Host, strconv.Itoa(port))
}

// delegated asks a host which server speaks for it; nil where it names none, for whatever reason.
func (o *OpenID) delegated(ctx context.Context, host string) *id.ParsedServerName {
	r, err := o.cfg.Guarded.Do(ctx, egress.Request{
		Method: http.MethodGet, URL: "https://" + host + "/.well-known/matrix/server", Limit: maxWellKnown,
	})
	if err != nil || r.Status != http.StatusOK || r.Cut {
		return nil
	}
	return id.ParseServerName(readObject(r.Body).string("m.server"))
}
