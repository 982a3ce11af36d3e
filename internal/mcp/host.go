package mcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Pins stores the accepted definitions of tools.
type Pins interface {
	// ToolPins returns the definitions of one server.
	ToolPins(ctx context.Context, server string) ([]domain.ToolPin, error)
	PinRecorder
}

// PinRecorder is the part of [Pins] that accepting a definition needs.
type PinRecorder interface {
	// PutToolPins adds or replaces definitions, in one transaction with the audit records.
	PutToolPins(ctx context.Context, pins []domain.ToolPin, records ...domain.AuditRecord) error
}

// Registry receives tools. Put replaces a tool with the same name.
type Registry interface{ Put(llm.Tool) error }

// Options of a [Host].
type Options struct {
	Servers  map[string]Server
	Pins     Pins
	Registry Registry
	Logger   *slog.Logger // nil: no log
	// PidFile lists the running processes, so that a start after a crash can end them. If it is
	// empty, there is no list.
	PidFile string
	Version string // version of kairosd, sent to servers
	// Idle starts no server: accepted tools are listed, but cannot be called.
	Idle bool
	// Before is the host of the previous configuration, or nil. A server with an unchanged
	// configuration keeps its session and process, and moves to the new host when that adopts it.
	Before *Host
	// Backoff is the wait before the first restart. It doubles up to a minute. Default 1s.
	Backoff time.Duration
}

// States of a tool.
const (
	StateReady       = "ready"
	StateUnavailable = "unavailable" // its server is not running
	StateChanged     = "changed"     // its definition is not the accepted one
	StateGone        = "gone"        // its server no longer offers it
)

// Tool is the status of a tool, for people.
type Tool struct {
	Name, Server, State, Reason string
	// Change describes the difference between the offered and the accepted definition, or is nil.
	Change *Change
}

// Change is a definition that differs from the accepted one.
type Change struct {
	Accepted, Offered Definition
	// AcceptedEffect and OfferedEffect are the side-effect classes under either definition.
	AcceptedEffect, OfferedEffect walk.Effect
	// Digest identifies the offered definition, so that a person accepts only what they have read.
	Digest string
}

// States of a server, besides StateReady and StateUnavailable.
const (
	StateDisabled = "disabled" // it ended too often; an operator can restart it
	StateOff      = "off"      // its command is not allowed, or servers are not started
)

// ServerStatus is the status of a server, for people.
type ServerStatus struct {
	Name, State, Reason string
	// Address is the path of its command, or its URL.
	Address string
	// Tools is the number of tools it offers. Restarts is the number of restarts since the host
	// was created.
	Tools, Restarts int
	Since           time.Time // when State last changed
}

// Host runs the servers of a configuration. It is safe for concurrent use.
type Host struct {
	o       Options
	servers map[string]*server
	orphans *orphans

	mu sync.Mutex
	// own contains the servers that end with this host. The others belong to Before or to the next
	// host.
	own map[string]bool
}

// New returns a host. [Host.Start] starts its servers.
func New(o Options) (*Host, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Backoff == 0 {
		o.Backoff = time.Second
	}
	h := &Host{o: o, servers: map[string]*server{}, own: map[string]bool{}, orphans: &orphans{path: o.PidFile}}
	if o.Before != nil {
		h.orphans = o.Before.orphans // one file lists the processes of all hosts
	}
	for name, c := range o.Servers {
		if err := c.Check(name); err != nil {
			return nil, err
		}
		if s := h.inherits(name, c.withDefaults()); s != nil {
			h.servers[name] = s
			continue
		}
		h.own[name] = true
		h.servers[name] = &server{
			host:       h,
			registry:   o.Registry,
			name:       name,
			config:     c.withDefaults(),
			done:       make(chan struct{}),
			log:        o.Logger.With("server", name),
			pins:       map[string]pin{},
			offered:    map[string]Definition{},
			refreshNow: make(chan struct{}, 1),
			first:      make(chan struct{}),
			retry:      make(chan struct{}, 1),
		}
	}
	return h, nil
}

// Start offers the accepted tools, starts the servers, and returns when each runs or has failed,
// so that plans find the tools they name. A server that fails is retried and causes no error here.
func (h *Host) Start(ctx context.Context) error {
	if h.o.Before == nil {
		if err := h.orphans.reap(); err != nil {
			h.o.Logger.Warn("cannot end processes of the previous generation", "err", err)
		}
	}
	var fresh []*server
	for _, name := range h.names() {
		s := h.servers[name]
		if !h.own[name] {
			s.offer(h.o.Registry)
			continue
		}
		fresh = append(fresh, s)
		if err := s.recall(ctx); err != nil {
			return err
		}
	}
	if h.o.Idle {
		for _, s := range fresh {
			s.phase, s.why = StateOff, message.New("MCP servers are not started")
		}
		return nil
	}
	for _, s := range fresh {
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s.cancel = cancel
		go func() {
			defer close(s.done)
			s.run(life)
		}()
	}
	for _, s := range fresh {
		select {
		case <-s.first:
		case <-ctx.Done():
			h.Close()
			return context.Cause(ctx)
		}
	}
	return nil
}

// inherits returns the server of the previous host if it is unchanged and works. A disabled server,
// or one that is not allowed, is started again.
func (h *Host) inherits(name string, c Server) *server {
	before := h.o.Before
	if before == nil || h.o.Idle {
		return nil
	}
	before.mu.Lock()
	s := before.servers[name]
	if !before.own[name] {
		s = nil
	}
	before.mu.Unlock()
	if s == nil || s.cancel == nil || !reflect.DeepEqual(s.config, c) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil && (s.phase == StateDisabled || s.phase == StateOff) {
		return nil
	}
	return s
}

// Adopt takes over the servers that continue from the previous host: from now on they offer their
// tools to this host's registry and end with it.
func (h *Host) Adopt() {
	for _, name := range h.names() {
		h.mu.Lock()
		mine := h.own[name]
		h.own[name] = true
		h.mu.Unlock()
		if mine {
			continue
		}
		before := h.o.Before
		before.mu.Lock()
		delete(before.own, name)
		before.mu.Unlock()
		h.servers[name].offerOnly(h.o.Registry)
	}
	h.o.Before = nil
}

// Close ends every server and returns when their processes are gone. Servers that another host has
// adopted continue.
func (h *Host) Close() {
	var ending []*server
	h.mu.Lock()
	for name := range h.own {
		if s := h.servers[name]; s.cancel != nil {
			s.cancel()
			ending = append(ending, s)
		}
	}
	h.mu.Unlock()
	for _, s := range ending {
		<-s.done
	}
}

func (h *Host) names() []string { return slices.Sorted(maps.Keys(h.servers)) }

// Tools lists the tools of all servers by name.
func (h *Host) Tools() []Tool {
	var list []Tool
	for _, name := range h.names() {
		list = append(list, h.servers[name].list()...)
	}
	return list
}

// Servers lists the servers by name.
func (h *Host) Servers() []ServerStatus {
	list := make([]ServerStatus, 0, len(h.servers))
	for _, name := range h.names() {
		list = append(list, h.servers[name].status())
	}
	return list
}

// Errors of [Host.Accept] and [Host.Retry].
var (
	ErrNoTool    = errors.New("no MCP server offers this tool")
	ErrUnchanged = errors.New("this definition is already accepted")
	ErrStale     = errors.New("the server now offers a different definition")
	ErrNoServer  = errors.New("MCP server not configured")
)

// Accept accepts the definition that the server offers now, if it has this digest. An empty digest
// accepts any definition. keep stores the definition with the audit records; if it is nil,
// Options.Pins stores it.
func (h *Host) Accept(ctx context.Context, tool, digest string, keep PinRecorder, records ...domain.AuditRecord) error {
	name, own, _ := strings.Cut(tool, ".")
	s := h.servers[name]
	if s == nil {
		return ErrNoTool
	}
	if keep == nil {
		keep = h.o.Pins
	}
	return s.accept(ctx, own, digest, keep, records)
}

// Retry restarts a server that is disabled or waits for its restart. A running server lists its
// tools again. The error is ErrNoServer, or the reason why the server may not run.
func (h *Host) Retry(name string) error {
	s := h.servers[name]
	switch {
	case s == nil:
		return ErrNoServer
	case h.o.Idle:
		return errIdle
	}
	if err := s.config.granted(); err != nil {
		return err
	}
	select {
	case s.retry <- struct{}{}:
	default: // already requested
	}
	return nil
}

var errIdle = errors.New("MCP servers are not started")

// state returns the state of a tool, and the reason why it cannot be called. The caller holds s.mu.
func (s *server) state(tool string) (state string, reason message.Message) {
	d, offered := s.offered[tool]
	switch {
	case s.session == nil:
		return StateUnavailable, s.why
	case !offered:
		return StateGone, message.New("the server no longer offers it")
	case s.pins[tool].hash != d.hash():
		return StateChanged, message.New("its definition has changed since it was accepted")
	}
	return StateReady, message.Message{}
}

func (s *server) list() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Tool
	for _, name := range slices.Sorted(maps.Keys(s.pins)) {
		if !s.permits(name) {
			continue
		}
		t := Tool{Name: s.name + "." + name, Server: s.name}
		var reason message.Message
		t.State, reason = s.state(name)
		if t.Reason = reason.String(); t.State == StateChanged {
			was, is := s.pins[name].definition, s.offered[name]
			t.Change = &Change{
				Accepted:       was,
				Offered:        is,
				AcceptedEffect: s.config.effect(was),
				OfferedEffect:  s.config.effect(is),
				Digest:         is.hash(),
			}
		}
		list = append(list, t)
	}
	if len(list) == 0 && s.session == nil { // so that the list contains the server
		list = append(list, Tool{Name: s.name + ".*", Server: s.name, State: StateUnavailable, Reason: s.why.String()})
	}
	return list
}

func (s *server) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{
		Name:     s.name,
		State:    s.phase,
		Reason:   s.why.String(),
		Address:  s.config.URL,
		Tools:    len(s.offered),
		Restarts: s.restarts,
		Since:    s.since,
	}
	if len(s.config.Command) > 0 {
		st.Address = s.config.Command[0]
	}
	if s.session != nil {
		st.State = StateReady
	} else {
		st.Tools = 0
	}
	return st
}
