package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// planNames looks up and caches keys of plans and numbers of versions by row id.
type planNames struct {
	s        *Lists
	keys     map[int64]string
	versions map[int64]int
}

func (n *planNames) of(ctx context.Context, plan, version int64) (string, int, error) {
	if number, ok := n.versions[version]; ok {
		return n.keys[plan], number, nil
	}
	v, err := n.s.db.Q.VersionName(ctx, version)
	key, number := v.Key, int(v.Number)
	if n.keys == nil {
		n.keys, n.versions = map[int64]string{}, map[int64]int{}
	}
	n.keys[plan], n.versions[version] = key, number
	return key, number, err
}

// PlanFlow describes the paths of the newest runs of a plan since a time: at most 500 runs, and as
// many as a request with the limit Rows can read. Version 0 means all versions.
func (s *Lists) PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error) {
	out := domain.PlanFlow{Whole: true, Nodes: map[string]*domain.NodeFlow{}, Edges: map[int]int{}}
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	q, err := s.stepQuery(ctx, domain.StepFilter{PlanKey: plan, Version: version})
	if err != nil || q.none {
		return out, err
	}
	low, high, err := s.stepWindow(ctx, since, time.Time{})
	if err != nil {
		return out, err
	}
	var ids []int64
	end, whole, err := s.stepsBefore(ctx, q, low, stepAt{high - 1, math.MaxInt64}, int64(s.rows), func(run int64) bool {
		if len(ids) == flowRuns {
			return false
		}
		ids = append(ids, run)
		return true
	})
	if err != nil {
		return out, core.Translate(err, "read the runs of a plan")
	}
	flow := flow{of: &out, took: map[string][]int64{}, last: map[string]int64{}, plan: plan, version: version}
	if err := s.flowOf(ctx, ids, end, &flow); err != nil {
		return out, err
	}
	out.Runs, out.Whole = len(ids), whole
	flow.end()
	if out.Runs > 0 {
		if _, at, err := s.runFrom(ctx, end.run); err == nil {
			out.Since = core.FromMicros(at)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return out, core.Translate(err, "read what runs did")
		}
	}
	return out, nil
}

func scanID(rows *sql.Rows) (id int64, err error) {
	err = rows.Scan(&id)
	return id, err
}

// flow accumulates a PlanFlow.
type flow struct {
	of      *domain.PlanFlow
	took    map[string][]int64 // in microseconds, by node
	last    map[string]int64   // the last run that reached each node
	plan    string
	version int
}

// flowOf reads the results of runs, newest run first. It starts at a position inside the oldest
// run.
func (s *Lists) flowOf(ctx context.Context, ids []int64, from stepAt, into *flow) error {
	if len(ids) == 0 {
		return nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	// The ids are integers, so a JSON list is safe and keeps the statement constant.
	rows, err := s.db.Read.QueryContext(
		ctx,
		`SELECT runs.id, runs.public_id, runs.created_at, s.seq, s.node, s.visit, s.item, s.attempt, s.status, s.final, s.started_at, s.at,
CASE WHEN s.final <> 0 AND s.decision LIKE '{"edge":%' THEN json_extract(s.decision, '$.edge') ELSE 0 END,
CASE WHEN s.status = 'failed' THEN s.failure END, s.kind = 'substep', s.cost
FROM json_each(?) AS j CROSS JOIN runs ON runs.id = j.value CROSS JOIN step_results AS s ON s.run_id = runs.id
WHERE s.seq >= CASE runs.id WHEN ? THEN ? ELSE 0 END AND (s.kind = 'result' OR s.kind = 'substep' AND s.cost > 0) ORDER BY j.key, s.seq`,
		"["+strings.Join(list, ",")+"]",
		from.run,
		from.seq,
	)
	if err != nil {
		return core.Translate(err, "read what runs did")
	}
	defer rows.Close()
	for rows.Next() {
		var h domain.StepHit
		var id, created, started, at, edge int64
		var final, part bool
		var cost float64
		var status string
		var failure *string
		if err := rows.Scan(&id, &h.Run, &created, &h.Seq, &h.Node, &h.Visit, &h.Item, &h.Attempt, &status, &final, &started, &at,
			&edge, &failure, &part, &cost); err != nil {
			return core.Translate(err, "read what runs did")
		}
		if at < created {
			continue // a row that a fork copied from its origin
		}
		into.node(h.Node).Cost += cost
		if part {
			continue
		}
		h.Status, h.StartedAt, h.At, h.PlanKey, h.Version = domain.NodeStatus(
			status,
		), core.FromMicros(
			started,
		), core.FromMicros(
			at,
		), into.plan, into.version
		h.Code, h.Message = failureOf(failure)
		into.add(id, h, final, int(edge))
	}
	return core.Translate(rows.Err(), "read what runs did")
}

func (f *flow) node(name string) *domain.NodeFlow {
	n := f.of.Nodes[name]
	if n == nil {
		n = &domain.NodeFlow{}
		f.of.Nodes[name] = n
	}
	return n
}

func (f *flow) add(run int64, h domain.StepHit, final bool, edge int) {
	n := f.node(h.Node)
	if h.Status == domain.NodeSkipped {
		n.Skipped++
		return
	}
	if f.last[h.Node] != run {
		f.last[h.Node] = run
		n.Runs++
	}
	if h.Status == domain.NodeCompleted || h.Status == domain.NodeFailed {
		n.Attempts++
		f.took[h.Node] = append(f.took[h.Node], h.Took().Microseconds())
		n.Slow = append(n.Slow, h)
		if len(n.Slow) > 4*hitsPerNode {
			n.Slow = slowest(n.Slow)
		}
	}
	if h.Status == domain.NodeFailed && len(n.Failures) < hitsPerNode {
		n.Failures = append(n.Failures, h)
	}
	if !final {
		return
	}
	n.Settled++
	if h.Status == domain.NodeFailed {
		n.Failed++
	}
	if edge > 0 {
		f.of.Edges[edge-1]++
	}
}

func slowest(hits []domain.StepHit) []domain.StepHit {
	slices.SortStableFunc(hits, func(a, b domain.StepHit) int { return cmp.Compare(b.Took(), a.Took()) })
	return hits[:min(len(hits), hitsPerNode)]
}

func (f *flow) end() {
	for name, n := range f.of.Nodes {
		n.Slow = slowest(n.Slow)
		took := f.took[name]
		slices.Sort(took)
		if len(took) > 0 {
			n.P50 = time.Duration(took[len(took)/2]) * time.Microsecond
			n.P95 = time.Duration(took[len(took)*95/100]) * time.Microsecond
		}
	}
}
