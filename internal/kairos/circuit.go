package kairos

import "time"

// CircuitState says whether calls are made.
type CircuitState string

const (
	CircuitClosed   CircuitState = "closed"    // they are
	CircuitOpen     CircuitState = "open"      // they are refused until a time
	CircuitHalfOpen CircuitState = "half_open" // one is tried, the others are refused
)

// Circuit is whether calls reach a provider, a tool, or one of the hosts that a
// tool reaches. It opens by itself after failures in a row which say that the
// other side is down, or by a person.
type Circuit struct {
	// Part is the host, of a tool that has a circuit for each.
	Part          string       `json:"part,omitempty"`
	State         CircuitState `json:"state" enum:"closed,open,half_open"`
	FailuresInRow int          `json:"failuresInRow,omitempty"`
	// Since is when it last stopped being closed; trials since then do not move it.
	Since     time.Time `json:"since,omitzero"`
	OpenUntil time.Time `json:"openUntil,omitzero"` // then one call is tried
	// LastError is the last failure that counted.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// By is the person who opened it, Reason why; empty: it opened by itself.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Refuses reports whether calls are not even tried.
func (c Circuit) Refuses() bool { return c.State == CircuitOpen }

// Disturbed reports whether calls are refused, or tried one at a time.
func (c Circuit) Disturbed() bool { return c.State == CircuitOpen || c.State == CircuitHalfOpen }

// CircuitChange is what a person does to a circuit.
type CircuitChange struct {
	Part string // the host, of a tool that has a circuit for each
	Open bool   // false: close it
	// For is how long it stays open; 0: 15 minutes.
	For    time.Duration
	Reason string
}

// CircuitFor and MaxCircuitFor are how long a person opens a circuit, where nothing
// is said and at most: what nobody may call for longer is stopped.
const (
	CircuitFor    = 15 * time.Minute
	MaxCircuitFor = 24 * time.Hour
)

// Breaker is when a circuit opens by itself.
type Breaker struct {
	Failures int           `json:"failures" doc:"In a row; -1: never."`
	Rest     time.Duration `json:"restNs"`
	PerHost  bool          `json:"perHost,omitempty" doc:"There is a circuit for each host."`
}

// CircuitCount is how the circuits of a tool or provider have fared since the start.
type CircuitCount struct {
	Kind, Name   string // tool or provider
	Open         int    // now
	Opened       int64  // how often one opened by itself
	RefusedCalls int64
}
