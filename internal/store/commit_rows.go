package store

import (
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/statement"
)

// planVersionOf finds the plan version of a run by its hash. It returns CodeNotFound.
func (w *writer) planVersionOf(hash string) (dbsqlc.VersionOfRunRow, error) {
	v, err := w.q.VersionOfRun(w.ctx, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return v, domain.Errorf(domain.CodeNotFound, "plan version with hash %s not found", hash)
	}
	return v, err
}

// setHeadline applies the status message of a patch. It returns false if the patch has none.
func (st *runState) setHeadline(p *domain.RunPatch) bool {
	if p.Headline != nil {
		st.Headline, st.Message = *p.Headline, domain.EncodeMessage(p.Message)
	}
	return p.Headline != nil
}

// advanceRun moves a run's journal position past this batch's checkpoints. 0 rows mean that another
// writer was first.
func (w *writer) advanceRun(rowID int64, st *runState) (int64, error) {
	if st.moved.headline {
		return w.q.RunMoveMessage(w.ctx, dbsqlc.RunMoveMessageParams{LastSeq: st.LastSeq, Steps: st.moved.steps, Path: st.Path,
			Headline: st.Headline, Message: st.Message, Node: st.Node, ID: rowID, Before: st.moved.fence})
	}
	return w.q.RunMove(
		w.ctx,
		dbsqlc.RunMoveParams{LastSeq: st.LastSeq, Steps: st.moved.steps, Path: st.Path, ID: rowID, Before: st.moved.fence},
	)
}

// directStatements are executed without the database/sql driver.
type directStatements struct {
	begin, end, undo                        *statement.Stmt
	save, release, back                     *statement.Stmt // of a savepoint
	step, plainStep, audit, checkpointAudit *statement.Stmt
}

type directStatement struct {
	stmt **statement.Stmt
	text string
}

func (d *directStatements) all() []directStatement {
	return []directStatement{{&d.begin, "BEGIN IMMEDIATE"}, {&d.end, "COMMIT"}, {&d.undo, "ROLLBACK"},
		{&d.save, "SAVEPOINT operation"}, {&d.release, "RELEASE operation"}, {&d.back, "ROLLBACK TO operation"},
		{&d.step, dbsqlc.StepInsert}, {&d.plainStep, dbsqlc.StepInsertPlain},
		{&d.audit, dbsqlc.AuditInsert}, {&d.checkpointAudit, dbsqlc.AuditInsertCheckpoint}}
}

// The rows of every checkpoint are bound directly, in the parameter order of the generated queries.
// Boxing their arguments would take a tenth of a step's CPU time (make microbench,
// BenchmarkCommit).

// plain reports whether a row has only the columns of plainStepSQL.
func plain(p *core.StepRow) bool {
	return p.Substep == 0 && p.Failure == nil && p.InputTokens == 0 && p.OutputTokens == 0 && p.Cost == 0 && p.Agent == nil &&
		p.DueAt == 0 && p.Ref == nil && p.Actor == nil && p.Reason == nil && p.Log == nil
}

func (d *directStatements) insertStep(p *core.StepRow) error {
	if plain(p) {
		return d.insertPlainStep(p)
	}
	h := d.step
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

func (d *directStatements) insertPlainStep(p *core.StepRow) error {
	h := d.plainStep
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

func (d *directStatements) insertAudit(p *dbsqlc.AuditEvent) error {
	if p.Action == ActionCheckpoint && p.RunID != nil && p.Actor == "system" && p.Source == "engine" && p.Result == "ok" &&
		p.Reason == "" &&
		p.Detail == nil &&
		p.Request == "" &&
		p.Address == "" {
		h := d.checkpointAudit
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
	h := d.audit
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
	h.Text(p.Source)
	h.Text(p.Object)
	h.Text(p.Result)
	h.Text(p.Reason)
	h.TextOrNull(p.Detail)
	h.Text(p.Request)
	h.Text(p.Address)
	h.BlobOrNull(p.Mac)
	return h.Exec()
}
