package query

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// The run list has too many combinations of filters for one constant query per combination that
// uses an index. Therefore, this file builds the query from constant parts, and binds every value.
// Each arm reads one index in the order of run ids. Several arms are merged, never sorted.

// runQuery chooses the index for a filter and collects the remaining conditions.
func (s *Lists) runQuery(ctx context.Context, f domain.RunFilter) (*runQuery, error) {
	q := &runQuery{}
	statuses := slices.Compact(slices.Sorted(slices.Values(f.Statuses)))
	if len(statuses) == 0 && len(f.WaitReasons) > 0 {
		statuses = []domain.RunStatus{domain.RunWaiting}
	}
	if len(statuses) == len(domain.RunStatuses) {
		statuses = nil
	}
	plans, err := s.plansOf(ctx, &f)
	if err != nil {
		return nil, err
	}
	if q.none = plans != nil && len(plans) == 0; q.none {
		return q, nil
	}
	if f.Version > 0 && f.PlanKey != "" && len(plans) == 1 {
		v, err := s.db.Q.VersionByNumber(ctx, plans[0].PublicID, int64(f.Version))
		if errors.Is(err, sql.ErrNoRows) {
			q.none = true
			return q, nil
		} else if err != nil {
			return nil, core.Translate(err, "find plan version")
		}
		q.also("runs.version_id = ?", v.PlanVersion.ID)
	} else if f.Version > 0 {
		q.also("(SELECT number FROM plan_versions WHERE plan_versions.id = runs.version_id) = ?", f.Version)
	}
	if err := s.chooseArms(ctx, q, f, statuses, plans); err != nil {
		return nil, err
	}
	if q.listed = listedOnly(f, plans); q.listed {
		q.where = append(q.where, "NOT "+unlisted)
	}
	if len(f.WaitReasons) > 0 && !q.byReason {
		q.also("runs.wait_reason IN ("+core.Marks(len(f.WaitReasons))+")", values(f.WaitReasons)...)
	}
	for _, c := range []struct{ column, value string }{{"runs.node", f.Node}, {"runs.error_code", f.ErrorCode},
		{"runs.fingerprint", f.Fingerprint}, {"runs.actor", f.Actor},
		{"runs.profile", f.Profile}} {
		if c.value != "" {
			q.also(c.column+" = ?", c.value)
		}
	}
	if len(f.WaitingFor) > 0 {
		q.also("(runs.status <> 'waiting' OR runs.wait_reason IN ("+core.Marks(len(f.WaitingFor))+"))", values(f.WaitingFor)...)
	}
	if f.Acknowledged {
		q.also("runs.attention = 0 AND runs.parent_run = ''")
	}
	alsoMore(q, f)
	if f.Text != "" && !q.byWords {
		clause, args := headlineMatchSQL(f.Text)
		q.also(clause, args...)
	}
	if !f.Since.IsZero() {
		q.also("CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE runs.created_at END >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		// Runs that ended by then were created by then.
		last, err := s.db.Q.RunLast(ctx)
		if err == nil {
			q.below, err = core.FirstAfter(ctx, s.runFrom, f.Until.Add(clockSlack), last)
		}
		if err != nil {
			return nil, core.Translate(err, "list runs")
		}
		q.also("CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE runs.created_at END <= ?", f.Until.UnixMicro())
	}
	return q, nil
}

const (
	notDry = "runs.origin <> '" + domain.OriginDry + "'"
	// unlisted selects the runs that lists leave out; see core.Listed.
	unlisted = "(runs.origin = '" + domain.OriginDry + "' OR runs.origin = '" + domain.OriginBlock + "' AND runs.attention = 0)"
)

// listedOnly reports whether a filter of these plans leaves out dry runs and runs of blocks. It does unless it selects
// such runs or certain runs.
func listedOnly(f domain.RunFilter, plans []dbsqlc.Plan) bool {
	hidden := func(origin string) bool { return origin == domain.OriginDry || origin == domain.OriginBlock }
	_, labelled := f.Labels["draft"]
	return !labelled && !hidden(f.Origin) && !slices.ContainsFunc(f.Origins, hidden) &&
		!slices.ContainsFunc(plans, func(p dbsqlc.Plan) bool { return p.Stage == string(domain.StageBlock) }) &&
		f.IDs == nil && f.IDTail == "" && f.Bulk == "" && f.Parent == "" && f.RelatedTo == ""
}

// plansOf returns the plans that a filter names, or nil if it names none. A single word is the key
// of a plan if such a plan exists. Otherwise it is added to the searched text.
func (s *Lists) plansOf(ctx context.Context, f *domain.RunFilter) ([]dbsqlc.Plan, error) {
	keys := slices.Clone(f.PlanKeys)
	if f.PlanKey != "" {
		keys = []string{f.PlanKey}
	}
	if f.Word != "" {
		switch _, err := s.db.PlanRow(ctx, f.Word); {
		case err == nil && len(keys) == 0:
			keys = []string{f.Word}
		case err != nil && domain.CodeOf(err) != domain.CodeNotFound:
			return nil, err
		default:
			f.Text = strings.TrimSpace(f.Text + " " + f.Word)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	out := []dbsqlc.Plan{}
	for _, key := range keys[:min(len(keys), maxChoice)] {
		p, err := s.db.PlanRow(ctx, key)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue
		} else if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o dbsqlc.Plan) bool { return o.ID == p.ID }) {
			out = append(out, p)
		}
	}
	return out, nil
}

// maxChoice is the maximum number of indexes that one list reads.
const maxChoice = 50

// usedBy returns the condition that a run used one of the agents, tools, or providers.
func usedBy(kind string, names []string) (string, []any) {
	return "EXISTS (SELECT 1 FROM run_uses WHERE run_uses.kind = ? AND run_uses.name IN (" + core.Marks(
			len(names),
		) + ") AND run_uses.run_id = runs.id)",
		append(
			[]any{kind},
			values(names)...)
}

// alsoMore adds the conditions that no index serves.
func alsoMore(q *runQuery, f domain.RunFilter) {
	const took = "(CASE WHEN runs.ended_at <> 0 THEN runs.ended_at ELSE CAST(unixepoch('subsec') * 1000000 AS INTEGER) END " +
		"- runs.created_at)"
	for _, c := range []struct {
		on     bool
		clause string
		args   []any
	}{
		{f.Origin != "", "runs.origin = ?", []any{f.Origin}},
		{len(f.ErrorCodes) > 0, "runs.error_code IN (" + core.Marks(len(f.ErrorCodes)) + ")", values(f.ErrorCodes)},
		{f.MinTook > 0, took + " > ?", []any{f.MinTook.Microseconds()}},
		{f.MaxTook > 0, took + " < ?", []any{f.MaxTook.Microseconds()}},
		{f.MinCost > 0, "runs.cost > ?", []any{f.MinCost}},
		{f.MaxCost > 0, "runs.cost < ?", []any{f.MaxCost}},
		{f.MinAttempts > 0, "runs.max_attempts > ?", []any{f.MinAttempts}},
		{len(f.Nodes) > 0, "runs.node IN (" + core.Marks(len(f.Nodes)) + ")", values(f.Nodes)},
		{len(f.Actors) > 0, "runs.actor IN (" + core.Marks(len(f.Actors)) + ")", values(f.Actors)},
		{len(f.Origins) > 0, "runs.origin IN (" + core.Marks(len(f.Origins)) + ")", values(f.Origins)},
		{len(f.Exclude.Origins) > 0, "runs.origin NOT IN (" + core.Marks(len(f.Exclude.Origins)) + ")", values(f.Exclude.Origins)},
		{len(f.Profiles) > 0, "runs.profile IN (" + core.Marks(len(f.Profiles)) + ")", values(f.Profiles)},
		{len(f.Exclude.Profiles) > 0, "runs.profile NOT IN (" + core.Marks(len(f.Exclude.Profiles)) + ")", values(f.Exclude.Profiles)},
		{len(f.Exclude.WaitReasons) > 0, "runs.wait_reason NOT IN (" + core.Marks(len(f.Exclude.WaitReasons)) + ")",
			values(f.Exclude.WaitReasons)},
		{f.MinSteps > 0, "runs.steps > ?", []any{f.MinSteps}},
		{f.MaxSteps > 0, "runs.steps < ?", []any{f.MaxSteps}},
		{f.HasFork, "runs.forked_from <> ''", nil},
		{f.HasParent, "runs.parent_run <> ''", nil},
		{f.HasNote, "EXISTS (SELECT 1 FROM run_notes WHERE run_notes.run_id = runs.id)", nil},
		{f.HasCrash, "runs.crashes > 0", nil},
		{f.HasApproval, "EXISTS (SELECT 1 FROM approvals WHERE approvals.run_id = runs.id)", nil},
		{len(f.Exclude.PlanKeys) > 0, "runs.plan_id NOT IN (SELECT id FROM plans WHERE key IN (" +
			core.Marks(len(f.Exclude.PlanKeys)) + "))", values(f.Exclude.PlanKeys)},
		{len(f.Exclude.Nodes) > 0, "runs.node NOT IN (" + core.Marks(len(f.Exclude.Nodes)) + ")", values(f.Exclude.Nodes)},
		{len(f.Exclude.ErrorCodes) > 0, "runs.error_code NOT IN (" + core.Marks(len(f.Exclude.ErrorCodes)) + ")",
			values(f.Exclude.ErrorCodes)},
		{len(f.Exclude.Actors) > 0, "runs.actor NOT IN (" + core.Marks(len(f.Exclude.Actors)) + ")", values(f.Exclude.Actors)},
	} {
		if c.on {
			q.also(c.clause, c.args...)
		}
	}
	for _, u := range []useChoice{{domain.UseAgent, f.Exclude.Agents}, {domain.UseTool, f.Exclude.Tools},
		{domain.UseProvider, f.Exclude.Providers}} {
		if len(u.names) > 0 {
			clause, args := usedBy(u.kind, u.names)
			q.also("NOT "+clause, args...)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(f.Exclude.Labels)) {
		q.also(
			"NOT EXISTS (SELECT 1 FROM run_labels WHERE run_labels.key = ? AND run_labels.value = ? AND run_labels.run_id = runs.id)",
			k,
			f.Exclude.Labels[k],
		)
	}
}
