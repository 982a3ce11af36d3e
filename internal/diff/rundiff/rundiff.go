// Package rundiff compares two runs: the first step that differs, and the differences of every
// step. The dashboard, the API, and the CLI use it, so that their results agree.
package rundiff

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// Source reads runs.
type Source interface {
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// Uses returns the agents, tools, and providers of a run.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	// Detail returns a run with its waits and its whole journal.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
}

// Read compares two runs by id or short id. Without a second one, it uses the last completed run of
// the same plan. If there is none, the error is CodeNotFound.
func Read(ctx context.Context, from Source, a, b string, now time.Time) (Comparison, error) {
	var runs [2]domain.RunDetail
	var uses [2][]domain.Use
	for i, name := range []string{a, b} {
		if i == 1 && name == "" {
			good, err := LastGood(ctx, from, runs[0].Run)
			if err != nil {
				return Comparison{}, err
			}
			if name = good.ID; name == "" {
				return Comparison{}, domain.Errorf(domain.CodeNotFound, "no completed run of %s to compare run %s with",
					runs[0].Run.PlanKey, domain.ShortID(runs[0].Run.ID)).
					Suggest("pass the id of the other run")
			}
		}
		found, err := from.FindRun(ctx, name)
		if err != nil {
			return Comparison{}, err
		}
		if runs[i], err = from.Detail(ctx, found.ID); err != nil {
			return Comparison{}, err
		}
		if uses[i], err = from.Uses(ctx, found.ID); err != nil {
			return Comparison{}, err
		}
	}
	c := Compare(runs[0], runs[1], now)
	c.A.use(uses[0])
	c.B.use(uses[1])
	return c, nil
}

// maxUndos is the number of completed runs among which LastGood looks for one that undoes nothing.
const maxUndos = 20

// Lister lists runs.
type Lister interface {
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
}

// LastGood returns the newest other completed run of the same plan, or a zero run. Runs that undo others
// make other calls, so they are not compared.
func LastGood(ctx context.Context, from Lister, run domain.Run) (domain.Run, error) {
	good, err := from.Runs(
		ctx,
		domain.RunFilter{Statuses: []domain.RunStatus{domain.RunCompleted}, PlanKey: run.PlanKey, Page: domain.Page{Limit: maxUndos}},
	)
	if err != nil {
		return domain.Run{}, err
	}
	for _, o := range good.Items {
		if o.ID != run.ID && o.Undoes == "" && run.Undoes == "" {
			return o, nil
		}
	}
	return domain.Run{}, nil
}

// Comparison is the comparison of two runs. Steps lists the steps of A in order, and then the steps
// that only B has.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// First is the first step that differs, or null. A step in which only dates, IDs, or durations
	// differ is first only if there is no other.
	First  *Step  `json:"first"`
	Input  Value  `json:"input"`
	Output Value  `json:"output"`
	Steps  []Step `json:"steps"`
	// Left is the number of steps that Steps leaves out because there are too many.
	Left int `json:"left,omitempty"`
}

// Side is one of the two runs.
type Side struct {
	apitypes.Run
	TookMs    int64    `json:"elapsedMs"` // until now if the run has not ended
	Agents    []string `json:"agents,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	Providers []string `json:"providers,omitempty"`
	// Models are the models that answered, as named in their answers. A provider may use another
	// version than requested.
	Models []string `json:"models,omitempty"`
	// Detail is the complete run, for pages.
	Detail domain.RunDetail `json:"-"`
}

func (s *Side) use(uses []domain.Use) {
	for _, u := range uses {
		switch u.Kind {
		case domain.UseAgent:
			s.Agents = append(s.Agents, u.Name)
		case domain.UseTool:
			s.Tools = append(s.Tools, u.Name)
		case domain.UseProvider:
			s.Providers = append(s.Providers, u.Name)
		}
	}
	for _, names := range [][]string{s.Agents, s.Tools, s.Providers} {
		slices.Sort(names)
	}
}

// Why is the way in which a step differs.
type Why string

// The reasons in order of precedence.
const (
	WhyMissing Why = "missing" // only one of the runs has the step
	WhyStatus  Why = "status"
	WhyError   Why = "error"  // the step failed in both runs, with different errors
	WhyEdge    Why = "edge"   // the step led to another node
	WhyOutput  Why = "output" // another difference, in the result
)

// Step is one visit of a node, or one item of it, in both runs.
type Step struct {
	Step  string `json:"step"` // node, node #visit, node [item]
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"` // -1 means none
	// A and B are the outcome in each run, or null if the run does not have the step.
	A *Seen `json:"a"`
	B *Seen `json:"b"`
	// Why is the reason of the difference, or empty. Explanation describes it.
	Why         Why    `json:"difference,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	// LongerMs is the duration in A minus the duration in B.
	LongerMs int64 `json:"differenceMs"`
	// Output is the difference between the outputs in B and A. It is null if they are equal or one
	// is missing.
	Output *Value `json:"output,omitempty"`
}

// Differs reports whether the step differs between the runs.
func (s Step) Differs() bool { return s.Why != "" }

// Volatile reports whether the step differs only in dates, IDs, or durations of its output.
func (s Step) Volatile() bool { return s.Why == WhyOutput && s.Output != nil && s.Output.volatile }

// Seen is the outcome of a step in one run.
type Seen struct {
	Seq      int64             `json:"seq"` // of its first journal row
	Status   domain.NodeStatus `json:"status"`
	Attempts int               `json:"attempts"`
	TookMs   int64             `json:"durationMs"`
	To       string            `json:"to,omitempty"` // the next node
	Code     string            `json:"code,omitempty"`
	Message  string            `json:"message,omitempty"`
	// Output is the whole output, for pages.
	Output domain.RawJSON `json:"-"`
}

const (
	// maxSteps is the maximum number of steps of each run that are compared.
	maxSteps = 1000
	// maxValues is the maximum number of listed differences of outputs.
	maxValues = 200
)

// Compare compares two runs.
func Compare(a, b domain.RunDetail, now time.Time) Comparison {
	c := Comparison{
		A:      side(a, now),
		B:      side(b, now),
		Input:  diff(a.Run.Input, b.Run.Input),
		Output: diff(a.Run.Output, b.Run.Output),
		Steps:  []Step{},
	}
	x, y := stepsOf(a.Journal), stepsOf(b.Journal)
	others := map[place]*folded{}
	for _, st := range y {
		others[st.place] = st
	}
	spelled := 0
	add := func(p place, x, y *folded) {
		s := Step{Step: p.String(), Node: p.node, Visit: p.visit, Item: p.item, A: x.seen(now), B: y.seen(now)}
		if s.judge(); s.Why == WhyOutput || s.Why == WhyEdge && !bytes.Equal(s.A.Output, s.B.Output) {
			v := Value{TooLong: true}
			if spelled++; spelled <= maxValues {
				v = diff(s.A.Output, s.B.Output)
			}
			if s.Output = &v; s.Volatile() {
				s.Explanation = "only dates, IDs, or durations of its output differ"
			}
		}
		c.Steps = append(c.Steps, s)
	}
	for i, st := range x {
		other := others[st.place]
		delete(others, st.place)
		if i >= maxSteps {
			c.Left++
			continue
		}
		add(st.place, st, other)
	}
	for _, st := range y {
		switch {
		case others[st.place] == nil:
		case len(c.Steps) >= 2*maxSteps:
			c.Left++
		default:
			add(st.place, nil, st)
		}
	}
	c.First = first(c.Steps)
	return c
}

// first returns the first step that differs in more than dates, IDs, or durations. If there is
// none, it returns the first that differs at all.
func first(steps []Step) *Step {
	i := slices.IndexFunc(steps, func(s Step) bool { return s.Differs() && !s.Volatile() })
	if i < 0 {
		i = slices.IndexFunc(steps, Step.Differs)
	}
	if i < 0 {
		return nil
	}
	return &steps[i]
}

func side(d domain.RunDetail, now time.Time) Side {
	return Side{Run: apitypes.RunOf(d.Run), TookMs: ranFor(d.Run, now).Milliseconds(), Models: models(d.Journal), Detail: d}
}

// ranFor returns the duration of a run, until now if it has not ended.
func ranFor(run domain.Run, now time.Time) time.Duration {
	if run.EndedAt.IsZero() {
		return max(now.Sub(run.CreatedAt), 0)
	}
	return run.EndedAt.Sub(run.CreatedAt)
}

// judge returns the way in which a step differs.
func (s *Step) judge() {
	if s.A == nil || s.B == nil {
		s.Why, s.Explanation = WhyMissing, "only one run has it"
		return
	}
	s.LongerMs = s.A.TookMs - s.B.TookMs
	switch {
	case s.A.Status != s.B.Status:
		s.Why, s.Explanation = WhyStatus, fmt.Sprintf("it is %s in one and %s in the other", s.A.Status, s.B.Status)
	case s.A.Code != s.B.Code || domain.FingerprintOf(domain.Verbatim(s.A.Message)) != domain.FingerprintOf(domain.Verbatim(s.B.Message)):
		s.Why, s.Explanation = WhyError, fmt.Sprintf("it failed with %s in one and with %s in the other", s.A.failure(), s.B.failure())
	case s.A.To != s.B.To:
		s.Why, s.Explanation = WhyEdge, fmt.Sprintf("it went to %s in one and to %s in the other", s.A.led(), s.B.led())
	case !bytes.Equal(s.A.Output, s.B.Output):
		s.Why, s.Explanation = WhyOutput, "its output differs"
	}
}

// led describes where a step led.
func (s *Seen) led() string {
	if s.To == "" {
		return "its end"
	}
	return s.To
}

func (s *Seen) failure() string {
	const most = 200
	if r := []rune(s.Message); len(r) > most {
		return s.Code + " (" + string(r[:most-1]) + "…)"
	}
	return s.Code + " (" + s.Message + ")"
}
