package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Definition is a tool as its server describes it.
type Definition struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      map[string]any `json:"schema"`
	ReadOnly    bool           `json:"readOnly"`
	Idempotent  bool           `json:"idempotent"`
}

// toolPart matches names of tools that can be called as server.tool.
var toolPart = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$`)

// define checks and reads the server's description of a tool.
func define(t *sdk.Tool) (Definition, error) {
	d := Definition{Name: t.Name, Description: t.Description}
	if !toolPart.MatchString(t.Name) {
		return d, fmt.Errorf("invalid tool name %q", clip(t.Name, 80))
	}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return d, fmt.Errorf("schema: %w", err)
	}
	if len(raw)+len(d.Description) > maxDefinition {
		return d, fmt.Errorf("the definition exceeds %d bytes", maxDefinition)
	}
	v, err := jsonvalue.Decode(raw)
	if err != nil {
		return d, fmt.Errorf("schema: %w", err)
	}
	d.Schema, _ = v.(map[string]any)
	if d.Schema != nil {
		if _, err := jsonschema.Parse(d.Schema); err != nil {
			return d, fmt.Errorf("schema: %w", err)
		}
	}
	if a := t.Annotations; a != nil {
		d.ReadOnly, d.Idempotent = a.ReadOnlyHint, a.IdempotentHint
	}
	return d, nil
}

// hash returns equal hashes for equal definitions. It covers everything that a model sees, that
// arguments are checked with, or that the side-effect class is derived from.
func (d Definition) hash() string {
	b, err := json.Marshal(d)
	if err != nil {
		return "" // the definition was decoded from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// effect returns the side-effect class of a tool: from the configuration, otherwise from its
// annotations if the server is trusted, otherwise unsafe.
func (s Server) effect(d Definition) walk.Effect {
	if e := s.Effects[d.Name]; e != "" {
		return e
	}
	switch {
	case s.TrustAnnotations && d.ReadOnly:
		return walk.EffectRead
	case s.TrustAnnotations && d.Idempotent:
		return walk.EffectIdempotent
	}
	return walk.EffectUnsafe
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
