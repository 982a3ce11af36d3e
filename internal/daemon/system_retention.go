package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
)

// Retain applies the retention rules, or with dryRun only reports what it would delete. The audit
// log records the reason and the result.
func (s *system) Retain(ctx context.Context, actor domain.Actor, reason string, dryRun bool) (domain.RetentionResult, error) {
	done, err := s.alone(actor)
	if err != nil {
		return domain.RetentionResult{}, err
	}
	defer done()
	r, err := s.store.Retain(ctx, s.up.Load().policy, actor, dryRun)
	// The hourly retention is recorded only if it deleted something. A person's action is always
	// recorded.
	if err == nil && !dryRun && (r.Runs+r.Events > 0 || actor.Name != domain.System.Name) {
		err = s.store.Audit(
			ctx,
			domain.AuditRecord{Action: "store.retention", Actor: actor.Name, Source: actor.Source, Request: actor.Request,
				Reason: strings.TrimPrefix(
					reason+": ",
					": ",
				) + fmt.Sprintf(
					"%d runs with %d journal rows, %d audit events",
					r.Runs,
					r.Rows,
					r.Events,
				)},
		)
	}
	return r, err
}

// Retention returns the retention policy.
func (s *system) Retention() domain.Retention { return s.up.Load().policy }

// describeRetention describes a policy, one line per rule.
func describeRetention(c config.Retention) []string {
	out := []string{}
	rule := func(who string, r config.RetentionRule) {
		for _, part := range []struct{ status, age string }{{"completed", r.Completed}, {"failed", r.Failed}, {"cancelled", r.Cancelled}} {
			if part.age != "" {
				out = append(out, fmt.Sprintf("%s: %s runs keep their journal for %s", who, part.status, part.age))
			}
		}
		if r.Keep > 0 {
			out = append(out, fmt.Sprintf("%s: the newest %d finished runs of each plan keep their journal", who, r.Keep))
		}
	}
	rule("all plans", c.RetentionRule)
	for _, plan := range slices.Sorted(maps.Keys(c.Plans)) {
		before := len(out)
		rule("plan "+plan, c.Plans[plan])
		if len(out) == before {
			out = append(out, "plan "+plan+": kept forever")
		}
	}
	if c.Audit != "" {
		out = append(out, "audit events are kept for "+c.Audit)
	}
	if c.MaxSize != "" {
		out = append(out, "above "+c.MaxSize+" the oldest finished runs lose their journal first")
	}
	return out
}
