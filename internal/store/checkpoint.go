package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/internal/spend"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// runState is the state of a recently written run in the writer's memory, so that a checkpoint need
// not read it.
type runState struct {
	dbsqlc.RunStateRow
	// moved holds the changes of this batch's checkpoints that settleRun has not written yet. A
	// run's row is written once per batch, not once per checkpoint.
	moved struct {
		on       bool
		fence    int64 // journal position in the database
		steps    int64
		headline bool
	}
}

// prepared is a checkpoint with all work done that does not need the writer: its values are
// encoded, compressed, and hashed.
type prepared struct {
	c        domain.Checkpoint
	rowID    int64
	steps    []core.StepRow
	payloads []dbsqlc.PayloadInsertParams
	output   *string
	digest   []byte
	refs     [][]byte // payloads that the checkpoint refers to
	messages []dbsqlc.MessageInsertParams
	tries    int64 // most attempts of one step
	spend    []dbsqlc.SpendAddParams
}

func (s *Store) prepare(ctx context.Context, c domain.Checkpoint) (*prepared, error) {
	if s.writer == nil {
		return nil, errReadOnly()
	}
	p := &prepared{c: c, steps: make([]core.StepRow, len(c.Entries)), spend: spend.Of(c.Entries)}
	var err error
	if p.rowID, err = s.db.RowID(ctx, c.Run); err != nil {
		return nil, err
	}
	hashes := make([]byte, 0, 4*sha256.Size)
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Seq == 0 {
			e.Seq = c.Fence + int64(i) + 1
		}
		if e.Seq != c.Fence+int64(i)+1 {
			return nil, domain.Errorf(
				domain.CodeInternal,
				"checkpoint of run %s: row %d has seq %d, want %d",
				c.Run,
				i,
				e.Seq,
				c.Fence+int64(i)+1,
			)
		}
		step := &p.steps[i]
		if err := s.step(c.Run, e, step, &p.payloads); err != nil {
			return nil, err
		}
		step.RunID = p.rowID
		p.tries = max(p.tries, step.Attempt)
		hashes = append(hashes, step.Hash...)
	}
	if len(c.Entries) > 0 {
		digest := sha256.Sum256(hashes)
		p.digest = digest[:]
	}
	if c.Patch != nil && c.Patch.Output != nil {
		if p.output, err = s.db.EncodeValue(c.Patch.Output, &p.payloads); err != nil {
			return nil, err
		}
	}
	if p.messages, err = s.messageRows(c.Messages, p.rowID, &p.payloads); err != nil {
		return nil, err
	}
	more := []*string{p.output}
	for i := range p.messages {
		more = append(more, p.messages[i].Payload)
	}
	p.refs = payloadRefs(p.steps, more...)
	p.payloads, err = s.storeLargeFirst(p.payloads)
	return p, err
}

// Commit stores a checkpoint and returns when it is durable.
func (s *Store) Commit(ctx context.Context, c domain.Checkpoint) error {
	p, err := s.prepare(ctx, c)
	if err != nil {
		return err
	}
	return s.writer.do(op{apply: p.apply, ofRun: true, chain: c.Chain})
}

// Enqueue queues checkpoints without waiting. It calls done once for each, when the checkpoint is
// durable or has failed.
func (s *Store) Enqueue(list []domain.Checkpoint, done func(error)) {
	if s.writer == nil {
		go func() {
			for range list {
				done(errReadOnly())
			}
		}()
		return
	}
	ops := make([]op, len(list))
	for i, c := range list {
		ops[i] = op{done: done, ofRun: true, chain: c.Chain}
		p, err := s.prepare(context.Background(), c)
		if err != nil {
			// It is rejected in order, so that the checkpoints after it are rejected too.
			ops[i].apply = func(*writer) ([]auditRow, error) { return nil, refusal(err) }
			continue
		}
		ops[i].apply = p.apply
	}
	s.writer.submit(ops...)
}

// refusal wraps err as the writer expects it from an operation that wrote nothing.
func refusal(err error) error {
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	return domain.Errorf(domain.CodeInternal, "prepare the checkpoint: %w", err)
}

// apply writes the checkpoint. It first checks the run's position against the writer's memory. The
// database checks the position again when the run's row is written, at the latest at the commit,
// and then rejects it.
func (p *prepared) apply(w *writer) ([]auditRow, error) {
	c := &p.c
	st, err := w.state(p.rowID, c.Run)
	if err != nil {
		return nil, err
	}
	if st.LastSeq != c.Fence {
		return nil, domain.Errorf(domain.CodeConflict, "run %s has changed", domain.ShortID(c.Run)).
			Suggest("reload it and try again: its journal is at row %d, not %d", st.LastSeq, c.Fence)
	}
	next := *st
	next.LastSeq = c.Fence + int64(len(c.Entries))
	var add int64
	if patch := c.Patch; patch != nil {
		add = patch.AddSteps
		if patch.AddPath != "" {
			next.Path = clipPath(next.Path + patch.AddPath)
		}
		if patch.Path != nil {
			next.Path = clipPath(*patch.Path)
		}
	}
	if hotOnly(c.Patch) {
		w.move(p.rowID, st, &next, add, c.Patch)
	} else {
		if err := w.settleRun(p.rowID, st); err != nil {
			return nil, err
		}
		next.moved = st.moved
		n, err := p.advance(w, st, &next)
		if err != nil {
			return nil, err
		}
		if n != 1 {
			delete(w.hot, p.rowID)
			return nil, movedOn(c.Run)
		}
	}
	failpoint.Hit("checkpoint.fenced")
	for _, pl := range p.payloads {
		if err := w.q.PayloadInsert(w.ctx, pl); err != nil {
			return nil, err
		}
	}
	if err := w.refer(p.rowID, p.refs); err != nil {
		return nil, err
	}
	for i := range p.steps {
		step := &p.steps[i]
		step.AuditSeq = w.chain.next + 1
		if err := w.direct.insertStep(step); err != nil {
			return nil, err
		}
	}
	failpoint.Hit("checkpoint.inserted")
	if p.tries > 1 && p.tries > st.MaxAttempts {
		next.MaxAttempts = p.tries
		if err := w.q.RunMaxAttempts(w.ctx, p.tries, p.rowID); err != nil {
			return nil, err
		}
	}
	if err := p.details(w); err != nil {
		return nil, err
	}
	reached, err := p.charge(w)
	if err != nil {
		return nil, err
	}
	if err := w.tally.spend.Add(w.ctx, w.q, p.rowID, next.PlanID, p.spend); err != nil {
		return nil, err
	}
	*st = next
	if domain.RunStatus(next.Status).Final() {
		w.s.db.Forget(c.Run)
		if !next.moved.on { // otherwise settleRuns removes it
			delete(w.hot, p.rowID)
		}
	}
	return append(p.audit(w.chain.added[:0]), reached...), nil
}

func movedOn(run string) *domain.Error {
	return domain.Errorf(domain.CodeConflict, "run %s has changed", domain.ShortID(run))
}

// move records what a checkpoint changes in a run's row.
func (w *writer) move(rowID int64, st, next *runState, steps int64, patch *domain.RunPatch) {
	next.moved = st.moved
	if !next.moved.on {
		next.moved.on, next.moved.fence = true, st.LastSeq
		w.moved = append(w.moved, rowID)
	}
	next.moved.steps += steps
	if patch != nil && next.setHeadline(patch) {
		next.moved.headline = true
	}
	if patch != nil && patch.Node != nil {
		next.Node, next.moved.headline = *patch.Node, true
	}
}

// settleRun writes the changes that move recorded for a run. If another writer has moved the run,
// the whole batch fails, and each operation is attempted separately.
func (w *writer) settleRun(rowID int64, st *runState) error {
	if !st.moved.on {
		return nil
	}
	n, err := w.advanceRun(rowID, st)
	if err != nil {
		return err
	}
	st.moved.on, st.moved.steps, st.moved.headline = false, 0, false
	if n != 1 {
		return fmt.Errorf("the row of run %d: %w", rowID, core.ErrMoved)
	}
	return nil
}

// settleRuns writes the rows of all runs that the batch has changed.
func (w *writer) settleRuns() error {
	for _, id := range w.moved {
		if st := w.hot[id]; st != nil {
			if err := w.settleRun(id, st); err != nil {
				return err
			}
			if domain.RunStatus(st.Status).Final() {
				delete(w.hot, id)
			}
		}
	}
	w.moved = w.moved[:0]
	return nil
}

func (w *writer) state(rowID int64, runID string) (*runState, error) {
	if st := w.hot[rowID]; st != nil {
		return st, nil
	}
	row, err := w.q.RunState(w.ctx, runID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, domain.Errorf(domain.CodeNotFound, "run %s not found", runID)
	} else if err != nil {
		return nil, err
	}
	if len(w.hot) > mostHot {
		if err := w.settleRuns(); err != nil {
			return nil, err
		}
		clear(w.hot)
	}
	st := &runState{RunStateRow: row}
	w.hot[rowID] = st
	return st, nil
}

// mostHot is the number of runs in the writer's memory. mostNew is how many of them may be new runs
// that have done nothing yet.
const (
	mostHot = 20_000
	mostNew = 1000
)

// expect keeps the state of a new run in memory, because it usually starts at once.
func (w *writer) expect(rowID int64, st runState) {
	if len(w.hot) < mostNew {
		w.hot[rowID] = &st
	}
}

// audit adds one row for the checkpoint, and the explicit records.
func (p *prepared) audit(rows []auditRow) []auditRow {
	if n := len(p.c.Entries); n > 0 || p.c.Patch != nil && p.c.Patch.Status != "" {
		r := auditRow{rowID: p.rowID, digest: p.digest, entries: p.c.Entries,
			record: domain.AuditRecord{Action: ActionCheckpoint, Source: "engine", Actor: "system", Run: p.c.Run}}
		if n > 0 {
			r.firstSeq, r.runSeq = p.c.Entries[0].Seq, p.c.Entries[n-1].Seq
		}
		if p.c.Patch != nil && p.c.Patch.Status != "" {
			r.record.Object = string(p.c.Patch.Status)
			if p.c.Patch.WaitReason != "" {
				r.record.Object += ":" + string(p.c.Patch.WaitReason)
			}
		}
		rows = append(rows, r)
	}
	for _, record := range p.c.Audit {
		record.Run = p.c.Run
		rows = append(rows, auditRow{rowID: p.rowID, runSeq: p.c.Fence + int64(len(p.c.Entries)), record: record})
	}
	return rows
}
