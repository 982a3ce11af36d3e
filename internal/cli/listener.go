package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/kairos"
)

// maxConnections bounds connections at once; idle ones end after a minute (A09).
const maxConnections = 4096

// siteServer answers browsers and programs. Headers have 5 seconds and 16 KiB,
// a request a minute; event streams set their own deadlines (A06–A08).
func siteServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}

// bounded lets at most so many connections exist at once.
func bounded(ln net.Listener, most int) net.Listener { return netutil.LimitListener(ln, most) }

// certificate is read again at SIGHUP, so that a renewed one needs no restart.
type certificate struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
}

func loadCertificate(cert, key string) (*certificate, error) {
	c := &certificate{cert: cert, key: key}
	return c, c.load()
}

// load takes the files' certificate, or keeps the one before if they hold none.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil }}
}

// hangups answers SIGHUP until stop is called: the certificate and the files of
// secrets are read again, and the configuration is checked, so that a mistake in it is known before the
// restart that takes it up. SIGPIPE is caught, so that a log that nobody reads
// does not end the daemon (O13, O15); neither is inherited by commands.
func (s *server) hangups(cert *certificate) (stop func()) {
	signals, broken, quit := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	signal.Notify(broken, syscall.SIGPIPE) // that it is caught is all
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-signals:
				s.hungUp(cert)
			case <-quit:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		signal.Stop(broken)
		close(quit)
		<-ended
	}
}

func (s *server) hungUp(cert *certificate) {
	if _, err := config.Load(s.config); err != nil {
		s.log.Error("SIGHUP: the configuration has a mistake; the one that was read at the start stays", "err", err)
	} else {
		s.log.Info("SIGHUP: the configuration is fine; what has changed in it is taken up by a restart")
	}
	changed, err := s.secrets.rotateAll()
	for _, name := range changed {
		s.log.Info("SIGHUP: the secret has a new value", "secret", name)
		record := kairos.AuditRecord{Action: secretRotated, Actor: kairos.System.Name, Surface: kairos.System.Surface, Object: "secret:" + name, Reason: "SIGHUP"}
		if err := s.store.Audit(context.Background(), record); err != nil {
			s.log.Error("record a new secret", "secret", name, "err", err)
		}
	}
	if err != nil {
		s.log.Error("SIGHUP: a secret cannot be read; its value stays", "err", err)
	}
	if cert == nil {
		return
	}
	if err := cert.load(); err != nil {
		s.log.Error("SIGHUP: the certificate cannot be read; the one before stays", "err", err)
		return
	}
	s.log.Info("SIGHUP: the certificate was read again")
}
