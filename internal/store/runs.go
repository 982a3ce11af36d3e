package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/internal/incoming"
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
	audit    []domain.AuditRecord
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
	n.describe(n.r.Concurrency)
	n.payloads, err = n.s.storeLargeFirst(n.payloads)
	return err
}

// describe prepares the columns that lists do not need, and seals them.
func (n *newRun) describe(rule *domain.Concurrency) {
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
		undoes:     r.Undoes,
		profile:    r.Profile,
		session:    d.Session,
		labels:     d.Labels,
		input:      d.Input,
		priority:   int64(r.Priority),
		forkSeq:    r.ForkSeq,
		startAt:    core.Micros(r.StartAt),
		schedule:   r.Slot.Schedule,
		slot:       r.Slot.String(),
	}
	if r.Parent != nil {
		f.parentRun, f.parent = r.Parent.Run, core.EncodeJSON(r.Parent)
		d.Parent = core.OrNull(f.parent)
	}
	if rule != nil {
		f.concKey, f.concurrency = rule.Key, core.EncodeJSON(rule)
		d.Concurrency = core.OrNull(f.concurrency)
	}
	n.detail = d
	n.audit = f.into(r.Audit)
}

// admit applies the concurrency rule of the run to the active runs with its key.
func (n *newRun) admit(w *writer) error {
	c := n.r.Concurrency
	if c == nil || c.Key == "" || c.OnConflict == "" || c.OnConflict == "queue" {
		return nil
	}
	active, err := w.q.RunActiveByConcurrency(w.ctx, c.Key)
	if err != nil {
		return err
	}
	rule := *c
	if rule.Cancels, err = c.Admit(active); err != nil {
		return err
	}
	n.describe(&rule)
	return nil
}

func (n *newRun) apply(w *writer) ([]auditRow, error) {
	n.id, n.created = n.r.ID, false
	if n.r.Key != "" { //seed:key-first
		id, err := w.q.RunByKey(w.ctx, &n.r.Key)
		if err == nil {
			n.id = id
			return nil, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	v, err := w.planVersionOf(n.r.Hash)
	if err != nil {
		return nil, err
	}
	claim, err := claimSlot(w, n.r.Claim)
	switch {
	case err != nil:
		return nil, err
	case claim.run != "": // an earlier request started it
		n.id = claim.run
		return nil, moveSchedule(w, claim.schedule, n.r.Claim.SlotMove)
	}
	if d := n.r.Delivery; d != nil {
		first, err := incoming.New(w.ctx, w.q, w.s.now()).Accepted(d.HookID, d.Key)
		if err != nil || first.ID != "" { // an earlier delivery started it
			n.id = first.Run
			return nil, err
		}
	}
	if err := n.admit(w); err != nil {
		return nil, err
	}
	others, err := n.otherRuns(w)
	if err != nil {
		return nil, err
	}
	p := n.columns(v, w.s.now())
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
	if err := settleClaim(w, claim, n.r.Claim, rowID, p.CreatedAt); err != nil {
		return nil, err
	}
	if d := n.r.Delivery; d != nil {
		if err := incoming.New(w.ctx, w.q, w.s.now()).Record(*d, rowID); err != nil {
			return nil, err
		}
	}
	if err := n.insertDetails(w, rowID); err != nil {
		return nil, err
	}
	if err := n.insertSteps(w, rowID); err != nil {
		return nil, err
	}
	if core.Listed(n.r.Origin, p.Attention) {
		w.tally.counts[countKey{p.Status, p.WaitReason}]++
	}
	n.remember(w, rowID, v, p)
	return n.auditRows(rowID, others), nil
}

// otherRuns returns, for each audit record, the row ID of another run that the record is about, or 0.
func (n *newRun) otherRuns(w *writer) ([]int64, error) {
	others := make([]int64, len(n.audit))
	for i := range n.audit {
		run := n.audit[i].Run
		if run == "" || run == n.r.ID {
			continue
		}
		other, err := w.q.RunRowID(w.ctx, run)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "run %s not found", run)
		} else if err != nil {
			return nil, err
		}
		others[i] = other.ID
	}
	return others, nil
}

// columns returns the row of the run, with the path of the steps that it starts with.
func (n *newRun) columns(v dbsqlc.VersionOfRunRow, now time.Time) dbsqlc.RunInsertParams {
	r := &n.r
	p := dbsqlc.RunInsertParams{
		PublicID:   r.ID,
		Tail:       core.Reversed(r.ID),
		PlanID:     v.PlanID,
		VersionID:  v.ID,
		Status:     string(r.Status),
		LastSeq:    int64(len(n.steps)),
		Actor:      r.Actor,
		Origin:     r.Origin,
		Priority:   int64(r.Priority),
		RunKey:     core.OrNull(r.Key),
		ForkedFrom: r.ForkedFrom,
		ForkSeq:    r.ForkSeq,
		RerunOf:    r.RerunOf,
		Undoes:     r.Undoes,
		Profile:    r.Profile,
		StartAt:    core.Micros(r.StartAt),
		CreatedAt:  cmp.Or(core.Micros(r.CreatedAt), now.UnixMicro()),
		Schedule:   r.Slot.Schedule,
		Slot:       r.Slot.String(),
	}
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
	if r.Parent != nil {
		p.ParentRun = r.Parent.Run
	}
	if r.Concurrency != nil {
		p.ConcurrencyKey = r.Concurrency.Key
	}
	return p
}

// insertDetails writes what lists do not need: details, labels, the receipt of the request, and large values.
func (n *newRun) insertDetails(w *writer, rowID int64) error {
	d := n.detail
	d.RunID = rowID
	if err := w.q.RunDetailInsert(w.ctx, d); err != nil {
		return err
	}
	for k, v := range n.r.Labels {
		if err := w.q.RunLabelInsert(w.ctx, k, v, rowID); err != nil {
			return err
		}
	}
	if len(n.r.Labels) > 0 {
		if err := w.wordsOf(rowID); err != nil {
			return err
		}
	}
	if n.r.Receipt != nil {
		if err := w.keepReceipt(*n.r.Receipt); err != nil {
			return err
		}
	}
	for _, payload := range n.payloads {
		if err := w.q.PayloadInsert(w.ctx, payload); err != nil {
			return err
		}
	}
	return w.refer(rowID, payloadRefs(n.steps, n.input))
}

// insertSteps writes the journal rows that the run starts with.
func (n *newRun) insertSteps(w *writer, rowID int64) error {
	for i := range n.steps {
		step := &n.steps[i]
		step.RunID = rowID
		if len(n.audit) > 0 {
			step.AuditSeq = w.chain.next + 1
		}
		if err := w.direct.insertStep(step); err != nil {
			return err
		}
	}
	return nil
}

// remember keeps the created run for the caller, and its state for the writer.
func (n *newRun) remember(w *writer, rowID int64, v dbsqlc.VersionOfRunRow, p dbsqlc.RunInsertParams) {
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
		Undoes:     p.Undoes,
		Profile:    p.Profile,
		StartAt:    p.StartAt,
		CreatedAt:  p.CreatedAt,
		Schedule:   p.Schedule,
		Slot:       p.Slot,
	}
	d := n.detail
	n.details = dbsqlc.RunDetail{Session: d.Session, Limits: d.Limits, Labels: d.Labels, Parent: d.Parent, Concurrency: d.Concurrency}
	w.expect(rowID, runState{RunStateRow: dbsqlc.RunStateRow{
		ID:         rowID,
		PlanID:     v.PlanID,
		Status:     p.Status,
		WaitReason: p.WaitReason,
		Attention:  p.Attention,
		LastSeq:    p.LastSeq,
		Path:       p.Path,
		VersionID:  v.ID,
		Origin:     p.Origin,
		ParentRun:  p.ParentRun,
	}})
}

// auditRows returns the audit records. The first one covers the journal rows that a fork starts with.
func (n *newRun) auditRows(rowID int64, others []int64) []auditRow {
	var rows []auditRow
	for i, record := range n.audit {
		record.Run = cmp.Or(record.Run, n.r.ID)
		row := auditRow{rowID: cmp.Or(others[i], rowID), record: record}
		if i == 0 && len(n.steps) > 0 {
			row.firstSeq, row.runSeq, row.digest = 1, int64(len(n.steps)), n.digest
		}
		rows = append(rows, row)
	}
	return rows
}
