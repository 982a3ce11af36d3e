package query

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// The journal is in the order of time and found by run. Steps across runs are
// therefore read run by run, the newest first, as far as a bound of time leads;
// only attempts that failed have an index of their own.

const (
	// stepRuns is how many runs a search of steps or a picture of a plan begins with.
	stepRuns = 64
	// flowRuns is how many runs a picture of a plan is made of at most.
	flowRuns = 500
	// sortSteps is how many attempts are kept while the slowest are looked for.
	sortSteps = 200
	// hitsPerNode is how many failures and slow attempts a node shows.
	hitsPerNode = 5
)

// stepQuery is a filter of steps as SQL: runs from an index, and their rows.
type stepQuery struct {
	from, where string
	args        []any
	none        bool
}

func (q *stepQuery) also(clause string, args ...any) {
	q.where += " AND " + clause
	q.args = append(q.args, args...)
}

func (s *Lists) stepQuery(ctx context.Context, f domain.StepFilter) (*stepQuery, error) {
	q := &stepQuery{from: "runs INDEXED BY runs_by_age", where: "runs.deleted_at = 0"}
	if f.PlanKey != "" {
		p, err := s.db.PlanRow(ctx, f.PlanKey)
		if domain.CodeOf(err) == domain.CodeNotFound {
			q.none = true
			return q, nil
		} else if err != nil {
			return nil, err
		}
		q.from = "runs INDEXED BY runs_by_plan"
		q.also("runs.plan_id = ?", p.ID)
		if f.Version > 0 {
			v, err := s.db.Q.VersionByNumber(ctx, p.PublicID, int64(f.Version))
			if errors.Is(err, sql.ErrNoRows) {
				q.none = true
				return q, nil
			} else if err != nil {
				return nil, core.Translate(err, "find plan version")
			}
			q.also("runs.version_id = ?", v.PlanVersion.ID)
		}
	}
	q.also(notDry)
	return q, nil
}

// stepRowFilter is what is checked of each attempt.
type stepRowFilter struct {
	where string
	args  []any
}

// build reads a filter. A fork begins with rows of the run that it was forked
// from: those are not its own.
func (f *stepRowFilter) build(filter domain.StepFilter) {
	f.where = "s.kind = 'result' AND s.at >= runs.created_at"
	add := func(clause string, args ...any) {
		f.where += " AND " + clause
		f.args = append(f.args, args...)
	}
	if len(filter.Nodes) > 0 {
		add("s.node IN ("+core.Marks(len(filter.Nodes))+")", values(filter.Nodes)...)
	}
	if len(filter.Statuses) > 0 {
		add("s.status IN ("+core.Marks(len(filter.Statuses))+")", values(filter.Statuses)...)
	}
	if len(filter.ErrorCodes) > 0 {
		add("CASE WHEN s.failure LIKE '{%' THEN json_extract(s.failure, '$.code') END IN ("+core.Marks(len(filter.ErrorCodes))+")", values(filter.ErrorCodes)...)
	}
	const took = "CASE WHEN s.started_at <> 0 THEN s.at - s.started_at ELSE 0 END"
	if filter.MinTook > 0 {
		add(took+" > ?", filter.MinTook.Microseconds())
	}
	if filter.MaxTook > 0 {
		add(took+" < ?", filter.MaxTook.Microseconds())
	}
	if filter.MinAttempt > 0 {
		add("s.attempt > ?", filter.MinAttempt)
	}
}

// onlyFailed reports whether a filter can match nothing but failed attempts.
func onlyFailed(f domain.StepFilter) bool {
	return len(f.Statuses) == 1 && f.Statuses[0] == domain.NodeFailed || len(f.Statuses) == 0 && len(f.ErrorCodes) > 0
}

const hitColumns = `runs.id, runs.public_id, runs.version_id, runs.plan_id, s.seq, s.node, s.visit, s.item, s.attempt, s.status, s.started_at, s.at,
CASE WHEN s.status <> 'completed' THEN s.failure END`

// Steps finds attempts of steps across runs, those of the newest runs first. It
// looks as far as 20 ms lead and says how far that was.
func (s *Lists) Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error) {
	var out domain.StepHits
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	const kind = "steps"
	at, first, err := int64(math.MaxInt64), int64(0), error(nil)
	if f.Page.After != "" {
		a, b, ok := strings.Cut(f.Page.After, "-")
		if at, err = core.OpenCursor(kind, a); err == nil && ok {
			first, err = core.OpenCursor(kind, b)
		}
		if err != nil || !ok {
			return out, cmp.Or(err, core.BadCursor())
		}
	}
	q, err := s.stepQuery(ctx, f)
	if err != nil || q.none {
		out.Whole = true
		return out, err
	}
	var rows stepRowFilter
	rows.build(f)
	// Every run is looked up in the journal; failures are found by themselves.
	from, order, p := q.from+" CROSS JOIN step_results AS s ON s.run_id = runs.id", "runs.id DESC, s.seq DESC", newSearch(stepRuns, 4, s.bounds)
	if onlyFailed(f) {
		from, order, p.size = "step_results AS s INDEXED BY step_results_that_failed CROSS JOIN runs ON runs.id = s.run_id", "s.run_id DESC, s.seq DESC", scanWindow
		q.also("s.status = 'failed' AND s.run_id >= ? AND s.run_id < ?")
	}
	if f.Slowest {
		order = "CASE WHEN s.started_at <> 0 THEN s.at - s.started_at ELSE 0 END DESC"
	}
	low, high, err := s.stepWindow(ctx, f.Since, f.Until)
	if err != nil {
		return out, err
	}
	limit := core.PageLimit(f.Page.Limit)
	most := limit
	if f.Slowest {
		most = sortSteps
	}
	type found struct {
		hit                domain.StepHit
		row, plan, version int64
	}
	var hits []found
	// The run at which the page before ended is looked at again, from the attempt
	// before that on.
	if f.Page.After != "" {
		high = min(high, at+1)
	}
	for high > low {
		if p.over() {
			out.Next = core.Cursor(kind, high-1) + "-" + core.Cursor(kind, math.MaxInt64)
			break
		}
		after := max(low, high-p.size)
		text := "SELECT " + hitColumns + " FROM " + from + " WHERE " + q.where + " AND runs.id >= ? AND runs.id < ? AND (runs.id < ? OR s.seq < ?) AND " + rows.where +
			" ORDER BY " + order + " LIMIT ?"
		args := slices.Clone(q.args)
		if onlyFailed(f) {
			args = append(args, after, high)
		}
		args = append(append(args, after, high, at, first), rows.args...)
		room := most + 1 - len(hits)
		if f.Slowest {
			room = limit
		}
		more := hits
		done, err := p.step(ctx, func(ctx context.Context) error {
			return s.eachHit(ctx, text, append(args, room), func(row, versionID, planID int64, h domain.StepHit) {
				more = append(more, found{h, row, planID, versionID})
			})
		})
		if err != nil {
			return out, core.Translate(err, "search steps")
		}
		if !done {
			continue
		}
		hits = more
		if f.Slowest {
			slices.SortStableFunc(hits, func(a, b found) int { return cmp.Compare(b.hit.Took(), a.hit.Took()) })
			hits = hits[:min(len(hits), limit)]
		} else if len(hits) > limit {
			hits = hits[:limit]
			last := hits[limit-1]
			out.Next = core.Cursor(kind, last.row) + "-" + core.Cursor(kind, last.hit.Seq)
			high = last.row
			break
		}
		high = after
	}
	names := planNames{s: s}
	for _, h := range hits {
		if h.hit.PlanKey, h.hit.Version, err = names.of(ctx, h.plan, h.version); err != nil {
			return out, core.Translate(err, "search steps")
		}
		out.Items = append(out.Items, h.hit)
	}
	out.Whole = out.Next == "" && f.Page.After == ""
	if f.Slowest {
		out.Next = ""
	}
	if _, since, err := s.runFrom(ctx, high); err == nil {
		out.Since = core.FromMicros(since)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return out, core.Translate(err, "search steps")
	}
	return out, nil
}

// stepWindow are the rows of runs that were created in a window: from low to
// below high.
func (s *Lists) stepWindow(ctx context.Context, since, until time.Time) (low, high int64, err error) {
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return 0, 0, core.Translate(err, "search steps")
	}
	low, high = 1, last+1
	if !until.IsZero() {
		if high, err = core.FirstAfter(ctx, s.runFrom, until, last); err != nil {
			return 0, 0, core.Translate(err, "search steps")
		}
	}
	if !since.IsZero() {
		if low, err = core.FirstAfter(ctx, s.runFrom, since.Add(-time.Microsecond), last); err != nil {
			return 0, 0, core.Translate(err, "search steps")
		}
	}
	return low, high, nil
}

// eachHit reads rows of hitColumns.
func (s *Lists) eachHit(ctx context.Context, text string, args []any, do func(row, version, plan int64, h domain.StepHit)) error {
	rows, err := s.db.Read.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var h domain.StepHit
		var row, version, plan, started, at int64
		var status string
		var failure *string
		if err := rows.Scan(&row, &h.Run, &version, &plan, &h.Seq, &h.Node, &h.Visit, &h.Item, &h.Attempt, &status, &started, &at, &failure); err != nil {
			return err
		}
		h.Status, h.StartedAt, h.At = domain.NodeStatus(status), core.FromMicros(started), core.FromMicros(at)
		h.Code, h.Message = failureOf(failure)
		do(row, version, plan, h)
	}
	return rows.Err()
}

// failureOf reads code and message of a stored failure.
func failureOf(text *string) (code, message string) {
	var f struct{ Code, Message string }
	if text == nil || json.Unmarshal([]byte(*text), &f) != nil { // a large one stands elsewhere
		return "", ""
	}
	return f.Code, f.Message
}

// planNames gives keys and numbers of plans and versions by their rows.
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

// PlanFlow is how the newest runs of a plan that were created since a time went
// through its nodes: at most 500, and as far as 20 ms lead. version 0 is any.
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
	flow := flow{of: &out, took: map[string][]int64{}, last: map[string]int64{}, plan: plan, version: version}
	began := time.Now()
	for high > low && out.Runs < flowRuns {
		ids, next, err := s.newestRuns(ctx, q, low, high, min(stepRuns, flowRuns-out.Runs))
		if err != nil {
			return out, err
		}
		if err := s.flowOf(ctx, ids, &flow); err != nil {
			return out, err
		}
		out.Runs += len(ids)
		high = next
		if out.Whole = high <= low; !out.Whole && time.Since(began) > s.bounds.Time {
			break
		}
	}
	flow.end()
	if out.Runs > 0 {
		if _, at, err := s.runFrom(ctx, high); err == nil {
			out.Since = core.FromMicros(at)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return out, core.Translate(err, "read what runs did")
		}
	}
	return out, nil
}

// newestRuns are the newest runs of a window, and the row from which on they were
// looked at: all of the window when there are fewer than asked for.
func (s *Lists) newestRuns(ctx context.Context, q *stepQuery, low, high int64, most int) (ids []int64, reached int64, err error) {
	p := newSearch(scanWindow, 4, s.bounds)
	for high > low && len(ids) < most && !p.over() {
		from := max(low, high-p.size)
		done, err := p.step(ctx, func(ctx context.Context) error {
			rows, err := s.db.Read.QueryContext(ctx, "SELECT runs.id FROM "+q.from+" WHERE "+q.where+" AND runs.id >= ? AND runs.id < ? ORDER BY runs.id DESC LIMIT ?",
				append(slices.Clone(q.args), from, high, most-len(ids))...)
			if err != nil {
				return err
			}
			return gather(rows, &ids, scanID)
		})
		if err != nil {
			return nil, 0, core.Translate(err, "read the runs of a plan")
		}
		if done {
			high = from
		}
		if len(ids) == most {
			high = ids[most-1]
		}
	}
	return ids, high, nil
}

func scanID(rows *sql.Rows) (id int64, err error) {
	err = rows.Scan(&id)
	return id, err
}

// flow gathers a PlanFlow.
type flow struct {
	of      *domain.PlanFlow
	took    map[string][]int64 // µs, by node
	last    map[string]int64   // the run that was last seen at a node
	plan    string
	version int
}

// flowOf reads what runs did, the newest run first.
func (s *Lists) flowOf(ctx context.Context, ids []int64, into *flow) error {
	if len(ids) == 0 {
		return nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	// The ids are numbers of ours: as text they keep the statement one.
	rows, err := s.db.Read.QueryContext(ctx, `SELECT runs.id, runs.public_id, runs.created_at, s.seq, s.node, s.visit, s.item, s.attempt, s.status, s.final, s.started_at, s.at,
CASE WHEN s.final <> 0 AND s.decision LIKE '{"edge":%' THEN json_extract(s.decision, '$.edge') ELSE 0 END,
CASE WHEN s.status = 'failed' THEN s.failure END, s.kind = 'substep', s.cost
FROM json_each(?) AS j CROSS JOIN runs ON runs.id = j.value CROSS JOIN step_results AS s ON s.run_id = runs.id
WHERE (s.kind = 'result' OR s.kind = 'substep' AND s.cost > 0) ORDER BY j.key, s.seq`, "["+strings.Join(list, ",")+"]")
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
		if err := rows.Scan(&id, &h.Run, &created, &h.Seq, &h.Node, &h.Visit, &h.Item, &h.Attempt, &status, &final, &started, &at, &edge, &failure, &part, &cost); err != nil {
			return core.Translate(err, "read what runs did")
		}
		if at < created {
			continue // kept from the run that this one was forked from
		}
		into.node(h.Node).Cost += cost
		if part {
			continue
		}
		h.Status, h.StartedAt, h.At, h.PlanKey, h.Version = domain.NodeStatus(status), core.FromMicros(started), core.FromMicros(at), into.plan, into.version
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
