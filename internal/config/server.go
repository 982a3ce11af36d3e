package config

import (
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
)

// Proxies returns the addresses of trusted_proxies.
func (s Server) Proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range s.TrustedProxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%q is neither an address nor a network like 10.0.0.0/8", text)
			}
			p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// SocketScheme is the prefix of a Unix socket in the place of an address.
const SocketScheme = "unix:"

// SocketOf returns the path of the Unix socket in an address, if it is one.
func SocketOf(address string) (path string, is bool) { return strings.CutPrefix(address, SocketScheme) }

// Mode returns the mode of the Unix socket: for its owner only, or also for its group.
func (s Server) Mode() (fs.FileMode, error) {
	switch s.SocketMode {
	case "", "0600":
		return 0o600, nil
	case "0660":
		return 0o660, nil
	}
	return 0, fmt.Errorf("%q is neither \"0600\", for its owner, nor \"0660\", for its group as well", s.SocketMode)
}
