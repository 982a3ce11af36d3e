// Package api serves the JSON API under /api/v1. Package internal/app has its operations and the
// roles that they require. /api/v1/openapi.json describes it.
//
// Every error is an RFC 9457 problem with the extension members code, message, suggestion, and
// errors. Lists have pages with opaque cursors. A POST request with an Idempotency-Key is executed
// once.
package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// Base is the path prefix of the API.
const Base = "/api/v1"

// Config configures an [API]. App, Reader, Engine, and one of Principals and Local are required.
type Config struct {
	App        *app.App
	Reader     Reader
	Engine     Engine
	Principals Principals
	// Local is the principal of every request. Requests then need no credential. Set it only for a
	// Unix socket that only its owner can open.
	Local *domain.Actor
	// Audit records denied actions. If it is nil, nothing records them.
	Audit Audit
	// Lazy builds each operation at its first request. It suits a process that serves few requests.
	Lazy bool
	// ShowInternal puts the text of internal errors into responses. Set it only if the caller is
	// this process, which has no log to read.
	ShowInternal bool
	// MCP answers requests of MCPPath, and A2A those of A2APath and A2ACardPath. Without a server, its paths do
	// not exist.
	MCP, A2A Protocol
	// Metrics serves /metrics. If it is nil, that route answers 503.
	Metrics http.Handler
	// Observe, if set, is called after every request with the pattern of its route. The pattern is
	// empty if the request was refused before a route was found.
	Observe func(route, method string, status int, took time.Duration)
	// Secure reports whether a request came over TLS, possibly to a proxy. If it is nil, the
	// connection decides.
	Secure func(*http.Request) bool
	// SessionCookies are the names of cookies that may hold a session secret.
	SessionCookies []string
	// CursorKey authenticates cursors. If it is empty, the key is random, and cursors do not
	// survive a restart.
	CursorKey []byte
	Version   apitypes.Version
	Log       *slog.Logger

	MaxStreams int           // open event streams at once; default 256
	Streams    *Streams      // shared limit with the streams of pages; nil: only MaxStreams applies
	Recheck    time.Duration // how often a stream's credential is checked again; default 1 minute
	Heartbeat  time.Duration // interval of heartbeats on an idle stream; default 15 s
	// WriteTimeout limits the time to send one event to a client. The default is 30 s.
	WriteTimeout time.Duration
}

// API serves all paths below [Base].
type API struct {
	Config
	kernel
	lifetime
	huma   huma.API
	echo   *echo.Echo
	front  http.Handler
	starts chan struct{} // one token per start in progress
	routes []served      // as registered
	errs   []error
}

// served is a route and its operation.
type served struct {
	op           app.Operation
	method, path string // the path without Base, with {names}
}

// New builds the API. It returns an error if the policy does not list the operation of a route.
func New(c Config) (*API, error) {
	switch {
	case c.App == nil || c.Reader == nil || c.Engine == nil:
		return nil, errors.New("api: App, Reader, and Engine are required")
	case c.Principals == nil && c.Local == nil:
		return nil, errors.New("api: Principals or Local is required")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if len(c.CursorKey) == 0 {
		c.CursorKey = make([]byte, 32)
		rand.Read(c.CursorKey)
	}
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	c.MaxStreams = cmp.Or(c.MaxStreams, maxStreams)
	if c.Streams == nil {
		c.Streams = NewStreams(c.MaxStreams)
	}
	c.Recheck = cmp.Or(c.Recheck, time.Minute)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)

	a := &API{Config: c, kernel: kernel{c.Log, c.ShowInternal, c.CursorKey}, echo: echo.New(), starts: make(chan struct{}, maxStarts)}
	a.front = a.LocalHandler(c.Local)
	a.stop, a.end = context.WithCancel(context.Background())
	a.echo.HTTPErrorHandler = a.unrouted
	a.echo.Use(a.observed, plainNames)
	a.huma = humaecho.NewWithGroup(a.echo, a.echo.Group(Base), humaConfig(cmp.Or(c.Version.Version, "0")))

	a.metaRoutes()
	a.protocolRoutes()
	for _, subject := range a.subjects() {
		subject.routes(a)
	}
	if !a.Lazy {
		a.describe()
	}
	if err := errors.Join(a.errs...); err != nil {
		return nil, err
	}
	return a, nil
}

// subjects are the handlers of operations, one per subject.
func (a *API) subjects() []interface{ routes(a *API) } {
	k, ops := &a.kernel, a.App
	return []interface{ routes(a *API) }{
		planHandler{k, ops.Plans, ops.Drafts},
		runHandler{k, ops.Runs, ops.Plans, ops.Failures},
		actionHandler{ops.Runs},
		approvalHandler{k, ops.Approvals, ops.Runs},
		accountHandler{k, ops.Accounts, ops.Tokens},
		eventHandler{k, &a.lifetime, &a.Config, ops.Runs, a.foreignOrigin},
		systemHandler{k, ops.System, a.Metrics},
		settingsHandler{ops.System},
		toolHandler{k, ops.Tools},
		agentHandler{k, ops.Agents, ops.Providers},
		planningHandler{ops.Planning},
		draftHandler{k, ops.Drafts},
		budgetHandler{k, ops.Budgets},
		bulkHandler{k, ops.Bulk},
		failureHandler{k, ops.Failures},
		scheduleHandler{k, ops.Schedules},
		signalHandler{k, ops.Signals},
		hookHandler{k, ops.Hooks},
		viewHandler{k, ops.Views},
		memoryHandler{k, ops.Memory},
		auditHandler{k, ops.Audit, ops.Runs},
	}
}

func humaConfig(version string) huma.Config {
	c := huma.DefaultConfig("kairosd", version)
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	describeEnums(c.Components.Schemas)
	c.Formats = map[string]huma.Format{"application/json": answers, "json": answers}
	c.CreateHooks = nil // no $schema members in responses
	c.Transformers = append(c.Transformers, tag)
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.RejectUnknownQueryParameters = true
	c.Info.Description = "Store plans, run them durably, and operate their runs."
	c.Servers = []*huma.Server{{URL: Base}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "An API token. Create one with kairosd token create."},
	}
	return c
}

// Close ends all open event streams and waits for them.
func (a *API) Close() {
	a.end()
	a.open.Wait()
}

// methods are the methods of all routes. Requests with any other method are refused.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions}

// localHandler serves an API to one listener.
type localHandler struct {
	*API
	local   *domain.Actor // the principal of every request; nil: requests need a credential
	streams *Streams
}

// LocalHandler returns a handler of the same API with its own limit of streams. Every request acts
// as local, without a credential. If local is nil, requests need a credential.
func (a *API) LocalHandler(local *domain.Actor) http.Handler {
	streams := a.Streams
	if local != nil { // all local users share one principal
		streams = NewStreams(a.MaxStreams)
		streams.share = a.MaxStreams
	}
	return &localHandler{API: a, local: local, streams: streams}
}

// ServeHTTP admits a request and routes it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.front.ServeHTTP(w, r) }

const (
	// maxStarts is the maximum number of concurrent starts of runs. It is large enough to fill a
	// group commit, and it limits the memory of starts that wait for the disk.
	maxStarts = 64
	// startsWait is the longest time that a start waits for its turn. It keeps stalled requests
	// from blocking others.
	startsWait = time.Second
)

// takeTurn waits until a start may proceed.
func (a *API) takeTurn(ctx context.Context) (end func()) {
	end = func() { <-a.starts }
	select {
	case a.starts <- struct{}{}:
		return end
	default:
	}
	patience := time.NewTimer(startsWait)
	defer patience.Stop()
	select {
	case a.starts <- struct{}{}:
		return end
	case <-patience.C:
	case <-ctx.Done():
	}
	return func() {}
}

// ServeHTTP admits a request and routes it. It reads only the head of the request before it has
// checked the credential.
func (a *localHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler {
				panic(v)
			}
			a.Log.Error("panic while answering", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			a.refuse(w, r, a.problem(r.Context(), fmt.Errorf("panic: %v", v)))
		}
	}()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	protocol, source := a.protocol(r.URL.Path)
	if !strings.HasPrefix(r.URL.Path, Base+"/") && protocol == nil {
		a.refuse(w, r, notFound())
		return
	}
	if !slices.Contains(methods, r.Method) {
		p := notFound()
		if allowed := a.allowed(r.URL.Path); allowed != "" {
			h.Set("Allow", allowed)
			p = notAllowed()
		}
		a.refuse(w, r, p)
		return
	}
	info := &requestInfo{request: r, streams: a.streams, local: a.local != nil}
	if !public[strings.TrimPrefix(r.URL.Path, Base)] {
		check, err := a.credential(r)
		if err == nil {
			info.check = check
			info.actor, err = check(r.Context())
			info.actor.Request = requestOf(r)
		}
		if err == nil && protocol != nil {
			info.actor, err = programCaller(r, info.local, info.actor, source)
		}
		if err != nil {
			p := a.problem(r.Context(), err)
			if a.Observe != nil {
				a.Observe("", r.Method, p.Status, 0)
			}
			a.refuse(w, r, p)
			return
		}
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // otherwise, malformed parts would be ignored silently
		a.refuse(w, r, invalid("query.malformed", "the query is malformed"))
		return
	}
	if r.Method == http.MethodHead {
		w, info.head = &headWriter{ResponseWriter: w}, true
	}
	r = r.WithContext(context.WithValue(r.Context(), infoKey{}, info))
	if info.head {
		r.Method = http.MethodGet
	}
	if r.Method == http.MethodPost && r.URL.Path == Base+"/runs" { // after authentication, so that refused requests take no turn
		defer a.takeTurn(r.Context())()
	}
	a.echo.ServeHTTP(w, r)
}

// observed calls the observer after a request.
func (a *API) observed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		if err := next(c); err != nil {
			c.Error(err) // writes the response, so that its status is known
		}
		if a.Observe != nil {
			a.Observe(c.Path(), c.Request().Method, c.Response().Status, time.Since(began))
		}
		return nil
	}
}

// plainNames undoes the escaping of the names in an address, which echo keeps.
func plainNames(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.RawPath != "" {
			names := slices.Clone(c.ParamValues())
			for i, name := range names {
				if plain, err := url.PathUnescape(name); err == nil {
					names[i] = plain
				}
			}
			c.SetParamValues(names...)
		}
		return next(c)
	}
}

// unrouted responds to requests without a route.
func (a *API) unrouted(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := notFound()
	if he, ok := errors.AsType[*echo.HTTPError](err); ok && he.Code == http.StatusMethodNotAllowed {
		c.Response().Header().Set("Allow", a.allowed(c.Request().URL.Path))
		p = notAllowed()
	} else if !ok {
		p = a.problem(c.Request().Context(), err)
	}
	a.refuse(c.Response(), c.Request(), p)
}

// allowed returns the methods of the routes at a path, or "" if there is none.
func (a *API) allowed(path string) string {
	var list []string
	for _, r := range a.routes {
		if fits(Base+r.path, path) {
			list = append(list, r.method)
		}
	}
	if len(list) == 0 {
		return ""
	}
	if slices.Contains(list, http.MethodGet) {
		list = append(list, http.MethodHead)
	}
	return joinSorted(append(list, http.MethodOptions))
}

// fits reports whether a path matches a pattern with {names}.
func fits(route, path string) bool {
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !(strings.HasPrefix(want[i], "{") && got[i] != "") {
			return false
		}
	}
	return true
}

// requestInfo holds what handlers need of a request besides its input.
type requestInfo struct {
	request *http.Request
	actor   domain.Actor
	// check looks up the principal again while a stream is open.
	check func(context.Context) (domain.Actor, error)
	head  bool
	// local reports that the principal follows from the listener, and not from a credential.
	local bool
	// streams limits the event streams of the listener that received the request.
	streams *Streams
	// repeated is set if the Idempotency-Key shows that the request was executed before.
	repeated bool
}

type infoKey struct{}

func infoOf(ctx context.Context) *requestInfo {
	info, _ := ctx.Value(infoKey{}).(*requestInfo)
	if info == nil {
		return &requestInfo{request: &http.Request{Header: http.Header{}}}
	}
	return info
}

// requestOf returns the id of a request. It creates one unless a proxy has sent one.
func requestOf(r *http.Request) domain.Request {
	if q := domain.RequestOf(r.Context()); q != (domain.Request{}) {
		return q
	}
	b := make([]byte, 8)
	rand.Read(b) // never fails (crypto/rand)
	q := domain.Request{ID: hex.EncodeToString(b)}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		q.Address = host
	}
	return q
}

func actorOf(ctx context.Context) domain.Actor { return infoOf(ctx).actor }

// headWriter writes the response to a HEAD request, without its body.
type headWriter struct{ http.ResponseWriter }

func (w *headWriter) Write(b []byte) (int, error)         { return len(b), nil }
func (w *headWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }
func (w *headWriter) Unwrap() http.ResponseWriter         { return w.ResponseWriter }
