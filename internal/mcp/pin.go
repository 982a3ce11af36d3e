package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
)

// pin is an accepted definition.
type pin struct {
	hash       string
	definition Definition
}

// recall loads the definitions that were accepted before a restart, so that plans with these tools
// validate while the server is unavailable.
func (s *server) recall(ctx context.Context) error {
	pins, err := s.host.o.Pins.ToolPins(ctx, s.name)
	if err != nil {
		return fmt.Errorf("read the accepted tools of %s: %w", s.name, err)
	}
	for _, p := range pins {
		accepted := pin{hash: p.Hash}
		if err := json.Unmarshal(p.Definition, &accepted.definition); err != nil {
			return fmt.Errorf("read the accepted tool %s of %s: %w", p.Tool, s.name, err)
		}
		s.pins[p.Tool] = accepted
	}
	s.offerAll(s.registry)
	return nil
}

// save stores accepted definitions. The caller holds s.mu.
func (s *server) save(ctx context.Context, keep PinRecorder, tools []string, records ...domain.AuditRecord) error {
	pins := make([]domain.ToolPin, len(tools))
	for i, name := range tools {
		p := s.pins[name]
		b, err := json.Marshal(p.definition)
		if err != nil {
			return fmt.Errorf("encode the accepted tool %s of %s: %w", name, s.name, err)
		}
		pins[i] = domain.ToolPin{Server: s.name, Tool: name, Hash: p.hash, Definition: b}
	}
	return keep.PutToolPins(ctx, pins, records...)
}

// permits reports whether the configuration permits a tool.
func (s *server) permits(tool string) bool {
	return len(s.config.Tools) == 0 || slices.Contains(s.config.Tools, tool)
}

// offer offers every accepted tool to a registry.
func (s *server) offer(r Registry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offerAll(r)
}

// offerOnly offers the accepted tools to a registry, and makes it the registry of later
// definitions.
func (s *server) offerOnly(r Registry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry = r
	s.offerAll(r)
}

func (s *server) offerAll(r Registry) {
	for _, name := range slices.Sorted(maps.Keys(s.pins)) {
		if s.permits(name) {
			if err := s.putTo(r, name); err != nil {
				s.log.Warn("tool ignored", "tool", name, "err", err)
			}
		}
	}
}

// put offers the accepted definition of a tool.
func (s *server) put(tool string) error { return s.putTo(s.registry, tool) }

func (s *server) putTo(r Registry, tool string) error {
	d := s.pins[tool].definition
	err := r.Put(
		&remote{s, llm.ToolSpec{Name: s.name + "." + tool, Description: d.Description, Schema: d.Schema, Effect: s.config.effect(d)}, tool},
	)
	if err != nil {
		return fmt.Errorf("tool %s of MCP server %s: %w", tool, s.name, err)
	}
	return nil
}

// pinOffered compares the offered tools with the accepted ones. A new tool is accepted. A changed tool
// is refused until a person accepts it, because a changed description can carry an attack.
func (s *server) pinOffered(ctx context.Context, offered map[string]Definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = offered
	var fresh []string
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		d := offered[name]
		switch p, known := s.pins[name]; {
		case !known:
			s.pins[name] = pin{d.hash(), d}
			if err := s.put(name); err != nil {
				delete(s.pins, name)
				s.log.Warn("tool ignored", "tool", name, "err", err)
			} else {
				fresh = append(fresh, name)
			}
		case p.hash != d.hash():
			s.log.Warn("tool definition changed since it was accepted; refusing its calls", "tool", name)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return s.save(ctx, s.host.o.Pins, fresh)
}

func (s *server) accept(ctx context.Context, tool, digest string, keep PinRecorder, records []domain.AuditRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.offered[tool]
	before := s.pins[tool]
	switch {
	case !ok || s.session == nil:
		return ErrNoTool
	case digest != "" && digest != d.hash():
		return ErrStale
	case before.hash == d.hash():
		return ErrUnchanged
	}
	s.pins[tool] = pin{d.hash(), d}
	if err := s.save(ctx, keep, []string{tool}, records...); err != nil {
		s.pins[tool] = before
		return err
	}
	return s.put(tool)
}
