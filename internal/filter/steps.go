package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/suggest"
)

// StepKeys lists the keys of a filter of steps in the order of the help.
var StepKeys = []string{"plan", "v", "node", "status", "error", "took", "attempt", "since", "until"}

// stepStatuses are the statuses of attempts.
var stepStatuses = []string{"completed", "failed", "skipped", "cancelled", "in_doubt", "succeeded"}

// ParseSteps parses a filter of steps across runs. Single words are step IDs; step: is an alias of
// node:.
func ParseSteps(q string, now time.Time) (f domain.StepFilter, problem *domain.Error) {
	if problem := readable(q); problem != nil {
		return f, problem
	}
	var run domain.RunFilter // keys that filters of runs also have
	for _, t := range split(q) {
		if t.key == "step" {
			t.key = "node"
		}
		if t.key == "" {
			t.key = "node"
		}
		switch {
		case t.not:
			return f, domain.Errorf(domain.CodeInvalid, "filters of steps do not support exclusions").Suggest("remove the dash")
		case !slices.Contains(StepKeys, t.key):
			return f, unknownKey(t, StepKeys)
		case t.value == "":
			return f, domain.Errorf(domain.CodeInvalid, "%s: requires a value", t.key)
		}
		values := slices.DeleteFunc(strings.Split(t.value, ","), func(v string) bool { return v == "" })
		if len(values) == 0 || len(values)+len(f.Nodes)+len(f.ErrorCodes) > maxTerms {
			return f, domain.Errorf(domain.CodeInvalid, "%q has more than %d values", t.value, maxTerms)
		}
		switch t.key {
		case "plan":
			if f.PlanKey != "" || len(values) > 1 {
				return f, domain.Errorf(domain.CodeInvalid, "plan: accepts one plan in a filter of steps")
			}
			f.PlanKey = t.value
		case "node":
			f.Nodes = append(f.Nodes, values...)
		case "error":
			f.ErrorCodes = append(f.ErrorCodes, values...)
		case "status":
			for _, v := range values {
				if !slices.Contains(stepStatuses, v) {
					e := domain.Errorf(domain.CodeInvalid, "unknown status %q", v)
					if near := suggest.Nearest(v, stepStatuses); near != "" {
						return f, e.Suggest("did you mean status:%s?", near)
					}
					return f, e.Suggest("statuses: %s", strings.Join(stepStatuses, ", "))
				}
				if v == "succeeded" {
					v = string(domain.NodeCompleted)
				}
				f.Statuses = append(f.Statuses, domain.NodeStatus(v))
			}
		default:
			if problem := keys[t.key](&run, t.value, false, now); problem != nil {
				return f, problem
			}
		}
	}
	f.Version, f.MinTook, f.MaxTook, f.MinAttempt, f.Since, f.Until = run.Version, run.MinTook, run.MaxTook, run.MinAttempts,
		run.Since, run.Until
	if f.Version > 0 && f.PlanKey == "" {
		return f, domain.Errorf(domain.CodeInvalid, "v: requires plan:").Suggest("write plan:name v:%d", f.Version)
	}
	return f, nil
}
