package daemon

import (
	"cmp"
	"context"
	"net"
	"net/http"

	"github.com/kairosd/kairosd/internal/a2aserver"
	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/demo"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/hook"
	"github.com/kairosd/kairosd/internal/mcpserver"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/web"
)

// operations builds the worker that plans drafts, and the operations of all interfaces. It also
// returns the runner of demonstrations, which the caller closes.
func (s *server) operations() *demo.Runner {
	plans := planners{s.now}
	s.drafts = draft.New(draft.Config{Store: s.store, Planner: plans, Engine: s.engine, Log: s.log})
	demonstrations := demo.New(demo.Config{Changed: app.RecordDemo(s.store, s.log)})
	s.app = app.New(
		app.Config{Store: s.store, Engine: s.engine, Auth: s.auth, Bulk: s.bulk, Drafts: s.drafts, Planner: plans, Checker: s.checker,
			Tools: catalog{s.now}.box, Server: s.system, Settings: s.settings, Demo: demonstrations,
			WatchedDirectories: s.watchedDirectories, Log: s.log},
	)
	return demonstrations
}

// handlers builds the dashboard with the API, and the API for the local socket.
func (s *server) handlers(ctx context.Context, ln net.Listener) (handler, local http.Handler, closeAll func(), err error) {
	v := buildinfo.Read()
	proxies, err := s.cfg.Server.Proxies()
	if err != nil {
		return nil, nil, nil, exit.With(exit.SysConfig, err)
	}
	plans := planners{s.now}
	base := api.Config{
		App:            s.app,
		Metrics:        s.metrics.Handler(),
		Observe:        s.metrics.Request,
		CursorKey:      assemble.CursorKey(s.store),
		Reader:         s.store,
		Engine:         s.engine,
		Principals:     s.auth,
		Audit:          s.store,
		SessionCookies: web.SessionCookies(),
		Version:        apitypes.Version{Version: v.Version, Commit: v.Commit, Schema: v.Schema, SQLite: v.SQLite, Go: v.Go},
		Log:            s.log,
	}
	var site *web.Server
	base.Secure = func(r *http.Request) bool { return site.Secure(r) }
	base.Streams = api.NewStreams(256)
	base.MCP = mcpserver.New(mcpserver.Config{App: s.app, Version: v.Version, Log: s.log,
		URL: func() string { return s.now().cfg.Notifications.URL }})
	base.A2A = a2aserver.New(a2aserver.Config{App: s.app, Version: v.Version, Log: s.log,
		URL: func() string { return s.now().cfg.Notifications.URL }})
	public, err := api.New(base)
	if err != nil {
		return nil, nil, nil, err
	}
	actor := assemble.LocalActor()
	site, err = web.New(web.Config{
		App:       s.app,
		Observe:   s.metrics.Request,
		Planner:   plans,
		Reader:    s.store,
		Engine:    s.engine,
		Auth:      s.auth,
		System:    s.system,
		Audit:     s.store,
		Settings:  s.settings,
		API:       public,
		Links:     web.Links{API: public.Reads, Workflow: s.workflowAddress},
		Streams:   base.Streams,
		Logger:    s.log,
		Hosts:     s.hosts(ln),
		TLS:       s.cfg.Server.TLSCert != "",
		Proxies:   proxies,
		Version:   v.Version,
		Node:      nodeName(),
		Idle:      auth.DefaultIdleTimeout,
		Ready:     s.ready,
		TwoPeople: func() bool { return s.now().cfg.Approvals.Separate },
		People:    assemble.PeopleOf(s.store),
	})
	if err != nil {
		public.Close()
		return nil, nil, nil, err
	}
	perSecond := func() int { return cmp.Or(s.now().cfg.Hooks.Rate, domain.HookRate) }
	hooks := hook.New(hook.Config{Store: s.store, Rate: perSecond, Engine: s.engine, Log: s.log, Mask: s.masks.Mask,
		Announce:    s.engine.Announce,
		CallbackKey: assemble.CallbackKey(s.store), Secret: func(name string) (string, bool) { return s.now().secrets.ForHook(name) }})
	events := site.ServeEvents(hooks, s.cfg.Hooks.Listen != "", func() string { return s.now().cfg.Hooks.URL }, perSecond)
	closeEvents, err := s.serveEvents(ctx, events)
	if err != nil {
		site.Close()
		public.Close()
		return nil, nil, nil, err
	}
	return site, public.LocalHandler(&actor), func() { closeEvents(); site.Close(); public.Close(); hooks.Close() }, nil
}

// watchedDirectories returns the directories in which hooks may watch files.
func (s *server) watchedDirectories() []string { return s.now().cfg.Hooks.Directories }

// ready returns the reason why the daemon cannot serve requests, or nil.
func (s *server) ready(ctx context.Context) error {
	select {
	case <-s.store.Failed():
		return s.store.Failure()
	default:
	}
	_, err := s.store.LastEvent(ctx)
	return err
}
