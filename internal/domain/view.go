package domain

import (
	"encoding/json"
	"time"

	"github.com/kairosd/kairosd/planner/walk"
)

// RunFacts is what lists and single runs say of a run besides its result, in
// the shape that the API and `--json` share.
type RunFacts struct {
	PlanID   string `json:"planId"`
	Plan     string `json:"plan"` // the plan's own key
	Version  int    `json:"version"`
	Hash     string `json:"hash"`
	Headline string `json:"headline"`
	// Attention says that it needs a person's attention, and nobody took note of it.
	Attention bool `json:"attention"`
	// Fingerprint is what a failed run's message is alike by: the filter fingerprint: selects
	// all that failed so.
	Fingerprint string `json:"fingerprint,omitempty"`
	Node        string `json:"node,omitempty"` // that the headline speaks of
	// Shape has one letter per settled visit, see [Run.Path].
	Shape string `json:"shape,omitempty"`

	Parent      *ParentRef        `json:"parent,omitempty"`
	ForkedFrom  string            `json:"forkedFrom,omitempty"`
	ForkSeq     int64             `json:"forkSeq,omitempty"`
	RerunOf     string            `json:"rerunOf,omitempty"`
	Actor       string            `json:"actor"`
	Origin      string            `json:"origin,omitempty"`
	Session     string            `json:"session,omitempty"`
	Priority    int               `json:"priority"`
	Labels      map[string]string `json:"labels,omitempty"`
	Limits      LimitsView        `json:"limits,omitzero"`
	Key         string            `json:"key,omitempty"`
	Concurrency *Concurrency      `json:"concurrency,omitempty"`

	// Rev is the revision that acts may be checked against.
	Rev       int64     `json:"rev"`
	Steps     int64     `json:"steps"`
	Crashes   int       `json:"crashes,omitempty"`
	Paused    bool      `json:"paused,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	StartAt   time.Time `json:"startAt,omitzero"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	DueAt     time.Time `json:"dueAt,omitzero"`
	DeletedAt time.Time `json:"deletedAt,omitzero"`
	PurgedAt  time.Time `json:"purgedAt,omitzero" doc:"When retention took its journal, input and output away."`
	RunningMs int64     `json:"runningMs"` // waits not counted

	Damaged []DamagedPart `json:"damaged,omitempty" doc:"Parts that cannot be read as they were written; they are left out."`
}

// RunView is a run in a list.
type RunView struct {
	RunID      string     `json:"runId"`
	Status     RunStatus  `json:"status"`
	WaitReason WaitReason `json:"waitReason"` // empty unless the run waits
	Error      *RunError  `json:"error"`
	Usage      Usage      `json:"usage"`
	RunFacts
}

// RunDetailView is a single run: its result and everything else about it.
type RunDetailView struct {
	Result
	RunFacts
	Standing
	Input RawJSON `json:"input"`
	// Replans are the times that the run was planned anew.
	Replans []Replan `json:"replans,omitempty"`
	// Damage is what of its journal cannot be trusted. What is told of its steps is
	// then of the rows before.
	Damage *Damage `json:"damage,omitempty"`
	// Related are its children, forks and reruns, and what it came from.
	Related []RunView `json:"related,omitempty"`
}

// LimitsView is [Limits] on the wire: the duration is text like "1h30m".
type LimitsView struct {
	MaxSteps    int64   `json:"maxSteps,omitempty"`
	MaxDuration string  `json:"maxDuration,omitempty"`
	MaxTokens   int64   `json:"maxTokens,omitempty"`
	MaxCost     float64 `json:"maxCost,omitempty"`
}

// ViewLimits gives limits as they are on the wire.
func ViewLimits(l Limits) LimitsView {
	v := LimitsView{MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}
	if l.MaxDuration != 0 {
		v.MaxDuration = l.MaxDuration.String()
	}
	return v
}

// Limits reads limits from the wire; CodeInvalid when they are no limits.
func (v LimitsView) Limits() (Limits, error) {
	l := Limits{MaxSteps: v.MaxSteps, MaxTokens: v.MaxTokens, MaxCost: v.MaxCost}
	if v.MaxDuration != "" {
		d, err := time.ParseDuration(v.MaxDuration)
		if err != nil {
			return Limits{}, Errorf(CodeInvalid, "limits: maxDuration %q is no duration", v.MaxDuration).
				Suggest(`write a number and a unit, like "90s", "10m" or "1h30m"`)
		}
		l.MaxDuration = d
	}
	if l.MaxSteps < 0 || l.MaxTokens < 0 || l.MaxCost < 0 || l.MaxDuration < 0 {
		return Limits{}, Errorf(CodeInvalid, "limits must not be negative").Suggest("leave a limit out for none")
	}
	return l, nil
}

// ViewRun gives a run as it is in lists.
func ViewRun(r Run) RunView {
	v := RunView{RunID: r.ID, Status: r.Status, Error: r.Error, Usage: r.Usage, RunFacts: factsOf(r)}
	if r.Status == RunWaiting {
		v.WaitReason = r.WaitReason
	}
	return v
}

// Run gives the run that a view shows; what views leave out stays empty.
func (v RunView) Run() Run {
	r := v.RunFacts.run()
	r.ID, r.Status, r.WaitReason, r.Error, r.Usage = v.RunID, v.Status, v.WaitReason, v.Error, v.Usage
	return r
}

// Run gives the run that a view shows, with its input and output.
func (v RunDetailView) Run() Run {
	r := v.RunFacts.run()
	r.ID, r.Status, r.WaitReason, r.Error, r.Usage = v.RunID, v.Status, v.WaitReason, v.Error, v.Usage
	r.Input, r.Output = v.Input, v.Output
	return r
}

func (f RunFacts) run() Run {
	limits, err := f.Limits.Limits()
	if err != nil {
		limits = Limits{} // a newer daemon may say what this one cannot
	}
	return Run{
		PlanID: f.PlanID, PlanKey: f.Plan, Version: f.Version, Hash: f.Hash, Headline: f.Headline, Attention: f.Attention, Fingerprint: f.Fingerprint, Node: f.Node, Path: f.Shape,
		Parent: f.Parent, ForkedFrom: f.ForkedFrom, ForkSeq: f.ForkSeq, RerunOf: f.RerunOf, Actor: f.Actor, Origin: f.Origin,
		Session: f.Session, Priority: f.Priority, Labels: f.Labels, Limits: limits, Key: f.Key, Concurrency: f.Concurrency,
		LastSeq: f.Rev, Steps: f.Steps, Crashes: f.Crashes, Paused: f.Paused,
		CreatedAt: f.CreatedAt, StartAt: f.StartAt, StartedAt: f.StartedAt, EndedAt: f.EndedAt, DueAt: f.DueAt, Removal: Removal{f.DeletedAt, f.PurgedAt},
		RunningTime: time.Duration(f.RunningMs) * time.Millisecond, Damaged: f.Damaged,
	}
}

// ViewDetail gives a single run with its result.
func ViewDetail(d RunDetail, related []Run) RunDetailView {
	v := RunDetailView{Result: ResultOf(d), RunFacts: factsOf(d.Run), Input: orNull(d.Run.Input), Replans: ReplansOf(d), Damage: d.Damage}
	for _, r := range related {
		v.Related = append(v.Related, ViewRun(r))
	}
	return v
}

func factsOf(r Run) RunFacts {
	return RunFacts{
		PlanID: r.PlanID, Plan: r.PlanKey, Version: r.Version, Hash: r.Hash, Headline: r.Headline, Attention: r.Attention, Fingerprint: r.Fingerprint, Node: r.Node, Shape: r.Path,
		Parent: r.Parent, ForkedFrom: r.ForkedFrom, ForkSeq: r.ForkSeq, RerunOf: r.RerunOf, Actor: r.Actor, Origin: r.Origin,
		Session: r.Session, Priority: r.Priority, Labels: r.Labels, Limits: ViewLimits(r.Limits), Key: r.Key, Concurrency: r.Concurrency,
		Rev: r.LastSeq, Steps: r.Steps, Crashes: r.Crashes, Paused: r.Paused,
		CreatedAt: r.CreatedAt, StartAt: r.StartAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, DueAt: r.DueAt, DeletedAt: r.DeletedAt, PurgedAt: r.PurgedAt,
		RunningMs: r.RunningTime.Milliseconds(), Damaged: r.Damaged,
	}
}

// DecisionView is one decision of a run and where it was taken.
type DecisionView struct {
	Seq   int64     `json:"seq"`
	Node  string    `json:"node"`
	Visit int       `json:"visit"`
	Item  int       `json:"item"` // -1: none
	At    time.Time `json:"at"`
	walk.Decision
}

// DecisionsOf lists the decisions that a journal records, in order. Rows that
// had nothing to decide are left out.
func DecisionsOf(journal []Entry) []DecisionView {
	out := []DecisionView{}
	for i := range journal {
		e := &journal[i]
		if !e.Final || len(e.Decision) == 0 {
			continue
		}
		v := DecisionView{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Item: e.Item, At: e.At}
		if json.Unmarshal(e.Decision, &v.Decision) == nil {
			out = append(out, v)
		}
	}
	return out
}
