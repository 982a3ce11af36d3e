package domain

import (
	"strings"
	"time"
)

// CircuitState reports whether calls are made.
type CircuitState string

const (
	CircuitClosed   CircuitState = "closed"    // they are
	CircuitOpen     CircuitState = "open"      // they are refused until a time
	CircuitHalfOpen CircuitState = "half_open" // one is tried, the others are refused
)

// Circuit is whether calls reach a provider, a tool, or one of the hosts that a
// tool reaches. It opens after failures in a row which say that the other side is
// down.
type Circuit struct {
	// Part is the host, of a tool that has a circuit for each.
	Part          string       `json:"part,omitempty"`
	State         CircuitState `json:"status" enum:"closed,open,half_open"`
	FailuresInRow int          `json:"failuresInRow,omitempty"`
	// Since is when it last stopped being closed; trials since then do not move it.
	Since     time.Time `json:"since,omitzero"`
	OpenUntil time.Time `json:"openUntil,omitzero"` // then one call is tried
	// LastError is the last failure that counted.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
}

// Refuses reports whether calls are not even tried.
func (c Circuit) Refuses() bool { return c.State == CircuitOpen }

// Disturbed reports whether calls are refused, or tried one at a time.
func (c Circuit) Disturbed() bool { return c.State == CircuitOpen || c.State == CircuitHalfOpen }

// ToolCircuit is a circuit of a tool.
type ToolCircuit struct {
	Tool string `json:"tool"`
	Circuit
}

// Name is the circuit's, as [CircuitName] writes it.
func (c ToolCircuit) Name() string { return CircuitName(c.Tool, c.Part) }

// CircuitName writes which circuit of a tool is meant: "http api.example", or the
// tool's name where it has one circuit, or where all of them are meant.
func CircuitName(tool, part string) string { return strings.TrimSpace(tool + " " + part) }

// OpenCircuits lists the open circuits of tools: of the named one, or of
// all if it is empty. known reports whether there is such a tool.
func OpenCircuits(tools []ToolInfo, name string) (open []ToolCircuit, known bool) {
	tool, part, one := strings.Cut(name, " ")
	for _, t := range tools {
		if name != "" && t.Name != tool {
			continue
		}
		known = known || t.Breaker != nil && (!one || t.Breaker.PerHost)
		for _, c := range t.Circuits {
			if c.Refuses() && (!one || c.Part == part) {
				open = append(open, ToolCircuit{t.Name, c})
			}
		}
	}
	return open, known
}

// Breaker is when a circuit opens automatically.
type Breaker struct {
	Failures int    `json:"failures" doc:"In a row; -1: never."`
	Rest     Millis `json:"cooldownMs"`
	PerHost  bool   `json:"perHost,omitempty" doc:"There is a circuit for each host."`
}

// CircuitCount is how the circuits of a tool or provider have fared since the start.
type CircuitCount struct {
	Kind, Name   string // tool or provider
	Open         int    // now
	Opened       int64  // how often one opened automatically
	RefusedCalls int64
}
