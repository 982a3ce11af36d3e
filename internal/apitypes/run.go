package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// RunState is the status of a run and its usage.
type RunState struct {
	Status     domain.RunStatus  `json:"status"`
	WaitReason domain.WaitReason `json:"waitReason" doc:"Event that the run waits for; empty unless it waits."`
	Error      *domain.RunError  `json:"error" doc:"Error that failed the run; null unless it failed."`
	Usage      domain.Usage      `json:"usage"`
}

// RunFacts contains the parts of a run that lists and single runs share.
type RunFacts struct {
	RunOrigin
	Plan        domain.PlanRef       `json:"plan"`
	Hash        string               `json:"hash" doc:"SHA-256 of the plan version that the run follows."`
	Headline    string               `json:"statusMessage" doc:"The status of the run in one sentence."`
	Attention   bool                 `json:"attention" doc:"The run needs a person, and no one has acknowledged it."`
	Fingerprint string               `json:"fingerprint,omitempty" doc:"Equal for failures with the same cause."`
	Node        string               `json:"node,omitempty" doc:"The step that the status message is about."`
	Shape       string               `json:"pathSummary,omitempty" doc:"The path in short: one letter for each settled step."`
	Priority    int                  `json:"priority" doc:"Runs with a higher priority start first."`
	Labels      map[string]string    `json:"labels,omitempty" doc:"Labels of the run."`
	Limits      Limits               `json:"limits,omitzero"`
	Concurrency *domain.Concurrency  `json:"concurrency,omitempty"`
	Rev         int64                `json:"rev" doc:"The revision, which the ETag is made of."`
	Steps       int64                `json:"steps" doc:"Number of steps that have run."`
	Crashes     int                  `json:"crashes,omitempty" doc:"How often kairosd crashed while the run was active."`
	Paused      bool                 `json:"paused,omitempty" doc:"The run is paused."`
	CreatedAt   time.Time            `json:"createdAt"`
	StartAt     time.Time            `json:"startAt,omitzero" doc:"The run does not start before this time."`
	StartedAt   time.Time            `json:"startedAt,omitzero" doc:"Time at which the first step started."`
	EndedAt     time.Time            `json:"endedAt,omitzero"`
	DueAt       time.Time            `json:"dueAt,omitzero" doc:"The next deadline or timer of the run."`
	DeletedAt   time.Time            `json:"deletedAt,omitzero" doc:"Time at which the run was deleted."`
	PurgedAt    time.Time            `json:"purgedAt,omitzero" doc:"Time at which retention removed its journal, input, and output."`
	DurationMs  int64                `json:"durationMs" doc:"How long the run has been running, without waits, in milliseconds."`
	Damaged     []domain.DamagedPart `json:"damaged,omitempty" doc:"Parts that cannot be read. They are left out."`
}

// RunOrigin describes how a run was created.
type RunOrigin struct {
	Parent     *domain.ParentRef `json:"parent,omitempty" doc:"The step that started this run as a child."`
	ForkedFrom string            `json:"forkedFrom,omitempty" doc:"The run that this one was forked from."`
	ForkSeq    int64             `json:"forkSeq,omitempty" doc:"The journal position that the fork kept."`
	RerunOf    string            `json:"rerunOf,omitempty" doc:"The run that this one repeats."`
	Undoes     string            `json:"undoes,omitempty" doc:"Run whose steps this one undoes."`
	Actor      string            `json:"actor" doc:"Principal that started the run."`
	Origin     string            `json:"origin,omitempty" doc:"How the run was started, such as api, cli, or dry."`
	Session    string            `json:"session,omitempty" doc:"The session of the run."`
	Schedule   string            `json:"schedule,omitempty" doc:"The key of the schedule that started the run."`
	Slot       time.Time         `json:"slot,omitzero" doc:"The time for which the schedule started the run."`
	Key        string            `json:"key,omitempty" doc:"The key that the run was started with. There is one run per key."`
	Profile    string            `json:"profile,omitempty" doc:"The profile of the plan that the run was started with."`
}

// Run is a run in a list.
type Run struct {
	ID string `json:"id"`
	RunState
	RunFacts
}

// RunDetail is a single run with its result and all other data.
type RunDetail struct {
	ID string `json:"id"`
	domain.RunResult
	RunContext
}

// RunContext contains the data of a single run besides its result.
type RunContext struct {
	RunFacts
	domain.FailureStatus
	Input       domain.RawJSON      `json:"input" doc:"The input of the run."`
	Replans     []domain.Replan     `json:"replans,omitempty" doc:"Changes of the run to other versions of its plan."`
	Damage      *domain.Damage      `json:"damage,omitempty" doc:"Rows of the journal that cannot be trusted."`
	BlockedBy   []string            `json:"blockedBy,omitempty" doc:"The active runs with the same concurrency key that a queued run waits for."`
	WorkerWaits []domain.WorkerWait `json:"workerWaits,omitempty" doc:"Waits of the run and of its steps for workers of Temporal."`
	Undos       []domain.UndoRun    `json:"undos,omitempty" doc:"The runs that undo its steps, oldest first."`
	Related     []Run               `json:"related,omitempty" doc:"Its children, forks, reruns, and undo runs, and the run that it is based on."`
}

// Limits are the limits of a run.
type Limits struct {
	MaxSteps      int64   `json:"maxSteps,omitempty" doc:"The maximum number of steps; absent: no limit."`
	MaxDurationMs int64   `json:"maxDurationMs,omitempty" doc:"The longest running time in milliseconds; absent: no limit."`
	MaxTokens     int64   `json:"maxTokens,omitempty" doc:"The maximum number of model tokens; absent: no limit."`
	MaxCost       float64 `json:"maxCost,omitempty" doc:"The highest cost of models; absent: no limit."`
}

// LimitsOf returns limits as the API sends them.
func LimitsOf(l domain.Limits) Limits {
	return Limits{MaxSteps: l.MaxSteps, MaxDurationMs: l.MaxDuration.Milliseconds(), MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}
}

// Domain returns the limits as the domain has them.
func (l Limits) Domain() domain.Limits {
	return domain.Limits{MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost,
		MaxDuration: time.Duration(l.MaxDurationMs) * time.Millisecond}
}

// RunOf returns a run as lists show it.
func RunOf(r domain.Run) Run { return Run{ID: r.ID, RunState: StateOf(r), RunFacts: FactsOf(r)} }

// StateOf returns the status of a run.
func StateOf(r domain.Run) RunState {
	s := RunState{Status: r.Status, Error: r.Error, Usage: r.Usage}
	if r.Status == domain.RunWaiting {
		s.WaitReason = r.WaitReason
	}
	return s
}

// Domain converts the run. Fields that the API leaves out stay empty.
func (r Run) Domain() domain.Run {
	run := r.RunFacts.run()
	run.ID, run.Status, run.WaitReason, run.Error, run.Usage = r.ID, r.Status, r.WaitReason, r.Error, r.Usage
	return run
}

// Domain converts the run with its input and output.
func (r RunDetail) Domain() domain.Run {
	run := r.RunFacts.run()
	run.ID, run.Status, run.WaitReason, run.Error, run.Usage = r.ID, r.Status, r.WaitReason, r.Error, r.Usage
	run.Input, run.Output = r.Input, r.Output
	return run
}

// Result returns the result of the run.
func (r RunDetail) Result() domain.Result { return domain.Result{RunID: r.ID, RunResult: r.RunResult} }

// ContextOf returns the data of a run besides its result.
func ContextOf(d domain.RunDetail, related []domain.Run) RunContext {
	c := RunContext{RunFacts: FactsOf(d.Run), Input: d.Run.Input, Replans: domain.ReplansOf(d), Damage: d.Damage, BlockedBy: d.BlockedBy,
		WorkerWaits: d.WorkerWaits, Undos: d.Undos}
	if c.Input == nil {
		c.Input = domain.RawJSON("null")
	}
	for _, r := range related {
		c.Related = append(c.Related, RunOf(r))
	}
	return c
}

// DetailOf returns a single run with its result.
func DetailOf(d domain.RunDetail, related []domain.Run) RunDetail {
	return RunDetail{ID: d.Run.ID, RunResult: domain.ResultOf(d).RunResult, RunContext: ContextOf(d, related)}
}

// FactsOf returns the parts of a run that lists and single runs share.
func FactsOf(r domain.Run) RunFacts {
	return RunFacts{
		Plan: r.Plan(), Hash: r.Hash, Headline: r.Headline, Attention: r.Attention, Fingerprint: r.Fingerprint, Node: r.Node,
		Shape: r.Path, Priority: r.Priority, Labels: r.Labels, Limits: LimitsOf(r.Limits),
		RunOrigin: RunOrigin{Parent: r.Parent, ForkedFrom: r.ForkedFrom, ForkSeq: r.ForkSeq, RerunOf: r.RerunOf, Undoes: r.Undoes,
			Actor: r.Actor, Origin: r.Origin, Session: r.Session, Key: r.Key, Schedule: r.Slot.Schedule, Slot: r.Slot.At,
			Profile: r.Profile},
		Concurrency: r.Concurrency, Rev: r.LastSeq, Steps: r.Steps, Crashes: r.Crashes, Paused: r.Paused,
		CreatedAt: r.CreatedAt, StartAt: r.StartAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, DueAt: r.DueAt,
		DeletedAt: r.DeletedAt, PurgedAt: r.PurgedAt, DurationMs: r.RunningTime.Milliseconds(), Damaged: r.Damaged,
	}
}

func (f RunFacts) run() domain.Run {
	return domain.Run{
		PlanID: f.Plan.ID, PlanKey: f.Plan.Key, Version: f.Plan.Version,
		ProgramRef: domain.ProgramRef{Hash: f.Hash, Profile: f.Profile}, Headline: f.Headline, Attention: f.Attention,
		Fingerprint: f.Fingerprint, Node: f.Node, Path: f.Shape, Parent: f.Parent,
		Lineage: domain.Lineage{ForkedFrom: f.ForkedFrom, ForkSeq: f.ForkSeq, RerunOf: f.RerunOf, Undoes: f.Undoes},
		Actor:   f.Actor, Origin: f.Origin, Session: f.Session, Priority: f.Priority, Labels: f.Labels,
		Limits: f.Limits.Domain(), Key: f.Key, Concurrency: f.Concurrency, LastSeq: f.Rev, Steps: f.Steps, Crashes: f.Crashes,
		Paused: f.Paused, CreatedAt: f.CreatedAt, StartAt: f.StartAt, StartedAt: f.StartedAt, EndedAt: f.EndedAt, DueAt: f.DueAt,
		Removal: domain.Removal{DeletedAt: f.DeletedAt, PurgedAt: f.PurgedAt}, Damaged: f.Damaged,
		RunningTime: time.Duration(f.DurationMs) * time.Millisecond, Slot: domain.RunSlot{Schedule: f.Schedule, At: f.Slot},
	}
}
