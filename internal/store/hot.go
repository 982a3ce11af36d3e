package store

import (
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// The statements that every commit or checkpoint runs are executed without the
// driver, which would take as long again.
const (
	versionSQL = `SELECT v.id, v.plan_id, v.number, p.public_id, p.key FROM plan_versions AS v JOIN plans AS p ON p.id = v.plan_id WHERE v.hash = ?`
	stateSQL   = `SELECT id, plan_id, status, wait_reason, attention, last_seq, path, headline, node, error_code, version_id, due_at, crashes, paused, started_at,
ended_at, running_us, deleted_at, tries, origin, alike FROM runs WHERE public_id = ?`
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

// planVersion is what a run needs to know of its version.
type planVersion struct {
	id, plan, number int64
	planID, planKey  string // the plan's public id and key
}

// planVersionOf finds a version by its hash; CodeNotFound.
func (w *writer) planVersionOf(hash string) (planVersion, error) {
	h := w.planVersion
	h.Text(hash)
	found, err := h.Next()
	if err != nil {
		return planVersion{}, err
	} else if !found {
		return planVersion{}, kairos.Errorf(kairos.CodeNotFound, "no plan version with hash %s", hash)
	}
	defer h.Done()
	return planVersion{id: h.ColumnInt(0), plan: h.ColumnInt(1), number: h.ColumnInt(2), planID: h.ColumnText(3), planKey: h.ColumnText(4)}, nil
}

// storedState reads a run's state; found is false if there is no such run.
func (w *writer) storedState(runID string) (_ dbsqlc.RunStateRow, found bool, err error) {
	h := w.runState
	h.Text(runID)
	if found, err = h.Next(); !found {
		return dbsqlc.RunStateRow{}, false, err
	}
	defer h.Done()
	return dbsqlc.RunStateRow{ID: h.ColumnInt(0), PlanID: h.ColumnInt(1), Status: h.ColumnText(2), WaitReason: h.ColumnText(3), Attention: h.ColumnInt(4),
		LastSeq: h.ColumnInt(5), Path: h.ColumnText(6), Headline: h.ColumnText(7), Node: h.ColumnText(8), ErrorCode: h.ColumnText(9), VersionID: h.ColumnInt(10),
		DueAt: h.ColumnInt(11), Crashes: h.ColumnInt(12), Paused: h.ColumnInt(13), StartedAt: h.ColumnInt(14), EndedAt: h.ColumnInt(15), RunningUs: h.ColumnInt(16),
		DeletedAt: h.ColumnInt(17), Tries: h.ColumnInt(18), Origin: h.ColumnText(19), Alike: h.ColumnText(20)}, true, nil
}

// touchRun moves a run's journal position past the checkpoints that this batch
// has of it; 0 rows: another writer was first.
func (w *writer) touchRun(rowID int64, st *runState) (int64, error) {
	h := w.touch
	if st.moved.headline {
		h = w.touchAt
	}
	h.Int(st.LastSeq)
	h.Int(st.moved.steps)
	h.Text(st.Path)
	if st.moved.headline {
		h.Text(st.Headline)
		h.Text(st.Node)
	}
	h.Int(rowID)
	h.Int(st.moved.fence)
	if err := h.Exec(); err != nil {
		return 0, err
	}
	return w.c.Changes(), nil
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
	h.Int(p.RunID)
	h.Int(p.Seq)
	h.Text(p.Kind)
	h.Text(p.Node)
	h.Int(p.Visit)
	h.Int(p.Item)
	h.Int(p.Attempt)
	h.Int(p.Substep)
	h.Text(p.Status)
	h.Int(p.Final)
	h.Text(p.Effect)
	h.TextOrNull(p.IdemKey)
	h.TextOrNull(p.Input)
	h.TextOrNull(p.Output)
	h.TextOrNull(p.Decision)
	h.TextOrNull(p.Failure)
	h.Int(p.InputTokens)
	h.Int(p.OutputTokens)
	h.Float(p.Cost)
	h.TextOrNull(p.Agent)
	h.Int(p.DueAt)
	h.TextOrNull(p.Ref)
	h.TextOrNull(p.Actor)
	h.TextOrNull(p.Reason)
	h.TextOrNull(p.Log)
	h.Int(p.StartedAt)
	h.Int(p.At)
	h.Int(p.AuditSeq)
	h.BlobOrNull(p.Hash)
	return h.Exec()
}

func (w *writer) insertPlainStep(p *stepRow) error {
	h := w.plainStep
	h.Int(p.RunID)
	h.Int(p.Seq)
	h.Text(p.Kind)
	h.Text(p.Node)
	h.Int(p.Visit)
	h.Int(p.Item)
	h.Int(p.Attempt)
	h.Text(p.Status)
	h.Int(p.Final)
	h.Text(p.Effect)
	h.TextOrNull(p.IdemKey)
	h.TextOrNull(p.Input)
	h.TextOrNull(p.Output)
	h.TextOrNull(p.Decision)
	h.Int(p.StartedAt)
	h.Int(p.At)
	h.Int(p.AuditSeq)
	h.BlobOrNull(p.Hash)
	return h.Exec()
}

func (w *writer) insertAudit(p *dbsqlc.AuditEvent) error {
	if p.Action == ActionCheckpoint && p.RunID != nil && p.Actor == "system" && p.Surface == "engine" && p.Result == "ok" && p.Reason == "" && p.Detail == nil && p.Request == "" && p.Address == "" {
		h := w.checkpointAudit
		h.Int(p.Seq)
		h.Int(p.At)
		h.Int(*p.RunID)
		h.Int(p.FirstSeq)
		h.Int(p.RunSeq)
		h.BlobOrNull(p.Digest)
		h.Text(p.Object)
		h.BlobOrNull(p.Mac)
		return h.Exec()
	}
	h := w.audit
	h.Int(p.Seq)
	h.Int(p.At)
	if p.RunID != nil {
		h.Int(*p.RunID)
	} else {
		h.Null()
	}
	h.Int(p.FirstSeq)
	h.Int(p.RunSeq)
	h.BlobOrNull(p.Digest)
	h.Text(p.Action)
	h.Text(p.Actor)
	h.Text(p.Surface)
	h.Text(p.Object)
	h.Text(p.Result)
	h.Text(p.Reason)
	h.TextOrNull(p.Detail)
	h.Text(p.Request)
	h.Text(p.Address)
	h.BlobOrNull(p.Mac)
	return h.Exec()
}
