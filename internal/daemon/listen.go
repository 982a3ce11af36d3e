package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/exit"
)

// DefaultListen is the default address of the dashboard and the API.
const DefaultListen = "127.0.0.1:8080"

// listenOn opens the address of the dashboard and the API: a network address, or a Unix socket with
// a mode.
func listenOn(ctx context.Context, listen string, mode fs.FileMode) (net.Listener, error) {
	path, isSocket := config.SocketOf(listen)
	if !isSocket {
		ln, err := net.Listen("tcp", listen)
		if err != nil {
			return nil, exit.With(exit.SysUnavail, fmt.Errorf("cannot listen on %s: %w", listen, err))
		}
		return ln, nil
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, exit.With(exit.SysUnavail, err)
	}
	// On Linux, the mode of the socket is that of its inode. It is set before the socket has a
	// name.
	var c net.ListenConfig
	c.Control = func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), uint32(mode)) }) // other systems have no inode for it yet
	}
	ln, err := c.Listen(ctx, "unix", path)
	if err == nil {
		if err = os.Chmod(path, mode); err != nil { // sets the bits that the umask removed
			err = errors.Join(err, ln.Close())
		}
	}
	if err != nil {
		return nil, exit.With(exit.SysUnavail, fmt.Errorf("cannot listen on %s: %w", listen, err))
	}
	return socketListener{ln}, nil
}

// removeStale removes the socket of a process that has ended. A socket with a listener, or another
// kind of file, stays and is an error.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("check the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another process listens on %s", path), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // the socket may be busy, or belong to another user
		return fmt.Errorf("%s exists, and whether a process listens on it is unknown: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	return nil
}

// socketListener sets the remote address of clients of a Unix socket, which have none, to the
// address of this machine. A proxy in front of it then needs the same setting as any other,
// server.trusted_proxies, and its logins are throttled.
type socketListener struct{ net.Listener }

func (l socketListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return socketConn{c}, nil
}

type socketConn struct{ net.Conn }

func (socketConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// hosts returns the host names that the dashboard accepts. Requests through a Unix socket use
// localhost or kairosd, or a name in server.hosts that a proxy passes on.
func (s *server) hosts(ln net.Listener) []string {
	if _, isSocket := config.SocketOf(s.listen.address); isSocket {
		return append([]string{"localhost", "kairosd"}, s.cfg.Server.Hosts...)
	}
	hosts := append([]string{ln.Addr().String()}, s.cfg.Server.Hosts...)
	if host, port, err := net.SplitHostPort(ln.Addr().String()); err == nil {
		if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
			hosts = append(hosts, "localhost:"+port, "127.0.0.1:"+port, "[::1]:"+port)
		}
	}
	return hosts
}

// where returns the address for people, and the prefix of links to pages.
func (s *server) where(ln net.Listener) (url, links string) {
	if path, isSocket := config.SocketOf(s.listen.address); isSocket {
		links = "http://localhost"
		if h := s.cfg.Server.Hosts; len(h) > 0 {
			links = "https://" + h[0]
		}
		return config.SocketScheme + path, links
	}
	url = "http://" + ln.Addr().String()
	if s.cfg.Server.TLSCert != "" {
		url = "https://" + ln.Addr().String()
	}
	return url, url
}

// checkAddresses rejects addresses that other machines can reach without TLS or a trusted proxy, also that
// of hooks.
func (s *server) checkAddresses(cfg config.Config) error {
	if err := checkAddress("--listen", s.listen.address, cfg); err != nil {
		return err
	}
	if _, isSocket := config.SocketOf(cfg.Hooks.Listen); isSocket || cfg.Hooks.Listen == "" {
		return nil
	}
	return checkAddress("hooks.listen", cfg.Hooks.Listen, cfg)
}

// checkAddress rejects an address that other machines can reach without TLS or a trusted proxy.
func checkAddress(name, listen string, cfg config.Config) error {
	if path, isSocket := config.SocketOf(listen); isSocket {
		if path == "" {
			return exit.With(exit.SysUsage, fmt.Errorf("%s %q: write the path of the socket, as in "+
				"unix:/run/kairos/kairos.sock", name, listen))
		}
		if cfg.Server.TLSCert != "" {
			return exit.With(
				exit.SysConfig,
				errors.New("a Unix socket cannot use TLS: remove server.tls_cert, and configure TLS in the proxy"),
			)
		}
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return exit.With(exit.SysUsage, fmt.Errorf("%s %q: %w", name, listen, err))
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() || cfg.Server.TLSCert != "" || len(cfg.Server.TrustedProxies) > 0 {
		return nil
	}
	return exit.With(
		exit.SysConfig,
		fmt.Errorf(
			"%s can be reached from other machines; set server.tls_cert and server.tls_key, or server.trusted_proxies, in "+
				"the configuration",
			listen,
		),
	)
}

// listenAddress is a network address or a Unix socket to listen on, and the source of this setting.
type listenAddress struct{ address, origin string }

// listenAt returns the listen address: of the flag, of the configuration, or the default.
func listenAt(flag string, cfg config.Config) listenAddress {
	switch {
	case flag != "":
		return listenAddress{flag, "command line"}
	case cfg.Server.Listen != "":
		return listenAddress{cfg.Server.Listen, "file"}
	}
	return listenAddress{DefaultListen, "default"}
}
