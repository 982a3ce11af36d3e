package tool

import (
	"fmt"
	"net"
	"time"
)

// NewDialer returns a dialer that connects only to the addresses that the http tool may reach:
// public addresses and allowed private ones, but never kairosd itself. The address is checked at
// the socket (S14). ports lists the permitted ports below 1024 in addition to 80 and 443.
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
