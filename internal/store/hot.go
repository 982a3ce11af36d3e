package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// hotStmt is one of the few statements that every commit or checkpoint runs. It is prepared
// on the driver's connection itself: database/sql spends a third of such a
// statement's time on locking, converting and copying arguments.
type hotStmt struct {
	stmt driver.StmtExecContext
	args []driver.NamedValue
	n    int
}

const (
	epochSQL   = `SELECT value FROM settings WHERE key = 'epoch'`
	touchSQL   = `UPDATE runs SET last_seq = ?, steps = steps + ?, path = ? WHERE id = ? AND last_seq = ?`
	touchAtSQL = `UPDATE runs SET last_seq = ?, steps = steps + ?, path = ?, headline = ?, node = ? WHERE id = ? AND last_seq = ?`
	stepSQL    = `INSERT INTO step_results (run_id, seq, kind, node, visit, item, attempt, substep, status, final, effect, idem_key, input, output,
decision, failure, input_tokens, output_tokens, cost, agent, due_at, ref, actor, reason, log, started_at, at, audit_seq, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// plainStepSQL is stepSQL for rows that say only what happened: binding an
	// argument costs more than a constant.
	plainStepSQL = `INSERT INTO step_results (run_id, seq, kind, node, visit, item, attempt, substep, status, final, effect, idem_key, input, output,
decision, failure, input_tokens, output_tokens, cost, agent, due_at, ref, actor, reason, log, started_at, at, audit_seq, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, NULL, 0, 0, 0.0, NULL, 0, NULL, NULL, NULL, NULL, ?, ?, ?, ?)`
	// checkpointAuditSQL is auditSQL for the record of a checkpoint.
	checkpointAuditSQL = `INSERT INTO audit_events (seq, at, run_id, first_seq, run_seq, digest, action, actor, surface, object, result, reason, detail, mac)
VALUES (?, ?, ?, ?, ?, ?, '` + ActionCheckpoint + `', 'system', 'engine', ?, 'ok', '', NULL, ?)`
	auditSQL = `INSERT INTO audit_events (seq, at, run_id, first_seq, run_seq, digest, action, actor, surface, object, result, reason, detail, request, address, mac)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// prepareHot prepares a statement on the writer's own connection.
func prepareHot(conn *sql.Conn, text string, params int) (*hotStmt, error) {
	h := &hotStmt{args: make([]driver.NamedValue, params)}
	for i := range h.args {
		h.args[i].Ordinal = i + 1
	}
	err := conn.Raw(func(c any) error {
		stmt, err := c.(driver.Conn).Prepare(text)
		if err != nil {
			return err
		}
		var ok bool
		if h.stmt, ok = stmt.(driver.StmtExecContext); !ok {
			return errors.Join(errors.New("the driver's statements do not execute with a context"), stmt.Close())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("prepare %.30s: %w", text, err)
	}
	return h, nil
}

func (h *hotStmt) close() error { return h.stmt.(driver.Stmt).Close() }

// set gives the next argument.
func (h *hotStmt) set(v driver.Value) {
	h.args[h.n].Value = v
	h.n++
}

func (h *hotStmt) text(s *string) {
	if s == nil {
		h.set(nil)
		return
	}
	h.set(*s)
}

func (h *hotStmt) blob(b []byte) {
	if b == nil {
		h.set(nil)
		return
	}
	h.set(b)
}

func (h *hotStmt) exec(ctx context.Context) (driver.Result, error) {
	if h.n != len(h.args) {
		return nil, fmt.Errorf("store: %d arguments for %d parameters", h.n, len(h.args))
	}
	h.n = 0
	return h.stmt.ExecContext(ctx, h.args)
}

// value is the one value that the statement reads.
func (h *hotStmt) value(ctx context.Context) (_ driver.Value, err error) {
	q, ok := h.stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, errors.New("the driver's statements do not query with a context")
	}
	rows, err := q.QueryContext(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var v [1]driver.Value
	err = rows.Next(v[:])
	return v[0], err
}

// touchRun moves a run's journal position past the checkpoints that this batch
// has of it; 0 rows: another writer was first.
func (w *writer) touchRun(rowID int64, st *runState) (int64, error) {
	h := w.touch
	if st.moved.headline {
		h = w.touchAt
	}
	h.set(st.LastSeq)
	h.set(st.moved.steps)
	h.set(st.Path)
	if st.moved.headline {
		h.set(st.Headline)
		h.set(st.Node)
	}
	h.set(rowID)
	h.set(st.moved.fence)
	r, err := h.exec(w.ctx)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// stepRow is a journal row on its way to the writer.
type stepRow = dbsqlc.StepResult

// plain reports whether a row has only what plainStepSQL takes.
func plain(p *stepRow) bool {
	return p.Substep == 0 && p.Failure == nil && p.InputTokens == 0 && p.OutputTokens == 0 && p.Cost == 0 && p.Agent == nil &&
		p.DueAt == 0 && p.Ref == nil && p.Actor == nil && p.Reason == nil && p.Log == nil
}

func (w *writer) insertStep(p *stepRow) error {
	if plain(p) {
		return w.insertPlainStep(p)
	}
	h := w.step
	h.set(p.RunID)
	h.set(p.Seq)
	h.set(p.Kind)
	h.set(p.Node)
	h.set(p.Visit)
	h.set(p.Item)
	h.set(p.Attempt)
	h.set(p.Substep)
	h.set(p.Status)
	h.set(p.Final)
	h.set(p.Effect)
	h.text(p.IdemKey)
	h.text(p.Input)
	h.text(p.Output)
	h.text(p.Decision)
	h.text(p.Failure)
	h.set(p.InputTokens)
	h.set(p.OutputTokens)
	h.set(p.Cost)
	h.text(p.Agent)
	h.set(p.DueAt)
	h.text(p.Ref)
	h.text(p.Actor)
	h.text(p.Reason)
	h.text(p.Log)
	h.set(p.StartedAt)
	h.set(p.At)
	h.set(p.AuditSeq)
	h.blob(p.Hash)
	_, err := h.exec(w.ctx)
	return err
}

func (w *writer) insertPlainStep(p *stepRow) error {
	h := w.plainStep
	h.set(p.RunID)
	h.set(p.Seq)
	h.set(p.Kind)
	h.set(p.Node)
	h.set(p.Visit)
	h.set(p.Item)
	h.set(p.Attempt)
	h.set(p.Status)
	h.set(p.Final)
	h.set(p.Effect)
	h.text(p.IdemKey)
	h.text(p.Input)
	h.text(p.Output)
	h.text(p.Decision)
	h.set(p.StartedAt)
	h.set(p.At)
	h.set(p.AuditSeq)
	h.blob(p.Hash)
	_, err := h.exec(w.ctx)
	return err
}

func (w *writer) insertAudit(p *dbsqlc.AuditEvent) error {
	if p.Action == ActionCheckpoint && p.RunID != nil && p.Actor == "system" && p.Surface == "engine" && p.Result == "ok" && p.Reason == "" && p.Detail == nil && p.Request == "" && p.Address == "" {
		h := w.checkpointAudit
		h.set(p.Seq)
		h.set(p.At)
		h.set(*p.RunID)
		h.set(p.FirstSeq)
		h.set(p.RunSeq)
		h.blob(p.Digest)
		h.set(p.Object)
		h.blob(p.Mac)
		_, err := h.exec(w.ctx)
		return err
	}
	h := w.audit
	h.set(p.Seq)
	h.set(p.At)
	if p.RunID != nil {
		h.set(*p.RunID)
	} else {
		h.set(nil)
	}
	h.set(p.FirstSeq)
	h.set(p.RunSeq)
	h.blob(p.Digest)
	h.set(p.Action)
	h.set(p.Actor)
	h.set(p.Surface)
	h.set(p.Object)
	h.set(p.Result)
	h.set(p.Reason)
	h.text(p.Detail)
	h.set(p.Request)
	h.set(p.Address)
	h.blob(p.Mac)
	_, err := h.exec(w.ctx)
	return err
}
