package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/account"
	"github.com/kairosd/kairosd/web/agents"
	"github.com/kairosd/kairosd/web/approvals"
	"github.com/kairosd/kairosd/web/audit"
	"github.com/kairosd/kairosd/web/bulk"
	"github.com/kairosd/kairosd/web/docs"
	"github.com/kairosd/kairosd/web/drafts"
	"github.com/kairosd/kairosd/web/find"
	"github.com/kairosd/kairosd/web/handoffs"
	"github.com/kairosd/kairosd/web/help"
	"github.com/kairosd/kairosd/web/home"
	"github.com/kairosd/kairosd/web/hooks"
	"github.com/kairosd/kairosd/web/live"
	"github.com/kairosd/kairosd/web/memory"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/plans"
	"github.com/kairosd/kairosd/web/run"
	"github.com/kairosd/kairosd/web/run/action"
	"github.com/kairosd/kairosd/web/run/compare"
	"github.com/kairosd/kairosd/web/runs"
	"github.com/kairosd/kairosd/web/schedules"
	"github.com/kairosd/kairosd/web/settings"
	"github.com/kairosd/kairosd/web/signals"
	"github.com/kairosd/kairosd/web/start"
	"github.com/kairosd/kairosd/web/system"
	"github.com/kairosd/kairosd/web/ui"
)

// Links are addresses outside of the dashboard. A function that is nil or returns "" has none.
type Links struct {
	// API returns the API path of a read operation, with {name} for each parameter.
	API func(app.Operation) string
	// Workflow returns Temporal's page about the workflow of a run.
	Workflow func(run string) string
}

// Config configures the dashboard. App, Reader, Engine, Auth, TwoPeople, and People are required.
type Config struct {
	App    *app.App
	Reader Reader
	Engine Engine
	Auth   Auth
	// System controls the server. The home page and the system pages need it.
	System system.System
	// Planner explains plans.
	Planner drafts.Planner
	// TwoPeople reports whether the person who started a run must not decide its approval requests.
	// It is called for each request, because the setting may change.
	TwoPeople func() bool
	// People returns the people behind the name of an actor. A token counts as the person who
	// created it.
	People func(ctx context.Context, name string) ([]string, error)
	// Settings reads the configuration. If it is nil, there are no configuration pages.
	Settings settings.Settings
	// Audit records denied actions. It may be nil.
	Audit Audit
	// API serves requests below /api/v1. It may be nil.
	API http.Handler
	// Links are addresses outside of the dashboard.
	Links Links
	// Streams limits live streams together with those of the API. If it is nil, only the limit of
	// each session applies.
	Streams interface {
		Enter(principal string) error
		Leave(principal string)
	}
	// Observe is called after every response, with the pattern of the route. It may be nil.
	Observe func(route, method string, status int, took time.Duration)
	Logger  *slog.Logger // nil discards log messages
	// Hosts are the host names and ports of the dashboard. Requests for other hosts are rejected,
	// to prevent DNS rebinding (A12).
	Hosts []string
	// TLS makes cookies Secure, because browsers connect with TLS.
	TLS bool
	// Proxies are the trusted proxies. Forwarding headers of other clients are ignored.
	Proxies []netip.Prefix
	// Zone is the default time zone of pages. Nil means UTC.
	Zone    *time.Location
	Version string
	// Node is the host name of the machine, for operators of several.
	Node string
	// Idle is the session idle timeout, which pages warn about. 0 disables the warning.
	Idle time.Duration
	// Beat is the interval of heartbeats of live streams. 0 means 15 seconds.
	Beat time.Duration
	// Ready returns the reason why the daemon cannot serve, for /readyz. It may be nil.
	Ready func(context.Context) error
	// Now returns the current time, for tests. Nil means time.Now.
	Now func() time.Time
}

// Server is the dashboard. It is an http.Handler.
type Server struct {
	Config
	echo    *echo.Echo
	handler http.Handler
	site    *ui.Site
	// sections are the parts of the dashboard that have their own packages.
	sections []ui.Section
	live     *live.Streams
	layouts  graph.Layouts
	// eventsURL returns the configured address of hooks, or "". It may be nil.
	eventsURL func() string
	// eventsRate returns the number of deliveries per second to a hook. It may be nil.
	eventsRate func() int
}

// readTimeout limits the time a page may read from the store.
const readTimeout = 5 * time.Second

// New builds the dashboard.
func New(c Config) (*Server, error) {
	if c.App == nil || c.Reader == nil || c.Engine == nil || c.Auth == nil || c.TwoPeople == nil || c.People == nil {
		return nil, errors.New("web: App, Reader, Engine, Auth, TwoPeople, and People are required")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	if c.TwoPeople == nil {
		c.TwoPeople = func() bool { return false }
	}
	if c.People == nil {
		c.People = func(_ context.Context, name string) ([]string, error) { return []string{name}, nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{Config: c}
	s.live = live.New(live.Ports{Events: c.Engine, Limit: c.Streams, Login: s.login, Beat: c.Beat})
	s.sections = s.buildSections()
	s.site = s.newSite()
	s.echo = echo.New()
	s.echo.IPExtractor = s.client
	s.echo.HTTPErrorHandler = s.fail
	s.echo.Use(s.observeRequests)
	s.routes()
	if err := s.checkPolicy(); err != nil {
		return nil, err
	}
	guard := http.NewCrossOriginProtection()
	s.handler = s.recoverPanics(s.limitBody(guard.Handler(s.requireOrigin(s.echo))))
	return s, nil
}

// buildSections returns the sections with their dependencies.
func (s *Server) buildSections() []ui.Section {
	return []ui.Section{
		s.live.Section(),
		run.Section(
			run.Ports{
				App:      s.App,
				Reader:   s.Reader,
				Engine:   s.Engine,
				Layouts:  &s.layouts,
				Cards:    s.cards(),
				System:   s.System,
				API:      s.API != nil,
				Workflow: s.Links.Workflow,
			},
		),
		compare.Section(compare.Ports{App: s.App, Reader: s.Reader, Engine: s.Engine}),
		action.Section(action.Ports{App: s.App, Reader: s.Reader, Engine: s.Engine}),
		account.Section(account.Ports{App: s.App, Auth: s.Auth}),
		agents.Section(agents.Ports{App: s.App, Reader: s.Reader, Engine: s.Engine, Settings: s.Settings, Plans: s.Planner != nil}),
		approvals.Section(approvals.Ports{App: s.App, Reader: s.Reader, Engine: s.Engine, Cards: s.cards()}),
		audit.Section(audit.Ports{App: s.App, Reader: s.Reader, Settings: s.Settings}),
		handoffs.Section(handoffs.Ports{Reader: s.Reader, Engine: s.Engine}),
		docs.Section(),
		help.Section(help.Ports{Runs: runs.Help(), Audit: audit.Help()}),
		bulk.Section(bulk.Ports{App: s.App, Programs: s.Engine}),
		find.Section(find.Ports{Reader: s.Reader, Programs: s.Engine}),
		home.Section(home.Ports{App: s.App, Reader: s.Reader, Programs: s.Engine, System: s.System, Cards: s.cards()}),
		drafts.Section(drafts.Ports{App: s.App, Reader: s.Reader, Engine: s.Engine, Planner: s.Planner, Layouts: &s.layouts}),
		memory.Section(memory.Ports{App: s.App}),
		runs.Section(runs.Ports{App: s.App, Reader: s.Reader, Programs: s.Engine}),
		plans.Section(plans.Ports{App: s.App, Reader: s.Reader, Engine: s.Engine, Layouts: &s.layouts}),
		schedules.Section(schedules.Ports{App: s.App}),
		hooks.Section(hooks.Ports{App: s.App, Base: s.eventsBase, Rate: s.hookRate}),
		signals.Section(signals.Ports{App: s.App}),
		settings.Section(settings.Ports{App: s.App, Settings: s.Settings}),
		start.Section(start.Ports{App: s.App, Reader: s.Reader, Plans: s.Engine}),
		system.Section(system.Ports{App: s.App, System: s.System, Settings: s.Settings}),
	}
}

// newSite returns what all requests share.
func (s *Server) newSite() *ui.Site {
	site := &ui.Site{App: s.App, Reader: s.Reader, APIPath: s.Links.API, Secure: s.secure, Zone: s.Zone, Version: s.Version, Node: s.Node,
		Idle: s.Idle, Now: s.Now, Logger: s.Logger}
	for _, section := range s.sections {
		site.Done = append(site.Done, section.Done...)
	}
	if s.System != nil {
		site.Notices = s.System.Notices
	}
	return site
}

// ServeEvents passes requests of other systems to h: POST /hooks/KEY, whose senders have a signature instead
// of a login, and POST /callbacks/TOKEN. If they have a listener of their own, the dashboard does not serve
// them. The result is the handler of that listener. address returns the configured address of hooks, or "", and rate the
// number of deliveries per second to a hook. It must be called before the first request.
func (s *Server) ServeEvents(h http.Handler, apart bool, address func() string, rate func() int) http.Handler {
	s.eventsURL, s.eventsRate = address, rate
	on := s.echo
	if apart {
		on = echo.New()
	}
	on.POST("/hooks/:hook", echo.WrapHandler(h))
	on.POST("/callbacks/:token", echo.WrapHandler(h))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.headers(w.Header(), r)
		on.ServeHTTP(w, r.WithContext(domain.WithRequest(r.Context(), domain.Request{ID: newID(), Address: s.client(r)})))
	})
}

// hookRate returns the number of deliveries per second to a hook.
func (s *Server) hookRate() int {
	if s.eventsRate == nil {
		return domain.HookRate
	}
	return s.eventsRate()
}

// eventsBase returns the address of the server as other systems reach it: the configured one, or the one that
// the browser uses.
func (s *Server) eventsBase(r *http.Request) string {
	if s.eventsURL != nil && s.eventsURL() != "" {
		return strings.TrimRight(s.eventsURL(), "/")
	}
	if s.secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (s *Server) now() time.Time { return s.Now() }

// Close ends all live streams.
func (s *Server) Close() { s.live.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(domain.WithRequest(r.Context(), domain.Request{ID: newID(), Address: s.client(r)}))
	s.headers(w.Header(), r)
	if !s.hostAllowed(r) {
		http.Error(w, "this host name is not served here", http.StatusMisdirectedRequest)
		return
	}
	if asked, ok := s.apiRequest(r); ok {
		s.API.ServeHTTP(w, asked)
		return
	}
	if r.Method == http.MethodHead && r.URL.Path != "/live" { // the headers of a stream would not be sent before its end
		r = r.WithContext(r.Context())
		r.Method = http.MethodGet // net/http omits the body
	}
	s.handler.ServeHTTP(w, r)
}

// observeRequests passes each completed request to Observe.
func (s *Server) observeRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		if err := next(c); err != nil {
			c.Error(err) // sends the response, so that the status is known
		}
		if s.Observe != nil {
			s.Observe(c.Path(), c.Request().Method, c.Response().Status, time.Since(began))
		}
		return nil
	}
}

func (s *Server) hostAllowed(r *http.Request) bool {
	return len(s.Hosts) == 0 || slices.Contains(s.Hosts, r.Host)
}

// headers sets the headers of every response, for pages, the API, and errors. Cacheable responses,
// such as files, override Cache-Control.
func (s *Server) headers(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
	if s.secure(r) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// limitBody limits the size of request bodies.
func (s *Server) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 4<<20)
		next.ServeHTTP(w, r)
	})
}

// requireOrigin rejects cross-origin posts that the CSRF library accepts. These are posts with a session
// cookie but without Origin and Sec-Fetch-Site, which the library assumes to be from programs, and
// origins with user information. If Origin is the only evidence, its scheme must match as well.
func (s *Server) requireOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			origin := r.Header.Get("Origin")
			_, err := r.Cookie(s.site.CookieName(r))
			site := r.Header.Get("Sec-Fetch-Site")
			if err == nil && origin == "" && site == "" || strings.Contains(origin, "@") ||
				origin != "" && site == "" && origin != s.site.Origin(r) {
				http.Error(w, "cross-origin request refused", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// recoverPanics logs a panic of a page and responds with an error, so that the process continues.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				id := newID()
				s.Logger.Error("page panicked", "id", id, "path", r.URL.Path, "panic", p)
				http.Error(w, "internal error "+id, http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// SessionCookies returns the possible names of the session cookie.
func SessionCookies() []string { return []string{"__Host-kairos", "kairos"} }
