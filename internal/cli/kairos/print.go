package kairos

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// activity returns statistics of calls in the last 24 hours.
func activity(a domain.Activity) [][2]string {
	facts := [][2]string{{"calls in 24 hours", calls(a)}}
	if a.Calls > 0 {
		facts = append(facts, [2]string{"last call", cli.Stamp(a.LastCallAt)},
			[2]string{"duration", "p50 " + cli.Took(a.P50.Duration()) + ", p95 " + cli.Took(a.P95.Duration())})
	}
	for _, e := range a.Errors {
		facts = append(facts, [2]string{"error", fmt.Sprintf("%s (%d)", e.Code, e.Count)})
	}
	return facts
}

func calls(a domain.Activity) string {
	if a.Failures > 0 {
		return fmt.Sprintf("%d, %d failed", a.Calls, a.Failures)
	}
	return strconv.FormatInt(a.Calls, 10)
}

func modelOf(provider, model string) string {
	if model == "" {
		return provider
	}
	return provider + "/" + model
}

func step(s domain.PreviewStep) string {
	if s.Visit > 1 {
		return fmt.Sprintf("%s#%d", s.Node, s.Visit)
	}
	return s.Node
}

// invalid prints the problems of a refused plan, and returns the error without repeating them.
func (c *program) invalid(file string, problems planner.Problems, err error) error {
	if problems.Err() == nil {
		return err
	}
	c.problems(file, problems)
	return &domain.Error{Code: domain.CodeInvalid, Message: file + " is not a valid plan", Cause: err}
}

// problems prints every problem as file:line:column, which editors recognize.
func (c *program) problems(file string, problems planner.Problems) {
	for _, p := range problems {
		where := cmp.Or(p.File, file)
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", where, p.Line, p.Column)
		}
		c.Errorf("%s: %s: %s\n", where, p.Severity, p.Message)
		if !p.Suggestion.IsZero() {
			c.Errorf("  %s\n", p.Suggestion)
		}
	}
}

// warnings prints the warnings of a valid plan.
func (c *program) warnings(file string, problems planner.Problems) {
	if !c.JSON {
		c.problems(file, problems)
	}
}

func (c *program) printPlan(p domain.Plan, what string) error {
	if c.JSON {
		return c.Print(apitypes.PlanOf(p))
	}
	c.Printf("%s %s\n", p.Key, what)
	return nil
}

// printVersion prints the source of a version.
func (c *program) printVersion(v domain.Version) error {
	if c.JSON {
		return c.Print(apitypes.PlanVersionOf(v))
	}
	c.Printf("%s\n", strings.TrimRight(string(v.Source), "\n"))
	return nil
}

// printedRun is a run as --json prints it. It has the fields of the API, but its id is runId.
type printedRun struct {
	RunID string `json:"runId"`
	apitypes.RunState
	apitypes.RunFacts
}

func printRun(r domain.Run) printedRun {
	return printedRun{RunID: r.ID, RunState: apitypes.StateOf(r), RunFacts: apitypes.FactsOf(r)}
}
