package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// guard dials what may be reached. plain is set for http://, which is spoken only to what is allowed by name or network:
// anybody on the way could read and change it.
type guard struct {
	allowed  allowed
	resolver Resolver
	plain    bool
	timeout  time.Duration
}

// dial looks the host up once, checks every address that it has, and connects to one of those. A name with one address
// inside is refused altogether, whatever else it has: nobody with an honest name needs that.
func (g guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refused("the URL's host and port cannot be read")
	}
	ips, err := g.reachable(ctx, host)
	if err != nil {
		return nil, err
	}
	named := g.allowed.host(host)
	dialer := net.Dialer{Timeout: g.timeout, Control: func(_, address string, _ syscall.RawConn) error {
		// The last word, on the very address that the socket is about to connect to.
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return refused("the address to connect to cannot be read")
		}
		return g.check(to.Addr(), named)
	}}
	var failures []error
	for _, ip := range ips[:min(len(ips), mostTried)] {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

// reachable gives the addresses of a host, each of which may be dialled.
func (g guard) reachable(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	named := g.allowed.host(host)
	for _, ip := range ips {
		if err := g.check(ip, named); err != nil {
			return nil, err
		}
	}
	return ips, nil
}

// addresses gives the addresses of a host.
func (g guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	resolver := g.resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	ips, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 0 {
		return nil, errors.New("the host has no address")
	}
	return ips, nil
}

// mostTried bounds how many addresses of one host are dialled.
const mostTried = 4

func (g guard) check(ip netip.Addr, named bool) error {
	switch {
	case named || g.allowed.address(ip):
		return nil
	case !public(ip):
		return refused("%s is not a public address, and egress.allow does not list it", ip)
	case g.plain:
		return refused("http:// is only spoken to what egress.allow lists; use https://")
	}
	return nil
}
