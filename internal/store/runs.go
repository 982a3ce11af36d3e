package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// CreateRun stores a run with its first journal rows and audit records. If a run with the same Key
// or ID exists, it is returned, and created is false.
func (s *Store) CreateRun(ctx context.Context, r domain.NewRun) (domain.Run, bool, error) {
	if s.writer == nil {
		return domain.Run{}, false, errReadOnly()
	}
	if r.ID == "" {
		r.ID = domain.NewID()
	}
	if r.Status == "" {
		r.Status = domain.RunQueued
	}
	n := &newRun{s: s, r: r}
	if err := n.prepare(); err != nil {
		return domain.Run{}, false, err
	}
	if err := s.writer.do(op{apply: n.apply}); err != nil {
		return domain.Run{}, false, err
	}
	if n.created {
		s.db.Remember(n.id, n.row.ID) // the row is certain only after the commit
		run := core.Run(&n.row, &n.details, n.version.PublicID, n.version.Key, n.version.Number, r.Hash)
		run.Input = r.Input
		return run, true, nil
	}
	// The caller must receive the existing run.
	run, err := s.Run(context.WithoutCancel(ctx), n.id)
	return run, false, err
}

// newRun is a run to be written.
type newRun struct {
	s        *Store
	r        domain.NewRun
	input    *string
	steps    []core.StepRow
	payloads []dbsqlc.PayloadInsertParams
	detail   dbsqlc.RunDetailInsertParams
	digest   []byte // over the rows' hashes
	id       string // of the run that exists afterwards
	created  bool
	// as stored, if it was created
	row     dbsqlc.Run
	details dbsqlc.RunDetail
	version dbsqlc.VersionOfRunRow
}

func (n *newRun) prepare() error {
	var err error
	if n.input, err = n.s.db.EncodeValue(n.r.Input, &n.payloads); err != nil {
		return err
	}
	sum := sha256.New()
	for i := range n.r.Entries {
		e := &n.r.Entries[i]
		e.Seq = int64(i) + 1
		var step core.StepRow
		if err := n.s.step(n.r.ID, e, &step, &n.payloads); err != nil {
			return err
		}
		n.steps = append(n.steps, step)
		sum.Write(step.Hash)
	}
	n.digest = sum.Sum(nil)
	n.describe()
	n.payloads, err = n.s.storeLargeFirst(n.payloads)
	return err
}

// describe prepares the columns that lists do not need, and seals them.
func (n *newRun) describe() {
	r := &n.r
	// The session is the run's ID unless one was given.
	d := dbsqlc.RunDetailInsertParams{Input: n.input, Session: cmp.Or(r.Session, r.ID), Limits: core.EncodeJSON(r.Limits), Labels: "{}"}
	if len(r.Labels) > 0 {
		d.Labels = core.EncodeJSON(r.Labels)
	}
	f := sealed{
		id:         r.ID,
		actor:      r.Actor,
		origin:     r.Origin,
		key:        r.Key,
		forkedFrom: r.ForkedFrom,
		rerunOf:    r.RerunOf,
		session:    d.Session,
		labels:     d.Labels,
		input:      d.Input,
		priority:   int64(r.Priority),
		forkSeq:    r.ForkSeq,
		startAt:    core.Micros(r.StartAt),
	}
	if r.Parent != nil {
		f.parentRun, f.parent = r.Parent.Run, core.EncodeJSON(r.Parent)
		d.Parent = core.OrNull(f.parent)
	}
	if r.Concurrency != nil {
		f.concKey, f.concurrency = r.Concurrency.Key, core.EncodeJSON(r.Concurrency)
		d.Concurrency = core.OrNull(f.concurrency)
	}
	n.detail = d
	r.Audit = f.into(r.Audit)
}

func (n *newRun) apply(w *writer) ([]auditRow, error) {
	r := &n.r
	n.id, n.created = r.ID, false
	if r.Key != "" {
		id, err := w.q.RunByKey(w.ctx, &r.Key)
		if err == nil {
			n.id = id
			return nil, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	v, err := w.planVersionOf(r.Hash)
	if err != nil {
		return nil, err
	}
	others := make([]int64, len(r.Audit)) // runs that records refer to instead of this one
	for i := range r.Audit {
		if run := r.Audit[i].Run; run != "" && run != r.ID {
			other, err := w.q.RunRowID(w.ctx, run)
			if errors.Is(err, sql.ErrNoRows) {
				return nil, domain.Errorf(domain.CodeNotFound, "run %s not found", run)
			} else if err != nil {
				return nil, err
			}
			others[i] = other.ID
		}
	}
	p := dbsqlc.RunInsertParams{PublicID: r.ID, Tail: core.Reversed(r.ID), PlanID: v.PlanID, VersionID: v.ID,
		Status: string(
			r.Status,
		), LastSeq: int64(len(n.steps)), Actor: r.Actor, Origin: r.Origin, Priority: int64(r.Priority), RunKey: core.OrNull(r.Key),
		ForkedFrom: r.ForkedFrom, ForkSeq: r.ForkSeq, RerunOf: r.RerunOf, StartAt: core.Micros(r.StartAt), CreatedAt: w.s.now().UnixMicro()}
	if r.Status == domain.RunWaiting {
		p.WaitReason = string(domain.WaitHeld)
	}
	p.Attention = core.Flag(r.Origin != domain.OriginDry && core.NeedsAttention(p.Status, p.WaitReason, 0))
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Final {
			p.Steps++
			p.Path = clipPath(p.Path + string(domain.PathLetter(e.Status)))
		}
	}
	d := n.detail
	if r.Parent != nil {
		p.ParentRun = r.Parent.Run
	}
	if r.Concurrency != nil {
		p.ConcurrencyKey = r.Concurrency.Key
	}
	inserted, err := w.q.RunInsert(w.ctx, p)
	if err != nil {
		return nil, err
	}
	if rows, err := inserted.RowsAffected(); rows == 0 {
		return nil, err // a run with this ID exists
	}
	rowID, err := inserted.LastInsertId()
	if err != nil {
		return nil, err
	}
	d.RunID = rowID
	if err := w.q.RunDetailInsert(w.ctx, d); err != nil {
		return nil, err
	}
	for k, v := range r.Labels {
		if err := w.q.RunLabelInsert(w.ctx, k, v, rowID); err != nil {
			return nil, err
		}
	}
	if len(r.Labels) > 0 {
		if err := w.wordsOf(rowID); err != nil {
			return nil, err
		}
	}
	if r.Receipt != nil {
		if err := w.keepReceipt(*r.Receipt); err != nil {
			return nil, err
		}
	}
	for _, pl := range n.payloads {
		if err := w.q.PayloadInsert(w.ctx, pl); err != nil {
			return nil, err
		}
	}
	if err := w.refer(rowID, payloadRefs(n.steps, n.input)); err != nil {
		return nil, err
	}
	for i := range n.steps {
		step := &n.steps[i]
		step.RunID = rowID
		if len(r.Audit) > 0 {
			step.AuditSeq = w.chain.next + 1
		}
		if err := w.direct.insertStep(step); err != nil {
			return nil, err
		}
	}
	if r.Origin != domain.OriginDry {
		w.tally.counts[countKey{p.Status, p.WaitReason}]++
	}
	n.created, n.version = true, v
	n.row = dbsqlc.Run{
		ID:         rowID,
		PublicID:   p.PublicID,
		Status:     p.Status,
		WaitReason: p.WaitReason,
		Attention:  p.Attention,
		LastSeq:    p.LastSeq,
		Steps:      p.Steps,
		Path:       p.Path,
		Actor:      p.Actor,
		Origin:     p.Origin,
		Priority:   p.Priority,
		RunKey:     p.RunKey,
		ForkedFrom: p.ForkedFrom,
		ForkSeq:    p.ForkSeq,
		RerunOf:    p.RerunOf,
		StartAt:    p.StartAt,
		CreatedAt:  p.CreatedAt,
	}
	n.details = dbsqlc.RunDetail{Session: d.Session, Limits: d.Limits, Labels: d.Labels, Parent: d.Parent, Concurrency: d.Concurrency}
	w.expect(
		rowID,
		runState{
			RunStateRow: dbsqlc.RunStateRow{
				ID:         rowID,
				PlanID:     v.PlanID,
				Status:     p.Status,
				WaitReason: p.WaitReason,
				Attention:  p.Attention,
				LastSeq:    p.LastSeq,
				Path:       p.Path,
				VersionID:  v.ID,
				Origin:     p.Origin,
			},
		},
	)
	var rows []auditRow
	for i, record := range r.Audit {
		record.Run = cmp.Or(record.Run, r.ID)
		row := auditRow{rowID: cmp.Or(others[i], rowID), record: record}
		if i == 0 && len(n.steps) > 0 { // the rows that a fork starts with
			row.firstSeq, row.runSeq, row.digest = 1, int64(len(n.steps)), n.digest
		}
		rows = append(rows, row)
	}
	return rows, nil
}
