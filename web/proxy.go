package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// peer is the address that a connection comes from.
func peer(r *http.Request) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	return a.Unmap().WithZone(""), err == nil
}

func (s *Server) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// client is the address of the client: that of the connection, unless it is a trusted proxy's; then the last
// address in the proxies' header that is not a proxy itself. Forwarding headers of any other client are
// ignored (A13, S31).
func (s *Server) client(r *http.Request) string {
	from, ok := peer(r)
	if !ok {
		return r.RemoteAddr
	}
	if s.trusts(from) {
		named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, text := range slices.Backward(named) {
			a, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				break
			}
			if from = a.Unmap().WithZone(""); !s.trusts(from) {
				break
			}
		}
	}
	return from.String()
}

// Secure reports whether the browser came over TLS, to kairosd or to a trusted
// proxy before it.
func (s *Server) Secure(r *http.Request) bool { return s.secure(r) }

// secure reports whether the browser came over TLS, to kairosd or to a trusted
// proxy before it.
func (s *Server) secure(r *http.Request) bool {
	if s.TLS {
		return true
	}
	from, ok := peer(r)
	return ok && s.trusts(from) && r.Header.Get("X-Forwarded-Proto") == "https"
}
