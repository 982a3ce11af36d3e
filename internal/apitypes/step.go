package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// StepAttempt is an attempt of a step in a search across runs.
type StepAttempt struct {
	Run        string            `json:"run" doc:"The run's id."`
	Plan       domain.PlanRef    `json:"plan"`
	Seq        int64             `json:"seq" doc:"Its row in the journal of the run."`
	Node       string            `json:"node" doc:"The step."`
	Visit      int               `json:"visit" doc:"The iteration of the step."`
	Item       int               `json:"item" doc:"The index in a foreach; -1: none."`
	Attempt    int               `json:"attempt" doc:"The number of the attempt."`
	Status     domain.NodeStatus `json:"status"`
	Code       string            `json:"code,omitempty" doc:"The code of its error."`
	Message    string            `json:"message,omitempty" doc:"Its error."`
	DurationMs int64             `json:"durationMs" doc:"How long it took, in milliseconds."`
	StartedAt  time.Time         `json:"startedAt,omitzero"`
	EndedAt    time.Time         `json:"endedAt"`
}

// StepAttemptOf returns an attempt as the API sends it.
func StepAttemptOf(h domain.StepHit) StepAttempt {
	return StepAttempt{Run: h.Run, Plan: domain.PlanRef{Key: h.PlanKey, Version: h.Version}, Seq: h.Seq, Node: h.Node, Visit: h.Visit,
		Item: h.Item, Attempt: h.Attempt, Status: h.Status, Code: h.Code, Message: h.Message, DurationMs: h.Took().Milliseconds(),
		StartedAt: h.StartedAt, EndedAt: h.At}
}

// Domain returns the attempt as the domain has it.
func (a StepAttempt) Domain() domain.StepHit {
	return domain.StepHit{Run: a.Run, PlanKey: a.Plan.Key, Version: a.Plan.Version, Seq: a.Seq, Node: a.Node, Visit: a.Visit,
		Item: a.Item, Attempt: a.Attempt, Status: a.Status, Code: a.Code, Message: a.Message, StartedAt: a.StartedAt, At: a.EndedAt}
}

// PlanFlow describes how the newest runs of a plan passed through its steps.
type PlanFlow struct {
	Runs  int                 `json:"runs" doc:"Number of counted runs: the newest, at most 500."`
	Since time.Time           `json:"startedAt,omitzero" doc:"Time at which the oldest of them started."`
	Whole bool                `json:"complete" doc:"Whether these are all runs of the period."`
	Nodes map[string]NodeFlow `json:"nodes" doc:"The steps of the plan."`
	Edges map[int]int         `json:"edges" doc:"How often each edge was chosen, by its place in the document."`
}

// NodeFlow describes how runs passed through a step.
type NodeFlow struct {
	Runs     int           `json:"runs" doc:"Number of runs that reached the step."`
	Settled  int           `json:"settled" doc:"Number of iterations and items that ended."`
	Failed   int           `json:"failed" doc:"Number of them that failed."`
	Skipped  int           `json:"skipped" doc:"Number of them that were skipped."`
	Attempts int           `json:"attempts" doc:"Number of attempts that ran."`
	P50Ms    int64         `json:"p50Ms" doc:"The median duration in milliseconds."`
	P95Ms    int64         `json:"p95Ms" doc:"The 95th percentile of the duration in milliseconds."`
	Cost     float64       `json:"cost" doc:"The cost of all attempts."`
	Failures []StepAttempt `json:"failures" doc:"The latest failed attempts."`
	Slow     []StepAttempt `json:"slow" doc:"The longest attempts."`
}

// PlanFlowOf returns a flow as the API sends it.
func PlanFlowOf(f domain.PlanFlow) PlanFlow {
	out := PlanFlow{Runs: f.Runs, Since: f.Since, Whole: f.Whole, Nodes: map[string]NodeFlow{}, Edges: f.Edges}
	for id, n := range f.Nodes {
		out.Nodes[id] = NodeFlow{Runs: n.Runs, Settled: n.Settled, Failed: n.Failed, Skipped: n.Skipped, Attempts: n.Attempts, Cost: n.Cost,
			P50Ms: n.P50.Milliseconds(), P95Ms: n.P95.Milliseconds(),
			Failures: mapped(n.Failures, StepAttemptOf), Slow: mapped(n.Slow, StepAttemptOf)}
	}
	return out
}

// Domain returns the flow as the domain has it.
func (f PlanFlow) Domain() domain.PlanFlow {
	out := domain.PlanFlow{Runs: f.Runs, Since: f.Since, Whole: f.Whole, Nodes: map[string]*domain.NodeFlow{}, Edges: f.Edges}
	for id, n := range f.Nodes {
		out.Nodes[id] = &domain.NodeFlow{Runs: n.Runs, Settled: n.Settled, Failed: n.Failed, Skipped: n.Skipped, Attempts: n.Attempts,
			Cost: n.Cost, P50: time.Duration(n.P50Ms) * time.Millisecond, P95: time.Duration(n.P95Ms) * time.Millisecond,
			Failures: mapped(n.Failures, StepAttempt.Domain), Slow: mapped(n.Slow, StepAttempt.Domain)}
	}
	return out
}

func mapped[S, T any](list []S, f func(S) T) []T {
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}
