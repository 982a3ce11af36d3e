package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/kairosd/kairosd/web"
)

// front is the daemon's address from the first moment on. While the daemon
// starts, which takes minutes when a large database is upgraded, it says that it
// lives and how far it is; then the pages take over, on the same listener and on
// connections that are open.
type front struct {
	server *http.Server
	url    string       // for people
	links  string       // what links to pages begin with
	cert   *certificate // nil: no TLS

	now     atomic.Pointer[http.Handler]
	started atomic.Pointer[domain.Startup]
	failed  chan error
	serving sync.WaitGroup
}

// newFront listens on; what it answers is how far the start is, until become.
func (s *server) newFront(ln net.Listener) (*front, error) {
	f := &front{failed: make(chan error, 1)}
	f.url, f.links = s.where(ln)
	f.tell(domain.Startup{Stage: domain.StartOpening, Percent: -1})
	proxies, err := s.cfg.Server.Proxies()
	if err != nil {
		return nil, exit.With(exit.SysConfig, err)
	}
	progress := func() domain.Startup { return *f.started.Load() }
	f.become(
		web.NewStarting(
			web.StartingConfig{
				Progress: progress,
				API:      api.Starting(progress),
				Hosts:    s.hosts(ln),
				TLS:      s.cfg.Server.TLSCert != "",
				Proxies:  proxies,
				Version:  buildinfo.Read().Version,
				Logger:   s.log,
			},
		),
	)
	listener := bounded(ln, maxConnections)
	if s.cfg.Server.TLSCert != "" {
		if f.cert, err = loadCertificate(s.cfg.Server.TLSCert, s.cfg.Server.TLSKey); err != nil {
			return nil, exit.With(exit.SysConfig, err)
		}
		listener = tls.NewListener(listener, f.cert.config())
	}
	f.server = siteServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.now.Load()).ServeHTTP(w, r) }), s.log)
	f.serving.Go(func() {
		if err := f.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.failed <- exit.With(exit.SysUnavail, err)
		}
	})
	s.log.Info("listening; pages say how far the start is", "url", f.url)
	return f, nil
}

// become answers every request from now on with another handler.
func (f *front) become(h http.Handler) { f.now.Store(&h) }

// tell is how far the start is.
func (f *front) tell(p domain.Startup) {
	p.Since = time.Now().UTC()
	if before := f.started.Load(); before != nil {
		p.Since = before.Since
	}
	f.started.Store(&p)
}

// stage is tell for what nobody counts.
func (f *front) stage(stage domain.StartStage) { f.tell(domain.Startup{Stage: stage, Percent: -1}) }

// close ends the listener and waits until what is answered has been, at most
// until the context ends. A second call does nothing.
func (f *front) close(ctx context.Context) {
	if err := f.server.Shutdown(ctx); err != nil {
		_ = f.server.Close() // streams that did not end by themselves
	}
	f.serving.Wait()
}
