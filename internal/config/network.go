package config

import (
	"fmt"
	"net/netip"
)

// Network is a network, or one address.
type Network string

// Prefix is the network; ok is false for what is none.
func (n Network) Prefix() (p netip.Prefix, ok bool) {
	if p, err := netip.ParsePrefix(string(n)); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(string(n))
	return netip.PrefixFrom(a, a.BitLen()), err == nil && a.Zone() == ""
}

func (k *checker) networks(field string, networks []Network) {
	for i, n := range networks {
		_, ok := n.Prefix()
		k.rule(ok, fmt.Sprintf("%s[%d]", field, i), "must be a network like 10.1.0.0/16 or an address")
	}
}
