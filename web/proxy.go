package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// remoteAddr returns the remote address of the connection.
func remoteAddr(r *http.Request) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	return a.Unmap().WithZone(""), err == nil
}

func (s *Server) isTrustedProxy(a netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// client returns the address of the client. It is the address of the connection. If that is a
// trusted proxy, it is the last address in X-Forwarded-For that is not a trusted proxy. Forwarding
// headers from other clients are ignored (A13, S31).
func (s *Server) client(r *http.Request) string {
	from, ok := remoteAddr(r)
	if !ok {
		return r.RemoteAddr
	}
	if s.isTrustedProxy(from) {
		named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, text := range slices.Backward(named) {
			a, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				break
			}
			if from = a.Unmap().WithZone(""); !s.isTrustedProxy(from) {
				break
			}
		}
	}
	return from.String()
}

// Secure reports whether the browser's connection uses TLS, to kairosd or to a trusted proxy.
func (s *Server) Secure(r *http.Request) bool { return s.secure(r) }

// secure reports whether the browser's connection uses TLS, to kairosd or to a trusted proxy.
func (s *Server) secure(r *http.Request) bool {
	if s.TLS {
		return true
	}
	from, ok := remoteAddr(r)
	return ok && s.isTrustedProxy(from) && r.Header.Get("X-Forwarded-Proto") == "https"
}
