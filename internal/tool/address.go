package tool

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// reserved are prefixes without public servers (IANA special-purpose registries), in addition to
// those of package netip.
var reserved = prefixes(
	"0.0.0.0/8",
	"100.64.0.0/10",
	"192.0.0.0/24",
	"192.0.2.0/24",
	"192.88.99.0/24",
	"198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24",
	"240.0.0.0/4",
	"::/96",
	"64:ff9b:1::/48",
	"100::/64",
	"2001::/23",
	"2001:db8::/32",
	"3fff::/20",
	"5f00::/16",
	"fec0::/10",
)

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// parsePrefixes reads CIDR prefixes and single addresses.
func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if a, err := netip.ParseAddr(text); err == nil {
			a = plain(a)
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR prefix such as 10.0.0.0/8", text)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// faces returns the addresses that a packet to a may reach: a itself, and the IPv4 address inside a
// translated one (NAT64, 6to4).
func faces(a netip.Addr) []netip.Addr {
	a = plain(a)
	list := []netip.Addr{a}
	b := a.As16()
	switch {
	case a.Is4():
	case nat64.Contains(a):
		list = append(list, netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo4.Contains(a):
		list = append(list, netip.AddrFrom4([4]byte(b[2:6])))
	}
	return list
}

// public reports whether an address belongs to the public internet.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// permitted reports whether every face of an address is public or in the allow list.
func permitted(a netip.Addr, allow []netip.Prefix) bool {
	for _, face := range faces(a) {
		if !public(face) && !slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(face) }) {
			return false
		}
	}
	return true
}
