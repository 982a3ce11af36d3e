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

// startupServer serves the daemon's address from the beginning. While the daemon starts, which
// takes minutes if it upgrades a large database, it shows the progress. Then swap replaces its
// handler with the dashboard and the API. The listener and open connections stay.
type startupServer struct {
	server *http.Server
	url    string       // for people
	links  string       // prefix of links to pages
	cert   *certificate // nil: no TLS

	now     atomic.Pointer[http.Handler]
	started atomic.Pointer[domain.Startup]
	failed  chan error
	serving sync.WaitGroup
}

// newStartupServer serves ln. It shows the progress of the start until swap is called.
func (s *server) newStartupServer(ln net.Listener) (*startupServer, error) {
	f := &startupServer{failed: make(chan error, 1)}
	f.url, f.links = s.where(ln)
	f.report(domain.Startup{Stage: domain.StartOpening, Percent: -1})
	proxies, err := s.cfg.Server.Proxies()
	if err != nil {
		return nil, exit.With(exit.SysConfig, err)
	}
	progress := func() domain.Startup { return *f.started.Load() }
	f.swap(
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
	s.log.Info("listening; pages show the progress of the start", "url", f.url)
	return f, nil
}

// swap makes another handler serve all requests from now on.
func (f *startupServer) swap(h http.Handler) { f.now.Store(&h) }

// report sets the progress of the start.
func (f *startupServer) report(p domain.Startup) {
	p.Since = time.Now().UTC()
	if before := f.started.Load(); before != nil {
		p.Since = before.Since
	}
	f.started.Store(&p)
}

// stage reports a stage whose progress is not measured.
func (f *startupServer) stage(stage domain.StartStage) {
	f.report(domain.Startup{Stage: stage, Percent: -1})
}

// close ends the listener and waits for active requests until the context ends. A second call does
// nothing.
func (f *startupServer) close(ctx context.Context) {
	if err := f.server.Shutdown(ctx); err != nil {
		_ = f.server.Close() // ends streams that are still open
	}
	f.serving.Wait()
}
