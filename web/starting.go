package web

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/view"
)

// StartingConfig configures the server that runs during startup.
type StartingConfig struct {
	// Progress returns the progress of the startup.
	Progress func() domain.Startup
	// API serves requests below /api/v1.
	API     http.Handler
	Hosts   []string
	TLS     bool
	Proxies []netip.Prefix
	Version string
	Logger  *slog.Logger // nil discards log messages
}

// startingPart is the id of the element that refreshes automatically.
const startingPart = "starting"

// NewStarting returns the handler that serves while the daemon starts. The process is alive but not
// ready, and every page shows the progress of the startup. It reveals no stored data.
func NewStarting(c StartingConfig) http.Handler {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		Config: Config{
			API:     c.API,
			Hosts:   c.Hosts,
			TLS:     c.TLS,
			Proxies: c.Proxies,
			Version: c.Version,
			Logger:  c.Logger,
			Zone:    time.UTC,
			Now:     time.Now,
		},
		echo: echo.New(),
	}
	s.site = s.newSite()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveStarting(w, r, c.Progress) })
}

func (s *Server) serveStarting(w http.ResponseWriter, r *http.Request, progress func() domain.Startup) {
	s.headers(w.Header(), r)
	if !s.hostAllowed(r) {
		http.Error(w, "this host name is not served here", http.StatusMisdirectedRequest)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(domain.StartRetryAfter.Seconds()))))
	if asked, ok := s.apiRequest(r); ok {
		s.API.ServeHTTP(w, asked)
		return
	}
	c := s.echo.NewContext(r, w)
	var err error
	switch file, isFile := staticFile(r.URL.Path); {
	case isFile:
		w.Header().Del("Retry-After")
		static.Serve(w, r, strings.Split(r.URL.Path, "/")[2], file)
	case r.URL.Path == "/healthz":
		w.Header().Del("Retry-After")
		err = c.String(http.StatusOK, "ok\n")
	case r.URL.Path == "/readyz":
		err = c.String(http.StatusServiceUnavailable, "kairosd is starting: "+progress().String()+"\n")
	default:
		err = s.startingPage(c, progress())
	}
	if err != nil {
		s.Logger.Debug("answer while starting", "err", err)
	}
}

// startingPage renders the page that every address shows during startup.
func (s *Server) startingPage(c echo.Context, p domain.Startup) error {
	r := s.newRequest(c.Request().Context(), c, "")
	c.Response().Header().Set("Vary", "HX-Request, HX-Target")
	v := view.StartingPage{Shell: r.shell("", ""), Sent: c.Request().Method != http.MethodGet && c.Request().Method != http.MethodHead}
	v.Display = nil // the form could not be submitted
	v.Stage = r.t("kairosd is starting: %s", r.startupStage(p))
	v.Title = v.Stage
	v.RequestStart = r.Start
	v.For = r.t("Running for %s.", formatDuration(s.now().Sub(p.Since)))
	if p.Percent >= 0 {
		v.Done = fmt.Sprintf("%d%%", min(p.Percent, 100))
	}
	if r.target() == startingPart {
		return r.render(http.StatusOK, view.Startup(v)) // htmx ignores responses with an error status
	}
	return r.render(http.StatusServiceUnavailable, view.Starting(v))
}

var startupStageTexts = map[domain.StartStage]string{
	domain.StartOpening:    locale.Mark("opening the database"),
	domain.StartChecking:   locale.Mark("checking the database before its upgrade"),
	domain.StartEncrypting: locale.Mark("encrypting the kept copy of the previous database"),
	domain.StartCopying:    locale.Mark("copying the database"),
	domain.StartVerifying:  locale.Mark("verifying the upgraded database"),
	domain.StartTools:      locale.Mark("starting tools and models"),
	domain.StartRuns:       locale.Mark("resuming unfinished runs"),
}

// startupStage describes the progress in the reader's language.
func (r *request) startupStage(p domain.Startup) string {
	text := r.t("migration %d of %d", p.Step, p.Of)
	if p.Stage != domain.StartMigrating {
		text = r.t(startupStageTexts[p.Stage])
	}
	if p.Percent >= 0 {
		text += fmt.Sprintf(", %d%%", p.Percent)
	}
	return text
}

// staticFile returns the file name in a path below /static/.
func staticFile(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/static/")
	if !ok {
		return "", false
	}
	_, name, ok = strings.Cut(rest, "/")
	return name, ok
}
