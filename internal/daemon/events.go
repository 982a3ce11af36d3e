package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/exit"
)

// serveEvents opens the listener of hooks and callbacks, and serves it until closeAll is called. Without a
// listener of their own, it does nothing.
func (s *server) serveEvents(ctx context.Context, handler http.Handler) (closeAll func(), err error) {
	listen := s.cfg.Hooks.Listen
	if listen == "" {
		return func() {}, nil
	}
	mode, err := s.cfg.Server.Mode()
	if err != nil {
		return nil, exit.With(exit.SysConfig, err)
	}
	ln, err := listenOn(ctx, listen, mode)
	if err != nil {
		return nil, err
	}
	s.guard.Listeners(ln.Addr())
	if _, isSocket := config.SocketOf(listen); !isSocket && s.startup.cert != nil {
		ln = tls.NewListener(bounded(ln, maxConnections), s.startup.cert.config())
	} else {
		ln = bounded(ln, maxConnections)
	}
	server, done := siteServer(handler, s.log), make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			select {
			case s.startup.failed <- exit.With(exit.SysUnavail, err):
			default: // the daemon ends for another reason
			}
		}
	}()
	s.log.Info("listening for hooks and callbacks", "address", addressOf(listen, ln))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // ends requests that are still open
		}
		<-done
	}, nil
}

// addressOf returns the address of a listener for people. The port may have been chosen by the system.
func addressOf(listen string, ln net.Listener) string {
	if _, isSocket := config.SocketOf(listen); isSocket {
		return listen
	}
	return ln.Addr().String()
}
