// Package budgets writes budgets, their usage, and the waits for them.
package budgets

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/internal/spend"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Tx writes in a transaction.
type Tx struct {
	ctx context.Context
	q   *dbsqlc.Queries
	at  time.Time
}

// New returns the writes of a transaction that counts as made at a time.
func New(ctx context.Context, q *dbsqlc.Queries, at time.Time) Tx { return Tx{ctx, q, at} }

// reached is a line that the usage of a window reached.
type reached struct {
	line   string // soft, degrade, or hard
	budget domain.Budget
}

// record returns the audit record of a reached line.
func (r reached) record() domain.AuditRecord {
	b := r.budget
	return domain.AuditRecord{Action: "budget." + r.line, Actor: domain.System.Name, Source: "engine", Object: "budget:" + b.Key,
		Reason: reachedText(r), Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"budget": b.ID, "unit": b.Unit,
			"used": b.Window.Used,
			"soft": b.Soft, "degrade": b.Degrade, "hard": b.Hard + b.Window.Extra, "start": b.Window.Start, "end": b.Window.End}))}
}

func reachedText(r reached) string {
	switch r.line {
	case "degrade":
		return domain.Messagef("budget %s reached its degrade line: calls use %s", r.budget.Key, r.budget.DegradeTo).String()
	case "hard":
		return domain.Messagef("budget %s is used up: runs wait for it", r.budget.Key).String()
	}
	return domain.Messagef("budget %s reached its soft line", r.budget.Key).String()
}

// Named finds a budget by key or ID. It returns CodeNotFound.
func Named(ctx context.Context, q *dbsqlc.Queries, idOrKey string) (domain.Budget, error) {
	b, _, err := named(ctx, q, idOrKey)
	return b, err
}

func named(ctx context.Context, q *dbsqlc.Queries, idOrKey string) (domain.Budget, int64, error) {
	r, err := q.BudgetNamed(ctx, idOrKey)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Budget{}, 0, domain.Errorf(domain.CodeNotFound, "budget %q not found", idOrKey)
	} else if err != nil {
		return domain.Budget{}, 0, core.Translate(err, "read a budget")
	}
	b := of(r.Budget, r.Waiting)
	windows, err := Windows(ctx, q, r.Budget.ID, 1)
	if len(windows) > 0 {
		b.Window = windows[0]
	}
	return b, r.Budget.ID, err
}

// List returns all budgets by key.
func List(ctx context.Context, q *dbsqlc.Queries) ([]domain.Budget, error) {
	rows, err := q.BudgetList(ctx, domain.MaxBudgets)
	if err != nil {
		return nil, core.Translate(err, "list budgets")
	}
	out := make([]domain.Budget, len(rows))
	for i, r := range rows {
		out[i] = of(r.Budget, r.Waiting)
		windows, err := Windows(ctx, q, r.Budget.ID, 1)
		if err != nil {
			return nil, err
		}
		if len(windows) > 0 {
			out[i].Window = windows[0]
		}
	}
	return out, nil
}

// Windows returns the windows of a budget, newest first.
func Windows(ctx context.Context, q *dbsqlc.Queries, row int64, limit int) ([]domain.BudgetWindow, error) {
	rows, err := q.BudgetWindows(ctx, row, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read the windows of a budget")
	}
	out := make([]domain.BudgetWindow, len(rows))
	for i, r := range rows {
		out[i] = windowOf(r)
	}
	return out, nil
}

// WindowsOf is Windows of the budget with an ID or a key.
func WindowsOf(ctx context.Context, q *dbsqlc.Queries, idOrKey string, limit int) ([]domain.BudgetWindow, error) {
	_, row, err := named(ctx, q, idOrKey)
	if err != nil {
		return nil, err
	}
	return Windows(ctx, q, row, limit)
}

func of(r dbsqlc.Budget, waiting int64) domain.Budget {
	return domain.Budget{ID: r.PublicID, Key: r.Key, BudgetSpec: domain.BudgetSpec{Scope: r.Scope, Period: r.Period, Zone: r.Zone,
		Unit: r.Unit, Soft: r.Soft, Degrade: r.Degrade, Hard: r.Hard, DegradeTo: r.DegradeTo}, Actor: r.Actor, Rev: r.Rev,
		CreatedAt: core.FromMicros(r.CreatedAt), UpdatedAt: core.FromMicros(r.UpdatedAt), Waiting: int(waiting)}
}

func windowOf(r dbsqlc.BudgetWindow) domain.BudgetWindow {
	return domain.BudgetWindow{Start: core.FromMicros(r.StartAt), End: core.FromMicros(r.EndAt), Calls: r.Calls, Used: r.Used,
		Estimated: r.Estimated, Extra: r.Extra, SoftAt: core.FromMicros(r.SoftAt), DegradeAt: core.FromMicros(r.DegradeAt),
		HardAt: core.FromMicros(r.HardAt)}
}

// Get finds a budget by key or ID. It returns CodeNotFound.
func (t Tx) Get(idOrKey string) (domain.Budget, error) { return Named(t.ctx, t.q, idOrKey) }

// Create stores a budget with its current window, which begins with the recorded usage of the scope in
// seed, unless that is nil. It returns CodeConflict if its key is used, or there are too many.
func (t Tx) Create(b domain.Budget, seed *domain.BudgetSeed) error {
	if _, err := t.q.BudgetNamed(t.ctx, b.Key); err == nil {
		return domain.Errorf(domain.CodeConflict, "budget %q exists", b.Key).Suggest("choose another name, or change that budget")
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	n, err := t.q.BudgetCount(t.ctx)
	if err != nil {
		return err
	}
	if n >= domain.MaxBudgets {
		return domain.Errorf(domain.CodeConflict, "there are %d budgets, the maximum", n).Suggest("delete one that is not used")
	}
	id, err := t.q.BudgetInsert(t.ctx, dbsqlc.BudgetInsertParams{PublicID: b.ID, Key: b.Key, Scope: b.Scope, Period: b.Period,
		Zone: b.Zone,
		Unit: b.Unit, Soft: b.Soft, Degrade: b.Degrade, Hard: b.Hard, DegradeTo: b.DegradeTo, Actor: b.Actor,
		CreatedAt: core.Micros(t.at)})
	if err != nil || seed == nil {
		return err
	}
	calls, amount, cost, err := spend.Since(t.ctx, t.q, b.Window.Start, *seed)
	if err != nil || calls == 0 {
		return err
	}
	if b.Unit == domain.UnitCost {
		amount = cost
	}
	return t.q.BudgetWindowAdd(t.ctx, dbsqlc.BudgetWindowAddParams{BudgetID: id, StartAt: core.Micros(b.Window.Start),
		EndAt: core.Micros(b.Window.End), Calls: calls, Used: amount})
}

// Change stores the lines of a budget.
func (t Tx) Change(b domain.Budget) error {
	return t.q.BudgetChange(t.ctx, dbsqlc.BudgetChangeParams{PublicID: b.ID, Soft: b.Soft, Degrade: b.Degrade, Hard: b.Hard,
		DegradeTo: b.DegradeTo, Actor: b.Actor, UpdatedAt: core.Micros(t.at)})
}

// Raise adds an amount to the hard line of a window.
func (t Tx) Raise(id string, start, end time.Time, amount float64) error {
	_, row, err := named(t.ctx, t.q, id)
	if err != nil {
		return err
	}
	if err := t.q.BudgetTouch(t.ctx, core.Micros(t.at), row); err != nil {
		return err
	}
	return t.q.BudgetWindowRaise(t.ctx, dbsqlc.BudgetWindowRaiseParams{BudgetID: row, StartAt: core.Micros(start),
		EndAt: core.Micros(end),
		Extra: amount})
}

// Prune deletes windows that are no longer kept, at most max. more reports that there may be others.
func (t Tx) Prune(max int64) (more bool, err error) {
	n, err := t.q.BudgetWindowPrune(t.ctx, core.Micros(t.at.Add(-domain.BudgetHoursKept)),
		core.Micros(t.at.Add(-domain.BudgetDaysKept)), max)
	return n == max, err
}

// Delete removes a budget with its usage.
func (t Tx) Delete(id string) error { return t.q.BudgetDelete(t.ctx, id) }

// Hold stores what a call is about to use.
func (t Tx) Hold(list []domain.BudgetHold) error {
	for _, h := range list {
		if err := t.q.BudgetHoldInsert(t.ctx, dbsqlc.BudgetHoldInsertParams{Call: h.Call, Budget: h.Budget, StartAt: core.Micros(h.Start),
			EndAt: core.Micros(h.End), Amount: h.Amount}); err != nil {
			return err
		}
	}
	return nil
}

// Charge ends the holds of calls, and adds their usage to the windows in which they were reserved. It
// returns audit records of the lines that the usage reached. A charge without a hold changes nothing, so that a call counts once,
// unless the charge has the holds.
func (t Tx) Charge(list []domain.BudgetCharge) (records []domain.AuditRecord, err error) {
	for _, c := range list {
		holds, err := t.q.BudgetHoldsTake(t.ctx, c.Call)
		if err != nil {
			return nil, err
		}
		if c.Unused {
			continue
		}
		if len(holds) == 0 {
			if holds, err = t.missing(c.Holds); err != nil {
				return nil, err
			}
		}
		for _, h := range holds {
			more, err := t.charge(h, c)
			if err != nil {
				return nil, err
			}
			records = append(records, more...)
		}
		failpoint.Hit("budget.charged")
	}
	return records, nil
}

// missing returns the holds of a charge that the database does not have, because it was restored.
func (t Tx) missing(list []domain.BudgetHold) (holds []dbsqlc.BudgetHoldsTakeRow, err error) {
	for _, h := range list {
		_, row, err := named(t.ctx, t.q, h.Budget)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue // it was deleted
		} else if err != nil {
			return nil, err
		}
		holds = append(holds, dbsqlc.BudgetHoldsTakeRow{BudgetID: row, StartAt: core.Micros(h.Start), EndAt: core.Micros(h.End),
			Amount: h.Amount})
	}
	return holds, nil
}

// Holds returns what calls in flight have reserved.
func Holds(ctx context.Context, q *dbsqlc.Queries) ([]domain.BudgetHold, error) {
	rows, err := q.BudgetHoldList(ctx, mostInFlight)
	if err != nil {
		return nil, core.Translate(err, "read the reservations of budgets")
	}
	out := make([]domain.BudgetHold, len(rows))
	for i, r := range rows {
		out[i] = domain.BudgetHold{Call: r.Call, Budget: r.Budget, Start: core.FromMicros(r.StartAt), End: core.FromMicros(r.EndAt),
			Amount: r.Amount}
	}
	return out, nil
}

func (t Tx) charge(h dbsqlc.BudgetHoldsTakeRow, c domain.BudgetCharge) (records []domain.AuditRecord, err error) {
	row, err := t.q.BudgetRow(t.ctx, h.BudgetID)
	if err != nil {
		return nil, err
	}
	add := dbsqlc.BudgetWindowAddParams{BudgetID: h.BudgetID, StartAt: h.StartAt, EndAt: h.EndAt, Calls: 1, Used: c.Usage.Cost}
	switch {
	case c.Estimated:
		add.Used, add.Estimated = h.Amount, h.Amount
	case row.Unit == domain.UnitTokens:
		add.Used = float64(c.Usage.InputTokens + c.Usage.OutputTokens)
	}
	if err := t.q.BudgetWindowAdd(t.ctx, add); err != nil {
		return nil, err
	}
	w, err := t.q.BudgetWindowGet(t.ctx, h.BudgetID, h.StartAt)
	if err != nil {
		return nil, err
	}
	now := core.Micros(t.at)
	mark := dbsqlc.BudgetWindowReachedParams{BudgetID: h.BudgetID, StartAt: h.StartAt, EndAt: h.EndAt}
	b := of(row, 0)
	b.Window = windowOf(w)
	if row.Soft > 0 && w.SoftAt == 0 && w.Used >= row.Soft {
		mark.SoftAt, records = now, append(records, reached{"soft", b}.record())
	}
	if row.Degrade > 0 && w.DegradeAt == 0 && w.Used >= row.Degrade {
		mark.DegradeAt, records = now, append(records, reached{"degrade", b}.record())
	}
	if len(records) == 0 {
		return nil, nil
	}
	return records, t.q.BudgetWindowReached(t.ctx, mark)
}

// mostInFlight is more than the calls that can be in flight.
const mostInFlight = 1_000_000

// Lose charges calls that a crash interrupted with what they reserved, because what they used is unknown.
func (t Tx) Lose() ([]domain.AuditRecord, error) {
	calls, err := t.q.BudgetCallsInFlight(t.ctx, mostInFlight)
	if err != nil {
		return nil, err
	}
	list := make([]domain.BudgetCharge, len(calls))
	for i, c := range calls {
		list[i] = domain.BudgetCharge{Call: c, Estimated: true}
	}
	return t.Charge(list)
}

// Checkpoint ends reservations, and begins or ends the wait of a run, unless wait is nil.
func (t Tx) Checkpoint(run int64, charges []domain.BudgetCharge, wait *domain.BudgetWait) ([]domain.AuditRecord, error) {
	records, err := t.Charge(charges)
	if err != nil || wait == nil {
		return records, err
	}
	more, err := t.Wait(run, *wait)
	return append(records, more...), err
}

// Waiters returns the runs that wait for a budget, oldest first.
func (t Tx) Waiters(id string) ([]domain.BudgetWait, error) {
	return Waiters(t.ctx, t.q, id, maxWaiters)
}

// maxWaiters limits the runs that a deletion wakes.
const maxWaiters = 10_000

// Wait records that a run waits for a budget, or that its wait has ended. It returns an audit record of the hard line if the
// run is the first that waits in the window.
func (t Tx) Wait(run int64, w domain.BudgetWait) ([]domain.AuditRecord, error) {
	if w.Budget == "" {
		return nil, t.q.BudgetWaitDelete(t.ctx, run)
	}
	if err := t.q.BudgetWaitPut(t.ctx, dbsqlc.BudgetWaitPutParams{RunID: run, Budget: w.Budget, Since: core.Micros(w.Since),
		StartAt: core.Micros(w.Start), EndAt: core.Micros(w.Until), Least: w.Least}); err != nil {
		return nil, err
	}
	b, row, err := named(t.ctx, t.q, w.Budget)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, nil // deleted meanwhile
	} else if err != nil {
		return nil, err
	}
	if !b.Window.Start.Equal(w.Start) {
		b.Window = domain.BudgetWindow{Start: w.Start, End: w.Until}
	}
	if !b.Window.HardAt.IsZero() {
		return nil, nil
	}
	return []domain.AuditRecord{reached{"hard", b}.record()}, t.q.BudgetWindowReached(t.ctx,
		dbsqlc.BudgetWindowReachedParams{BudgetID: row,
			StartAt: core.Micros(w.Start), EndAt: core.Micros(w.Until), HardAt: core.Micros(t.at)})
}

// Waiters returns runs that wait for a budget, oldest first.
func Waiters(ctx context.Context, q *dbsqlc.Queries, id string, limit int) ([]domain.BudgetWait, error) {
	rows, err := q.BudgetWaiters(ctx, id, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "list the runs that wait for a budget")
	}
	out := make([]domain.BudgetWait, len(rows))
	for i, r := range rows {
		out[i] = domain.BudgetWait{Budget: id, Run: r.Run, PlanKey: r.PlanKey, Since: core.FromMicros(r.Since),
			Start: core.FromMicros(r.StartAt), Until: core.FromMicros(r.EndAt), Least: r.Least}
	}
	return out, nil
}
