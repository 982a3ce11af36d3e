package tool

import (
	"fmt"
	"net"
	"time"
)

// NewDialer connects to where the http tool may, and nowhere else: to public
// addresses, to the private ones that are allowed, never to kairosd itself; the
// address is checked at the socket (S14). ports below 1024 besides 80 and 443
// are those listed.
func NewDialer(guard *Guard, allowPrivate []string, ports ...int) (*net.Dialer, error) {
	allow, err := parsePrefixes(allowPrivate)
	if err != nil {
		return nil, fmt.Errorf("allow_private: %w", err)
	}
	if guard == nil {
		guard = &Guard{}
	}
	h := &httpTool{config: HTTPConfig{AllowPorts: ports}, allow: allow, guard: guard}
	return &net.Dialer{Timeout: 10 * time.Second, Control: h.control}, nil
}
