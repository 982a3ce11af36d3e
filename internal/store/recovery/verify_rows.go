package recovery

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// problemRows lists the results of a query: the run, and its problem.
func (s *database) problemRows(ctx context.Context, c *domain.Check, query string, args ...int64) error {
	err := s.db.EachRow(ctx, query, core.Ordinals(args...), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		run, problem := f.Text(), f.Text()
		if f.Err == nil {
			core.FindOf(c, run, "run %s: %s", run, problem)
		}
		return f.Err
	})
	return core.Translate(err, c.Name)
}

// endingTime is how long the cleanup after a finished run may take.
const endingTime = time.Minute

// checkStates finds what must not remain of a finished run.
func (s *database) checkStates(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "run states", "cancel the listed runs, or restart kairosd to clean up after finished runs; report this with the log"
	var err error
	if c.Checked, err = s.db.Q.CheckStates(ctx); err != nil {
		return core.Translate(err, c.Name)
	}
	long := s.db.Now().Add(-endingTime).UnixMicro()
	for _, query := range []string{dbsqlc.CheckLeftApprovals, dbsqlc.CheckLeftChildren, dbsqlc.CheckLeftPaused} {
		if err := s.problemRows(ctx, c, query, long); err != nil {
			return err
		}
	}
	return nil
}

// checkApprovals compares approvals with the journal rows that opened and decided them, which have
// checksums.
func (s *database) checkApprovals(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "approvals", "a request or its decision was changed. Compare it with a backup and with the audit log first"
	last, err := s.db.Q.RunLast(ctx)
	if err != nil {
		return core.Translate(err, c.Name)
	}
	for low := int64(0); low < last; low += verifyWindow {
		if err := s.checkApprovalsOf(ctx, c, low, low+verifyWindow); err != nil {
			return core.Translate(err, c.Name)
		}
	}
	return nil
}

// journalApproval is an approval as the journal records it.
type journalApproval struct {
	node, decision, by, comment string
	visit, item, due            int64
}

func (s *database) checkApprovalsOf(ctx context.Context, c *domain.Check, low, high int64) error {
	type stored struct {
		journalApproval
		run, id, status string
		runID           int64
	}
	var approvals []stored
	err := s.db.EachRow(ctx, dbsqlc.CheckApprovals, core.Ordinals(low, high), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		a := stored{runID: f.Int(), run: f.Text(), id: f.Text(), status: f.Text()}
		a.node, a.visit, a.item, a.due, a.by, a.comment = f.Text(), f.Int(), f.Int(), f.Int(), f.Text(), f.Text()
		approvals = append(approvals, a)
		return f.Err
	})
	if err != nil || len(approvals) == 0 {
		return err
	}
	type key struct {
		run int64
		ref string
	}
	journal := map[key]journalApproval{}
	err = s.db.EachRow(ctx, dbsqlc.CheckApprovalSteps, core.Ordinals(low, high), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		k, kind := key{f.Int(), f.Text()}, f.Text()
		row := journalApproval{
			node:     f.Text(),
			visit:    f.Int(),
			item:     f.Int(),
			due:      f.Int(),
			decision: f.Text(),
			by:       f.Text(),
			comment:  f.Text(),
		}
		if kind == string(domain.EntryWait) {
			row.decision = ""
			journal[k] = row
		} else if opened, ok := journal[k]; ok {
			var d struct{ Action string }
			if err := json.Unmarshal([]byte(row.decision), &d); err == nil {
				opened.decision, opened.by, opened.comment = d.Action, row.by, row.comment
				journal[k] = opened
			}
		}
		return f.Err
	})
	if err != nil {
		return err
	}
	for _, a := range approvals {
		c.Checked++
		opened, ok := journal[key{a.runID, a.id}]
		decided := a.status != "pending" && a.status != "cancelled"
		switch {
		case !ok:
			core.FindOf(c, a.run, "run %s: approval %s has no journal row", a.run, a.id)
		case a.node != opened.node || a.visit != opened.visit || a.item != opened.item || a.due != opened.due:
			core.FindOf(c, a.run, "run %s: approval %s differs from its journal row", a.run, a.id)
		case decided && a.status != opened.decision:
			core.FindOf(
				c,
				a.run,
				"run %s: approval %s is %s, but %s in the journal",
				a.run,
				a.id,
				a.status,
				cmp.Or(opened.decision, "not decided"),
			)
		case !decided && opened.decision != "":
			core.FindOf(c, a.run, "run %s: approval %s is %s, but %s in the journal", a.run, a.id, a.status, opened.decision)
		case decided && (a.by != opened.by || a.comment != "" && a.comment != opened.comment):
			core.FindOf(c, a.run, "run %s: the decider or the reason of approval %s differs from the journal", a.run, a.id)
		}
	}
	return nil
}

// checkMemory compares the memory of sessions with the runs it came from.
func (s *database) checkMemory(ctx context.Context, c *domain.Check) error {
	c.Name, c.Advice = "memory", "clear the sessions of the listed runs: kairos sessions clear"
	for after, more := int64(0), true; more; {
		more = false
		err := s.db.EachRow(ctx, dbsqlc.CheckMemory,
			core.Ordinals(after, core.VerifyRows), func(v []driver.Value) error {
				f := core.Fields{Values: v}
				id, run, scope, owner, session, input := f.Int(), f.Text(), f.Text(), f.Text(), f.Text(), f.Text()
				actor, ofRun, given := f.Text(), f.Text(), f.Text()
				after, more = id, true
				c.Checked++
				var text string
				switch {
				case f.Err != nil:
				case scope != core.ScopeOf(owner, session) || owner != actor || session != ofRun:
					core.FindOf(c, run, "run %s: its memory is stored for another session or person", run)
				case strings.HasPrefix(given, `"`) && json.Unmarshal([]byte(given), &text) == nil && core.ClipMemory(text) != input:
					core.FindOf(c, run, "run %s: its memory contains another input", run)
				}
				return f.Err
			})
		if err != nil {
			return core.Translate(err, c.Name)
		}
	}
	return nil
}
