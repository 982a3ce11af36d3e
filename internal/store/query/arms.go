package query

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// withHeadline are the statuses of runs that have a status message.
var withHeadline = []domain.RunStatus{domain.RunRunning, domain.RunWaiting, domain.RunFailed}

// useChoice selects runs in which one of the named agents, tools, or providers took part.
type useChoice struct {
	kind  string
	names []string
}

// uses returns the choices of agents, tools, and providers that a filter makes.
func uses(f domain.RunFilter) []useChoice {
	return slices.DeleteFunc([]useChoice{{domain.UseAgent, f.Agents}, {domain.UseTool, f.Tools}, {domain.UseProvider, f.Providers}},
		func(u useChoice) bool { return len(u.names) == 0 })
}

// A chooser chooses the arms of a query: which indexes it reads.
type chooser struct {
	lists    *Lists
	q        *runQuery
	f        domain.RunFilter
	statuses []domain.RunStatus
	plans    []int64
	labels   []string // the keys of the filter's labels, sorted
	uses     []useChoice
	byUse    bool    // the first of uses has an index, and no narrower one applies
	tail     []int64 // the runs whose ID has the ending of the filter
}

// chooseArms chooses the narrowest index for a filter. It adds the conditions that the index does
// not cover to the query.
func (s *Lists) chooseArms(ctx context.Context, q *runQuery, f domain.RunFilter, statuses []domain.RunStatus, plans []dbsqlc.Plan) error {
	c := &chooser{lists: s, q: q, f: f, statuses: statuses, labels: slices.Sorted(maps.Keys(f.Labels)), uses: uses(f)}
	for _, p := range plans {
		c.plans = append(c.plans, p.ID)
	}
	c.byUse = len(c.uses) > 0 && len(c.uses[0].names) == 1 && len(c.labels) == 0 &&
		f.Bulk == "" && f.IDs == nil && f.IDTail == "" && f.Parent == "" && f.Schedule == "" && f.RelatedTo == ""
	if !c.byUse {
		c.used(c.uses)
	}
	if f.IDTail != "" {
		var err error
		if c.tail, err = s.db.RunsByPart(ctx, strings.ToLower(f.IDTail)); err != nil {
			return err
		}
	}
	for _, applied := range []func() bool{ // the narrowest first
		c.bulk, c.ids, c.sameFailure, c.idTail, c.schedule, c.parent, c.related, c.label, c.use, c.crashed, c.retried,
		c.profile, c.actor, c.errorCode, c.deleted, c.attention, c.words, c.waitReason,
	} {
		if applied() {
			return nil
		}
	}
	c.byStatus()
	return nil
}

// A condition is a part of the filter that an index may cover.
type condition int

const (
	onPlan condition = iota
	onStatus
	onAttention
)

// check adds the conditions on plan, status, and attention that the arms do not cover.
func (c *chooser) check(covered ...condition) {
	left := func(on condition) bool { return !slices.Contains(covered, on) }
	if left(onPlan) && len(c.plans) > 0 {
		c.q.also("runs.plan_id IN ("+core.Marks(len(c.plans))+")", values(c.plans)...)
	}
	if left(onStatus) && len(c.statuses) > 0 {
		c.q.also("runs.status IN ("+core.Marks(len(c.statuses))+")", values(c.statuses)...)
	}
	if left(onAttention) && c.f.NeedsAttention {
		c.q.also("runs.attention = 1")
	}
}

// checkAll adds all conditions: the index of the arms covers neither plan, status, attention, nor
// deletion.
func (c *chooser) checkAll() {
	if c.f.Deleted {
		c.q.where = append(c.q.where, "runs.deleted_at > 0")
	} else {
		c.q.where = append(c.q.where, "runs.deleted_at = 0")
	}
	c.check()
}

// used adds the choices of agents, tools, and providers.
func (c *chooser) used(choices []useChoice) {
	for _, u := range choices {
		clause, args := usedBy(u.kind, u.names)
		c.q.also(clause, args...)
	}
}

// labelled adds a condition for each of the filter's labels with these keys.
func (c *chooser) labelled(keys []string) {
	for _, k := range keys {
		c.q.also("EXISTS (SELECT 1 FROM run_labels WHERE run_labels.key = ? AND run_labels.value = ? AND run_labels.run_id = runs.id)",
			k, c.f.Labels[k])
	}
}

// take sets the arms of the query if the index applies. The arms select certain runs, so everything
// else is checked row by row.
func (c *chooser) take(applies bool, arms ...arm) bool {
	if applies {
		c.q.arms = arms
		c.checkAll()
		c.labelled(c.labels)
	}
	return applies
}

func (c *chooser) bulk() bool {
	return c.take(c.f.Bulk != "", arm{
		from: "runs",
		where: "runs.id IN (SELECT r.id FROM runs AS r WHERE r.public_id IN (SELECT run FROM bulk_items WHERE " +
			"bulk_id = (SELECT id FROM bulks WHERE public_id = ?) " +
			"UNION SELECT result FROM bulk_items WHERE result <> '' AND bulk_id = (SELECT id FROM bulks WHERE public_id = ?)))",
		args: []any{c.f.Bulk, c.f.Bulk},
	})
}

func (c *chooser) ids() bool {
	c.q.none = c.f.IDs != nil && len(c.f.IDs) == 0
	return c.take(c.f.IDs != nil, arm{
		from:  "runs",
		where: "runs.id IN (SELECT r.id FROM runs AS r WHERE r.public_id IN (" + core.Marks(len(c.f.IDs)) + "))",
		args:  values(c.f.IDs),
	})
}

// sameFailure applies to failed runs of one plan with the same failure.
func (c *chooser) sameFailure() bool {
	f := c.f
	if len(c.plans) != 1 || f.Node == "" || f.ErrorCode == "" || f.Fingerprint == "" || !f.NeedsAttention || c.byUse || f.Deleted ||
		!slices.Equal(c.statuses, []domain.RunStatus{domain.RunFailed}) {
		return false
	}
	c.q.arms = []arm{{
		from: "runs INDEXED BY runs_failed_by_fingerprint",
		where: "runs.attention = 1 AND runs.status = 'failed' AND runs.deleted_at = 0 AND " +
			"runs.plan_id = ? AND runs.node = ? AND runs.error_code = ? AND runs.fingerprint = ?",
		args: []any{c.plans[0], f.Node, f.ErrorCode, f.Fingerprint},
	}}
	return true
}

func (c *chooser) idTail() bool {
	if c.f.IDTail != "" {
		c.q.none = len(c.tail) == 0
	}
	return c.take(c.f.IDTail != "", arm{from: "runs", where: "runs.id IN (" + core.Marks(len(c.tail)) + ")", args: values(c.tail)})
}

func (c *chooser) schedule() bool {
	return c.take(c.f.Schedule != "", arm{
		from:  "runs INDEXED BY runs_by_schedule",
		where: "runs.schedule = ? AND runs.schedule <> ''",
		args:  []any{c.f.Schedule},
	})
}

func (c *chooser) parent() bool {
	return c.take(c.f.Parent != "", arm{
		from:  "runs INDEXED BY runs_by_parent",
		where: "runs.parent_run = ? AND runs.parent_run <> ''",
		args:  []any{c.f.Parent},
	})
}

// related applies to forks, reruns, and undo runs of one run.
func (c *chooser) related() bool {
	return c.take(c.f.RelatedTo != "", arm{
		from:  "runs INDEXED BY runs_by_fork",
		where: "runs.forked_from = ? AND runs.forked_from <> ''",
		args:  []any{c.f.RelatedTo},
	}, arm{
		from:  "runs INDEXED BY runs_by_rerun",
		where: "runs.rerun_of = ? AND runs.rerun_of <> '' AND runs.forked_from <> runs.rerun_of",
		args:  []any{c.f.RelatedTo},
	}, arm{
		from:  "runs INDEXED BY runs_by_undo",
		where: "runs.undoes = ? AND runs.undoes <> ''",
		args:  []any{c.f.RelatedTo},
	})
}

func (c *chooser) label() bool {
	if len(c.labels) == 0 {
		return false
	}
	c.q.arms = []arm{{from: "run_labels AS l", join: " CROSS JOIN runs ON runs.id = l.run_id", where: "l.key = ? AND l.value = ?",
		args: []any{c.labels[0], c.f.Labels[c.labels[0]]}, id: "l.run_id"}}
	c.checkAll()
	c.labelled(c.labels[1:])
	return true
}

func (c *chooser) use() bool {
	if !c.byUse {
		return false
	}
	c.q.arms = []arm{{from: "run_uses AS u", join: " CROSS JOIN runs ON runs.id = u.run_id", where: "u.kind = ? AND u.name = ?",
		args: []any{c.uses[0].kind, c.uses[0].names[0]}, id: "u.run_id"}}
	c.checkAll()
	c.used(c.uses[1:])
	return true
}

// takeKept sets an index of the query that covers deletion and the stated conditions.
func (c *chooser) takeKept(applies bool, index, where string, args []any, covered ...condition) bool {
	if applies && !c.f.Deleted {
		c.q.arms = []arm{{from: "runs INDEXED BY " + index, where: "runs.deleted_at = 0 AND " + where, args: args}}
		c.check(covered...)
		return true
	}
	return false
}

func (c *chooser) crashed() bool {
	return c.takeKept(c.f.HasCrash, "runs_that_crashed", "runs.crashes > 0", nil)
}

func (c *chooser) retried() bool {
	return c.takeKept(c.f.MinAttempts > 0, "runs_retried", "runs.max_attempts > 1", nil)
}

func (c *chooser) profile() bool {
	return c.takeKept(c.f.Profile != "" && len(c.plans) == 0, "runs_by_profile", "runs.profile = ? AND runs.profile <> ''",
		[]any{c.f.Profile}, onPlan)
}

func (c *chooser) actor() bool {
	return c.takeKept(c.f.Actor != "" && len(c.plans) == 0, "runs_by_actor", "runs.actor = ?", []any{c.f.Actor}, onPlan)
}

func (c *chooser) errorCode() bool {
	return c.takeKept(c.f.ErrorCode != "" && len(c.plans) == 0, "runs_by_error", "runs.error_code = ? AND runs.error_code <> ''",
		[]any{c.f.ErrorCode}, onPlan)
}

// deleted applies to deleted runs, which have no index.
func (c *chooser) deleted() bool {
	if !c.f.Deleted {
		return false
	}
	c.q.arms = []arm{{from: "runs NOT INDEXED", where: "TRUE", also: " AND runs.deleted_at > 0"}}
	c.check()
	c.q.scan = true
	return true
}

func (c *chooser) attention() bool {
	return c.takeKept(c.f.NeedsAttention && len(c.plans) == 0 && len(c.f.WaitReasons) == 0 &&
		!slices.Equal(c.statuses, []domain.RunStatus{domain.RunRunning}),
		"runs_that_need_attention", "runs.attention = 1", nil, onPlan, onAttention)
}

// words applies to a text that the index of words can find.
func (c *chooser) words() bool {
	if c.f.Text == "" || match(c.f.Text) == "" {
		return false
	}
	c.q.arms, c.q.byWords, c.q.phrase = wordArms(c.f.Text, c.statuses), true, len(wordsIn(c.f.Text)) > 1
	c.checkAll()
	c.q.scan = true
	return true
}

// waitReason applies to waiting runs of certain reasons.
func (c *chooser) waitReason() bool {
	if len(c.f.WaitReasons) == 0 || len(c.plans) > 0 || !slices.Equal(c.statuses, []domain.RunStatus{domain.RunWaiting}) {
		return false
	}
	for _, reason := range slices.Compact(slices.Sorted(slices.Values(c.f.WaitReasons))) {
		c.q.arms = append(c.q.arms, arm{
			from:  "runs INDEXED BY runs_that_wait",
			where: "runs.deleted_at = 0 AND runs.wait_reason = ? AND runs.wait_reason <> ''",
			args:  []any{string(reason)},
		})
	}
	c.q.byReason = true
	c.check(onPlan, onStatus)
	return true
}

// byStatus reads one index per plan and status. It always applies.
func (c *chooser) byStatus() {
	statuses := c.statuses
	if c.f.Text != "" || c.f.Node != "" { // other runs have no status message
		if len(statuses) == 0 {
			statuses = withHeadline
		}
		statuses = slices.DeleteFunc(slices.Clone(statuses), func(st domain.RunStatus) bool { return !slices.Contains(withHeadline, st) })
		if c.q.none = len(statuses) == 0; c.q.none {
			return
		}
	}
	plans := c.plans
	if len(plans) == 0 {
		plans = []int64{0} // all
	}
	for _, plan := range plans {
		c.statusArms(plan, statuses)
	}
	c.check(onPlan, onStatus)
}

// statusArms adds the arms of one plan (0 means all) in the statuses (none means all).
func (c *chooser) statusArms(plan int64, statuses []domain.RunStatus) {
	index, where, args := "runs_by_", "runs.deleted_at = 0", []any(nil)
	if plan != 0 {
		index, where, args = index+"plan_", where+" AND runs.plan_id = ?", append(args, plan)
	}
	if len(statuses) == 0 {
		if plan == 0 {
			index += "age_"
		}
		c.q.arms = append(c.q.arms, arm{from: "runs INDEXED BY " + strings.TrimSuffix(index, "_"), where: where, args: args})
	}
	for _, st := range statuses {
		c.q.arms = append(c.q.arms, arm{from: "runs INDEXED BY " + index + "status", where: where + " AND runs.status = ?",
			args: append(slices.Clone(args), string(st))})
	}
}
