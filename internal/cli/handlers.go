package cli

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net"
	"net/http"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/api"
)

// handlers builds the dashboard with the API, and the API for the local socket.
func (s *server) handlers(ln net.Listener) (handler, local http.Handler, closeAll func(), err error) {
	v := thisBuild()
	cursors := hmac.New(sha256.New, s.store.InstanceKey()) // cursors outlive a restart
	cursors.Write([]byte("api cursors"))
	proxies, err := s.cfg.Server.Proxies()
	if err != nil {
		return nil, nil, nil, &exit{sysConfig, err}
	}
	set := &settings{now: s.now, file: s.config, listen: s.listen, listenFrom: s.listenFrom, data: s.data, notify: s.notifier, system: s.system, store: s.store}
	who, plans := crew{s.now}, planners{s.now}
	base := api.Config{
		Metrics:        s.metrics.Handler(),
		Observe:        s.metrics.Request,
		CursorKey:      cursors.Sum(nil),
		System:         s.system,
		Planner:        plans,
		Tools:          who,
		Memory:         s.store,
		Crew:           who,
		Reader:         s.store,
		Engine:         s.engine,
		Principals:     s.auth,
		Accounts:       s.auth,
		Idempotency:    s.store,
		Bulk:           s.bulk,
		Drafts:         s.drafts,
		Audit:          s.store,
		Settings:       set,
		AuditLog:       s.checker,
		SessionCookies: web.SessionCookies(),
		Version:        api.Version{Version: v.Version, Commit: v.Commit, Schema: v.Schema, SQLite: v.SQLite, Go: v.Go},
		Log:            s.log,
	}
	public, err := api.New(base)
	if err != nil {
		return nil, nil, nil, err
	}
	actor := localActor()
	site, err := web.New(web.Config{
		Observe:   s.metrics.Request,
		Memory:    s.store,
		Planner:   plans,
		Crew:      who,
		Reader:    s.store,
		Engine:    s.engine,
		Auth:      s.auth,
		Accounts:  s.auth,
		System:    s.system,
		Bulk:      s.bulk,
		Drafts:    s.drafts,
		Audit:     s.store,
		Settings:  set,
		AuditLog:  s.checker,
		API:       public,
		Logger:    s.log,
		Hosts:     s.hosts(ln),
		TLS:       s.cfg.Server.TLSCert != "",
		Proxies:   proxies,
		Version:   v.Version,
		Node:      nodeName(),
		Idle:      auth.DefaultIdleTimeout,
		Ready:     s.ready,
		TwoPeople: func() bool { return s.now().cfg.Approvals.Separate },
		People:    peopleOf(s.store),
	})
	if err != nil {
		public.Close()
		return nil, nil, nil, err
	}
	return site, public.Door(&actor), func() { site.Close(); public.Close() }, nil
}

// ready reports why the daemon cannot serve, if it cannot.
func (s *server) ready(ctx context.Context) error {
	select {
	case <-s.store.Failed():
		return s.store.Failure()
	default:
	}
	_, err := s.store.LastEvent(ctx)
	return err
}
