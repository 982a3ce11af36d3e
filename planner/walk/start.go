package walk

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Start holds what a plan sets for its new runs. The priority is in [Program.Priority].
type Start struct {
	Labels      *Template // an object of texts; nil if there are none
	Concurrency *Concurrency
	// Timeout is the time after which a run fails that has not ended. 0 means none.
	Timeout  time.Duration
	Schedule *Schedule // nil: the plan has none
	// Expose lists the protocols that offer the plan as a tool: [ExposeMCP] and [ExposeA2A].
	Expose []string
	// Profiles are the names of the profiles that the plan declares.
	Profiles []string
}

// The protocols that offer a plan: as a tool of the MCP server, or as a skill of the A2A server.
const (
	ExposeMCP = "mcp"
	ExposeA2A = "a2a"
)

// Schedule starts runs of a plan at the times of a cron expression. Empty fields have defaults.
type Schedule struct {
	Cron, Zone       string
	Jitter           time.Duration
	Input            any
	Overlap, CatchUp string
	Profile          string // of the runs, or empty
}

// Concurrency is a compiled rule about runs with the same key.
type Concurrency struct {
	Key        *Template
	Limit      int // at least 1
	OnConflict OnConflict
}

// OnConflict decides what a new run does if the limit of its concurrency key is reached.
type OnConflict string

const (
	ConflictQueue        OnConflict = "queue"         // it waits
	ConflictSkip         OnConflict = "skip"          // it is not created
	ConflictCancelOldest OnConflict = "cancel_oldest" // the oldest runs are cancelled
)

// Valid reports whether the value is known.
func (o OnConflict) Valid() bool {
	return slices.Contains([]OnConflict{ConflictQueue, ConflictSkip, ConflictCancelOldest}, o)
}

// RunLabels returns the labels of a run with this input.
func (p *Program) RunLabels(input any) (map[string]string, *Failure) {
	if p.Start.Labels == nil {
		return nil, nil
	}
	v, f := p.Start.Labels.Render(Env{Input: input, Index: -1, Values: p.Values})
	if f != nil {
		return nil, f
	}
	labels := map[string]string{}
	object, _ := v.(map[string]any)
	for name, value := range object {
		labels[name] = jsonvalue.Text(value)
	}
	return labels, nil
}

// ConcurrencyKey returns the concurrency key of a run with this input. The plan must have
// [Start.Concurrency].
func (p *Program) ConcurrencyKey(input any) (string, *Failure) {
	v, f := p.Start.Concurrency.Key.Render(Env{Input: input, Index: -1, Values: p.Values})
	if f != nil {
		return "", f
	}
	return jsonvalue.Text(v), nil
}

// Overdue is the failure of a run that has not ended within the timeout of the plan.
func (p *Program) Overdue() *Failure {
	return (&Failure{Code: CodeRunTimeout, Permanent: true, NoEffect: true,
		Suggestion: "resume the run, which gives it the same time again"}).
		WithMessage("the run has not ended within its timeout of %s", p.Start.Timeout)
}
