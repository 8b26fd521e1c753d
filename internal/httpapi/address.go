package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddress is the address that a request came from: its peer's, or, where that is a proxy of ours, the last one in
// X-Forwarded-For that is none. What stands before it there anybody may have written. Of IPv6 it is the network of 64
// bits, which one client may have to itself.
func (s *server) clientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr // no connection of TCP
	}
	client := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !s.isProxy(client) {
			break
		}
		before, ok := addressOf(strings.TrimSpace(hop))
		if !ok {
			break
		}
		client = before
	}
	if client.Is6() {
		network, _ := client.WithZone("").Prefix(64) // an address of IPv6 has as many bits
		return network.String()
	}
	return client.String()
}

func (s *server) isProxy(a netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// addressOf reads what a proxy wrote of a client: its address, with or without the port.
func addressOf(hop string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(hop); err == nil {
		return a.Unmap(), true
	}
	at, err := netip.ParseAddrPort(hop)
	return at.Addr().Unmap(), err == nil
}
