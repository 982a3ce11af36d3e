package daemon

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// maxConnections limits the connections. Idle connections end after a minute.
const maxConnections = 4096

// siteServer serves browsers and programs. Headers are limited to 5 seconds and 16 KiB, and
// requests to a minute. Event streams set their own deadlines.
func siteServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}

// bounded limits the number of open connections.
func bounded(ln net.Listener, most int) net.Listener { return netutil.LimitListener(ln, most) }

// certificate is read again on SIGHUP, so that a renewed certificate needs no restart.
type certificate struct {
	mu        sync.Mutex // guards the paths
	cert, key string
	current   atomic.Pointer[tls.Certificate]
}

func loadCertificate(cert, key string) (*certificate, error) {
	c := &certificate{cert: cert, key: key}
	return c, c.load()
}

// load reads the certificate from its files. If that fails, it keeps the previous one.
func (c *certificate) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pair, err := readCertificate(c.cert, c.key)
	if err != nil {
		return err
	}
	c.current.Store(pair)
	return nil
}

// use sets a certificate that was read from these files.
func (c *certificate) use(cert, key string, pair *tls.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert, c.key = cert, key
	c.current.Store(pair)
}

func readCertificate(cert, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return &pair, nil
}

// suites are the TLS 1.2 cipher suites with authenticated encryption and forward secrecy. TLS 1.3
// has only such suites.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil }}
}
