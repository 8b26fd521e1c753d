package egress

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// special are the networks that are nobody's public address, of the special-purpose registries of IANA. Of IPv6 only
// 2000::/3 is given out at all, so the exceptions within it are enough.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	global   = netip.MustParsePrefix("2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // an IPv4 address in its last four bytes
	six2four = netip.MustParsePrefix("2002::/16")    // one right behind the prefix
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// public says whether an address belongs to the public network. One that only wraps an IPv4 address is what it wraps.
func public(a netip.Addr) bool {
	a = a.Unmap()
	switch {
	case !a.IsValid() || a.Zone() != "":
		return false
	case nat64.Contains(a):
		b := a.As16()
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	case six2four.Contains(a):
		b := a.As16()
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	case a.Is6() && !global.Contains(a):
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return !isatap(a)
}

// isatap is true of an IPv6 address whose last half is made of an IPv4 address (RFC 5214): a router may unwrap it.
func isatap(a netip.Addr) bool {
	if !a.Is6() {
		return false
	}
	b := a.As16()
	return binary.BigEndian.Uint32(b[8:12])&^0x02000000 == 0x00005efe
}

// allowed is what may be reached although it is not public.
type allowed struct {
	networks []netip.Prefix
	hosts    map[string]bool // in lower case, without a final dot
}

// CheckAllow says whether an entry may stand in [Config.Allow].
func CheckAllow(entry string) error {
	_, err := parseAllowed([]string{entry})
	return err
}

func parseAllowed(entries []string) (allowed, error) {
	a := allowed{hosts: map[string]bool{}}
	for _, e := range entries {
		if p, err := netip.ParsePrefix(e); err == nil {
			a.networks = append(a.networks, p.Masked())
		} else if ip, err := netip.ParseAddr(e); err == nil && ip.Zone() == "" {
			a.networks = append(a.networks, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
		} else if isHost(e) {
			a.hosts[hostKey(e)] = true
		} else {
			return allowed{}, fmt.Errorf("%q is neither a network like 10.1.0.0/16, an address nor a host name", e)
		}
	}
	return a, nil
}

// isHost takes a name without a port; one of digits and dots alone would be a mistyped address.
func isHost(s string) bool {
	letters := false
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			letters = true
		case r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_':
		default:
			return false
		}
	}
	return letters && len(s) <= 253
}

func hostKey(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func (a allowed) host(name string) bool { return a.hosts[hostKey(name)] }

func (a allowed) address(ip netip.Addr) bool {
	ip = ip.Unmap()
	for _, n := range a.networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
