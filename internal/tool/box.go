package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/planner/walk"
)

// Models provides the agents and model providers of a configuration.
type Models interface {
	AgentInfos() []domain.AgentInfo
	ProviderInfos() []domain.ProviderInfo
	HasProvider(name string) bool
}

// Box contains the tools of a server. It runs their MCP servers until it is closed. It is safe for
// concurrent use.
type Box struct {
	// Models are the agents and providers of the same server, or nil. Set it before the first use
	// of the box.
	Models Models
	// Calls contains statistics of the calls of tools, agents, and providers, and which of them
	// operators have disabled.
	Calls *activity.Log
	// Circuits stop calls to tools and providers after repeated failures.
	Circuits *circuit.Board
	// OnClose, if set, is called when the box is closed, before its store is closed.
	OnClose func()

	set   *Set
	host  *mcp.Host // nil: no servers are configured
	mask  func([]byte) []byte
	pins  mcp.Pins
	keeps bool // stores the changes of people; nil: nothing can be disabled
}

// BoxOptions configure a [Box]. A box with the zero value only lists tools.
type BoxOptions struct {
	Tools   Config
	Servers map[string]mcp.Server
	// Guard protects files and listeners from all tools. If it is nil, only the built-in rules
	// apply.
	Guard *Guard
	// Before is the box of the previous configuration. Call statistics, disabled tools, and
	// circuits are kept, and unchanged MCP servers keep running. Nil means none.
	Before *Box
	// Pins stores accepted definitions. If it is nil, the box keeps them in memory, and changes of
	// people are not stored.
	Pins    mcp.Pins
	PidFile string
	Idle    bool                // start no server: list only the accepted definitions
	Logger  *slog.Logger        // nil: nothing is logged
	Mask    func([]byte) []byte // removes secrets from a text; nil: there are none
	Version string              // of kairosd, sent to servers
}

// Recorder stores the changes of people, each in one transaction with its audit record.
type Recorder interface {
	// SetSettingAs stores a value under a key.
	SetSettingAs(ctx context.Context, key, value string, r domain.AuditRecord) error
	// SetCircuitsAs stores all circuits.
	SetCircuitsAs(ctx context.Context, list []domain.StoredCircuit, r domain.AuditRecord) error
	// EnableAs stores a value under a key, and all circuits.
	EnableAs(ctx context.Context, key, value string, list []domain.StoredCircuit, r domain.AuditRecord) error
	mcp.PinRecorder
}

// NewBox creates the tools of a configuration and starts its MCP servers.
func NewBox(ctx context.Context, o BoxOptions) (*Box, error) {
	set, err := Builtin(o.Tools, o.Guard)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "configuration: %w", err)
	}
	t := &Box{set: set, mask: o.Mask, keeps: o.Pins != nil}
	var before *mcp.Host
	if o.Before != nil {
		t.Calls, t.Circuits, before = o.Before.Calls, o.Before.Circuits, o.Before.host
	} else {
		t.Calls, t.Circuits = activity.New(o.Mask), circuit.NewBoard(o.Mask)
	}
	set.Watch(t.Calls, t.Circuits)
	if len(o.Servers) == 0 && before == nil { // a host without servers may still list processes of an earlier one
		return t, nil
	}
	if t.pins = o.Pins; t.pins == nil {
		t.pins = &forgetful{}
	}
	t.host, err = mcp.New(
		mcp.Options{
			Servers:  o.Servers,
			Pins:     t.pins,
			Registry: set,
			Logger:   o.Logger,
			PidFile:  o.PidFile,
			Version:  o.Version,
			Idle:     o.Idle,
			Before:   before,
		},
	)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "configuration: %w", err)
	}
	if err := t.host.Start(ctx); err != nil {
		t.host.Close()
		return nil, err
	}
	return t, nil
}

// Adopt takes over the MCP servers of the previous box whose configuration has not changed.
func (t *Box) Adopt() {
	if t.host != nil {
		t.host.Adopt()
	}
}

// Set returns the tools for callers.
func (t *Box) Set() *Set { return t.set }

// Agents lists the agents.
func (t *Box) Agents(context.Context) ([]domain.AgentInfo, error) {
	if t.Models == nil {
		return []domain.AgentInfo{}, nil
	}
	return t.Models.AgentInfos(), nil
}

// Providers lists the providers of models.
func (t *Box) Providers(context.Context) ([]domain.ProviderInfo, error) {
	if t.Models == nil {
		return []domain.ProviderInfo{}, nil
	}
	return t.Models.ProviderInfos(), nil
}

// Close ends the MCP servers.
func (t *Box) Close() {
	if t == nil {
		return
	}
	if t.host != nil {
		t.host.Close()
	}
	if t.OnClose != nil {
		t.OnClose()
	}
}

// Tools lists the tools by name.
func (t *Box) Tools(context.Context) ([]domain.ToolInfo, error) {
	remote := map[string]mcp.Tool{}
	list := []domain.ToolInfo{}
	if t.host != nil {
		for _, r := range t.host.Tools() {
			remote[r.Name] = r
			if _, known := t.set.Lookup(r.Name); !known { // a server that has never run
				list = append(
					list,
					domain.ToolInfo{
						Name:       r.Name,
						Source:     r.Server,
						Effect:     string(walk.EffectUnsafe),
						Permission: string(t.set.Permission(r.Name)),
						State:      r.State,
						Reason:     r.Reason,
					},
				)
			}
		}
	}
	for _, s := range t.set.Specs() {
		info := domain.ToolInfo{Name: s.Name, Description: s.Description, Source: "built-in", Effect: string(t.set.Effect(s.Name, nil)),
			Permission: string(
				t.set.Permission(s.Name),
			), State: mcp.StateReady, Schema: s.Schema, Timeout: domain.Millis(t.set.MaxDuration(s.Name))}
		if s.Effect != "" {
			info.Effect = string(s.Effect)
		}
		if r, ok := remote[s.Name]; ok {
			info.Source, info.State, info.Reason, info.Change = r.Server, r.State, r.Reason, changeOf(r.Change)
		}
		info.Activity = t.Calls.Of(activity.Tool + s.Name)
		if by, ok := t.Calls.Disabled(activity.Tool + s.Name); ok {
			info.Disabled = &by
		}
		if t.set.Reach(s.Name) != ReachesNone {
			b := t.set.Breaker(s.Name)
			info.Breaker, info.Circuits = &domain.Breaker{
				Failures: b.Failures,
				Cooldown: domain.Millis(b.Cooldown),
				PerHost:  t.set.Reach(s.Name) == ReachesHosts,
			}, t.Circuits.Of(
				activity.Tool+s.Name,
			)
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b domain.ToolInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Host returns the target of a call, in the form that names its circuit. It is empty if the tool
// has one circuit, or if the arguments have no target.
func (t *Box) Host(name string, args any) string { return t.set.Host(name, args) }

func changeOf(c *mcp.Change) *domain.ToolChange {
	if c == nil {
		return nil
	}
	of := func(d mcp.Definition, effect walk.Effect) domain.ToolDefinition {
		return domain.ToolDefinition{
			Description: d.Description,
			Schema:      d.Schema,
			ReadOnly:    d.ReadOnly,
			Idempotent:  d.Idempotent,
			Effect:      string(effect),
		}
	}
	return &domain.ToolChange{Accepted: of(c.Accepted, c.AcceptedEffect), Offered: of(c.Offered, c.OfferedEffect), Digest: c.Digest}
}

// Mask removes secrets from a text.
func (t *Box) Mask(text []byte) []byte {
	if t.mask == nil {
		return text
	}
	return t.mask(text)
}

func (t *Box) masked(text string) string {
	if t.mask == nil || text == "" {
		return text
	}
	return string(t.mask([]byte(text)))
}

// ToolServers lists the MCP servers by name.
func (t *Box) ToolServers(context.Context) ([]domain.ToolServer, error) {
	list := []domain.ToolServer{}
	if t.host == nil {
		return list, nil
	}
	for _, s := range t.host.Servers() {
		list = append(
			list,
			domain.ToolServer{
				Name:     s.Name,
				Address:  s.Address,
				State:    s.State,
				Reason:   t.masked(s.Reason),
				Since:    s.Since.UTC(),
				Tools:    s.Tools,
				Restarts: s.Restarts,
			},
		)
	}
	return list, nil
}

// AcceptTool accepts the definition that an MCP server offers now, if it has the digest (empty:
// any). The accepted definition and its audit record are one transaction. An unchanged definition
// stays accepted.
func (t *Box) AcceptTool(ctx context.Context, keep Recorder, name, digest, reason string) error {
	if t.host == nil {
		return domain.Errorf(domain.CodeNotFound, "no MCP server offers %q", name)
	}
	record := domain.AuditRecord{Action: "tool.accept", Object: "tool:" + name, Reason: reason}
	for _, r := range t.host.Tools() {
		if r.Name == name && r.Change != nil && digest == "" {
			digest = r.Change.Digest
		}
	}
	record.Detail = domain.RawJSON(fmt.Sprintf(`{"digest":%q}`, digest))
	var into mcp.PinRecorder // nil: the definition is accepted until the box is closed
	if t.keeps {
		into = keep
	}
	err := t.host.Accept(ctx, name, digest, into, record)
	switch {
	case errors.Is(err, mcp.ErrNoTool):
		return domain.Errorf(domain.CodeNotFound, "no running MCP server offers %q", name).Suggest("list tools: kairos tools")
	case errors.Is(err, mcp.ErrUnchanged):
		return nil
	case errors.Is(err, mcp.ErrStale):
		return domain.Errorf(domain.CodeStale, "the server offers another definition of %s than the one that was read", name).
			Suggest("read the current definition, then accept it")
	}
	return err
}

// RetryToolServer starts a disabled MCP server again. A running server lists its tools again. The
// error is CodeNotFound, or CodeConflict if the server may not be run.
func (t *Box) RetryToolServer(name string) error {
	if t.host == nil || !slices.ContainsFunc(t.host.Servers(), func(s mcp.ServerStatus) bool { return s.Name == name }) {
		return domain.Errorf(domain.CodeNotFound, "no MCP server %q is configured", name).Suggest("list them: kairos tools servers")
	}
	if err := t.host.Retry(name); err != nil {
		return domain.Errorf(domain.CodeConflict, "the MCP server %s is not started: %w", name, err)
	}
	return nil
}

// DisableTool rejects new calls of a tool until it is enabled. Active calls continue. If the tool
// is already disabled, nothing is stored.
func (t *Box) DisableTool(ctx context.Context, keep Recorder, actor domain.Actor, name, reason string) error {
	_, known := t.set.Lookup(name)
	return t.disable(ctx, keep, actor, activity.Tool, name, known, reason)
}

// DisableProvider disables a provider of models; see DisableTool.
func (t *Box) DisableProvider(ctx context.Context, keep Recorder, actor domain.Actor, name, reason string) error {
	return t.disable(ctx, keep, actor, activity.Provider, name, t.hasProvider(name), reason)
}

// EnableTool allows calls of a disabled tool and closes its circuits. With a host, it closes only
// the circuit of that host. If there is nothing to enable or to close, nothing is stored.
func (t *Box) EnableTool(ctx context.Context, keep Recorder, name, host, reason string) error {
	_, known := t.set.Lookup(name)
	host = strings.ToLower(strings.TrimSpace(host))
	if known && host != "" && t.set.Reach(name) != ReachesHosts {
		return domain.Errorf(domain.CodeInvalid, "%s has no circuits per host", name).Suggest("enable it without a host")
	}
	return t.enable(ctx, keep, activity.Tool, name, known, host, reason)
}

// EnableProvider allows calls of a disabled provider and closes its circuit.
func (t *Box) EnableProvider(ctx context.Context, keep Recorder, name, reason string) error {
	return t.enable(ctx, keep, activity.Provider, name, t.hasProvider(name), "", reason)
}

func (t *Box) hasProvider(name string) bool { return t.Models != nil && t.Models.HasProvider(name) }

func (t *Box) disable(ctx context.Context, keep Recorder, actor domain.Actor, kind, name string, known bool, reason string) error {
	if err := t.changeable(kind, name, known); err != nil {
		return err
	}
	record := domain.AuditRecord{Action: kindOf(kind) + ".disable", Object: kind + name, Reason: reason}
	return t.Calls.Disable(kind+name, domain.Disablement{By: actor.Name, Reason: reason}, func(key, value string) error {
		return keep.SetSettingAs(ctx, key, value, record)
	})
}

func (t *Box) enable(ctx context.Context, keep Recorder, kind, name string, known bool, part, reason string) error {
	subject := kind + name
	_, disabled := t.Calls.Disabled(subject)
	if err := t.changeable(kind, name, known || disabled); err != nil { // a tool that is no longer configured can be enabled
		return err
	}
	err := t.Circuits.Close(subject, part, func(left []domain.StoredCircuit, opened []domain.Circuit) error {
		if len(opened) == 0 && (part != "" || !disabled) {
			return errUnchanged
		}
		record := domain.AuditRecord{Action: kindOf(kind) + ".enable", Object: subject, Reason: reason}
		if len(opened) > 0 {
			var err error
			if record.Detail, err = json.Marshal(map[string]any{"circuits": opened}); err != nil {
				return fmt.Errorf("encode the record of a circuit: %w", err)
			}
		}
		if part != "" {
			return keep.SetCircuitsAs(ctx, left, record)
		}
		return t.Calls.Enable(subject, func(key, value string) error {
			return keep.EnableAs(ctx, key, value, left, record)
		})
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

var errUnchanged = errors.New("the state is unchanged")

func kindOf(kind string) string { return strings.TrimSuffix(kind, ":") }

// changeable returns an error for unknown names, and for changes that cannot be stored.
func (t *Box) changeable(kind, name string, known bool) error {
	switch {
	case !known:
		return domain.Errorf(domain.CodeNotFound, "%s %q not found", kindOf(kind), name).Suggest("list them: kairos %ss", kindOf(kind))
	case !t.keeps:
		return domain.Errorf(domain.CodeUnavailable, "tools and providers cannot be disabled or enabled here")
	}
	return nil
}

// forgetful stores accepted definitions in memory, for the duration of a command.
type forgetful struct {
	mu   sync.Mutex
	pins []domain.ToolPin
}

func (f *forgetful) ToolPins(_ context.Context, server string) ([]domain.ToolPin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.pins), func(p domain.ToolPin) bool { return p.Server != server }), nil
}

func (f *forgetful) PutToolPins(_ context.Context, pins []domain.ToolPin, _ ...domain.AuditRecord) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range pins {
		f.pins = slices.DeleteFunc(f.pins, func(o domain.ToolPin) bool { return o.Server == p.Server && o.Tool == p.Tool })
		f.pins = append(f.pins, p)
	}
	return nil
}
