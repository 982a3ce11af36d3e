package domain

import (
	"strings"
	"time"
)

// CircuitState is the state of a circuit breaker.
type CircuitState string

const (
	CircuitClosed   CircuitState = "closed"    // calls are made
	CircuitOpen     CircuitState = "open"      // calls are refused until a time
	CircuitHalfOpen CircuitState = "half_open" // one trial call is made, others are refused
)

// Circuit is the circuit breaker of a provider, a tool, or a host that a tool calls. It opens after
// consecutive failures which indicate that the other system is down.
type Circuit struct {
	// Part is the host, if the tool has a circuit per host.
	Part          string       `json:"part,omitempty"`
	State         CircuitState `json:"status" enum:"closed,open,half_open"`
	FailuresInRow int          `json:"failuresInRow,omitempty"`
	// Since is the time at which the circuit was last opened. Trial calls do not change it.
	Since     time.Time `json:"openedAt,omitzero"`
	OpenUntil time.Time `json:"halfOpenAt,omitzero"` // then one trial call is made
	// LastError is the last failure that counted against the circuit.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
}

// Refuses reports whether calls fail without an attempt.
func (c Circuit) Refuses() bool { return c.State == CircuitOpen }

// Disturbed reports whether calls are refused, or only trial calls are made.
func (c Circuit) Disturbed() bool { return c.State == CircuitOpen || c.State == CircuitHalfOpen }

// ToolCircuit is a circuit of a tool.
type ToolCircuit struct {
	Tool string `json:"tool"`
	Circuit
}

// Name returns the name of the circuit, as [CircuitName] formats it.
func (c ToolCircuit) Name() string { return CircuitName(c.Tool, c.Part) }

// CircuitName returns the name of a circuit of a tool, such as "http api.example". Without a part,
// it is the name of the tool, which means all of its circuits.
func CircuitName(tool, part string) string { return strings.TrimSpace(tool + " " + part) }

// OpenCircuits returns the open circuits of the named tool, or of all tools if name is empty. known
// reports whether the tool exists.
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

// Breaker holds the settings of a circuit breaker.
type Breaker struct {
	Failures int    `json:"failures" doc:"The circuit opens after this many failures in a row; -1: never."`
	Cooldown Millis `json:"cooldownMs"`
	PerHost  bool   `json:"perHost,omitempty" doc:"Whether each host has its own circuit."`
}

// CircuitCount counts the circuits of a tool or provider since the start.
type CircuitCount struct {
	Kind, Name   string // tool or provider
	Open         int    // open now
	Opened       int64  // times that one opened automatically
	RefusedCalls int64
}
