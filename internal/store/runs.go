package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// CreateRun stores a run, its first journal rows and audit records. A run with
// the same Key or ID that exists already is returned with created false.
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
		s.db.Remember(n.id, n.row.ID) // only now is it certain to be the run's row
		run := run(n.row, n.details, n.version.PublicID, n.version.Key, n.version.Number, r.Hash)
		run.Input = r.Input
		return run, true, nil
	}
	// Whoever asked must hear of the one that is there.
	run, err := s.Run(context.WithoutCancel(ctx), n.id)
	return run, false, err
}

// newRun is a run on its way to the writer.
type newRun struct {
	s        *Store
	r        domain.NewRun
	input    *string
	steps    []core.StepRow
	payloads []dbsqlc.PayloadInsertParams
	detail   dbsqlc.RunDetailInsertParams
	digest   []byte // over the rows' hashes
	id       string // of the run that is there afterwards
	created  bool
	// as they are stored, if it was created
	row     dbsqlc.Run
	details dbsqlc.RunDetail
	version dbsqlc.VersionOfRunRow
}

func (n *newRun) prepare() error {
	var err error
	if n.input, err = n.s.db.Stow(n.r.Input, &n.payloads); err != nil {
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
	n.payloads, err = n.s.early(n.payloads)
	return err
}

// describe makes what lists do not need of the run, and seals it.
func (n *newRun) describe() {
	r := &n.r
	// The session is the run's id unless one was named
	d := dbsqlc.RunDetailInsertParams{Input: n.input, Session: cmp.Or(r.Session, r.ID), Limits: encodeJSON(r.Limits), Labels: "{}"}
	if len(r.Labels) > 0 {
		d.Labels = encodeJSON(r.Labels)
	}
	f := sealed{id: r.ID, actor: r.Actor, origin: r.Origin, key: r.Key, forkedFrom: r.ForkedFrom, rerunOf: r.RerunOf, session: d.Session, labels: d.Labels,
		input: d.Input, priority: int64(r.Priority), forkSeq: r.ForkSeq, startAt: micros(r.StartAt)}
	if r.Parent != nil {
		f.parentRun, f.parent = r.Parent.Run, encodeJSON(r.Parent)
		d.Parent = orNull(f.parent)
	}
	if r.Concurrency != nil {
		f.concKey, f.concurrency = r.Concurrency.Key, encodeJSON(r.Concurrency)
		d.Concurrency = orNull(f.concurrency)
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
	others := make([]int64, len(r.Audit)) // runs that records are about instead of this one
	for i := range r.Audit {
		if run := r.Audit[i].Run; run != "" && run != r.ID {
			other, err := w.q.RunRowID(w.ctx, run)
			if errors.Is(err, sql.ErrNoRows) {
				return nil, domain.Errorf(domain.CodeNotFound, "no run %s", run)
			} else if err != nil {
				return nil, err
			}
			others[i] = other.ID
		}
	}
	p := dbsqlc.RunInsertParams{PublicID: r.ID, Tail: core.Reversed(r.ID), PlanID: v.PlanID, VersionID: v.ID,
		Status: string(r.Status), LastSeq: int64(len(n.steps)), Actor: r.Actor, Origin: r.Origin, Priority: int64(r.Priority), RunKey: orNull(r.Key),
		ForkedFrom: r.ForkedFrom, ForkSeq: r.ForkSeq, RerunOf: r.RerunOf, StartAt: micros(r.StartAt), CreatedAt: w.s.now().UnixMicro()}
	if r.Status == domain.RunWaiting {
		p.WaitReason = string(domain.WaitHeld)
	}
	p.Attention = flag(r.Origin != domain.OriginDry && needsAttention(p.Status, p.WaitReason, 0))
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
		return nil, err // there is one with this id
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
			step.AuditSeq = w.next + 1
		}
		if err := w.insertStep(step); err != nil {
			return nil, err
		}
	}
	if r.Origin != domain.OriginDry {
		w.counts[countKey{p.Status, p.WaitReason}]++
	}
	n.created, n.version = true, v
	n.row = dbsqlc.Run{ID: rowID, PublicID: p.PublicID, Status: p.Status, WaitReason: p.WaitReason, Attention: p.Attention, LastSeq: p.LastSeq, Steps: p.Steps, Path: p.Path, Actor: p.Actor,
		Origin: p.Origin, Priority: p.Priority, RunKey: p.RunKey, ForkedFrom: p.ForkedFrom, ForkSeq: p.ForkSeq, RerunOf: p.RerunOf, StartAt: p.StartAt, CreatedAt: p.CreatedAt}
	n.details = dbsqlc.RunDetail{Session: d.Session, Limits: d.Limits, Labels: d.Labels, Parent: d.Parent, Concurrency: d.Concurrency}
	w.expect(rowID, runState{RunStateRow: dbsqlc.RunStateRow{ID: rowID, PlanID: v.PlanID, Status: p.Status, WaitReason: p.WaitReason, Attention: p.Attention, LastSeq: p.LastSeq,
		Path: p.Path, VersionID: v.ID, Origin: p.Origin}})
	var rows []auditRow
	for i, record := range r.Audit {
		record.Run = cmp.Or(record.Run, r.ID)
		row := auditRow{rowID: cmp.Or(others[i], rowID), record: record}
		if i == 0 && len(n.steps) > 0 { // the rows that a fork begins with
			row.firstSeq, row.runSeq, row.digest = 1, int64(len(n.steps)), n.digest
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Run finds a run by its id, input and output included; CodeNotFound. What of it is
// damaged is left out, and named in [domain.Run.Damaged].
func (s *Store) Run(ctx context.Context, id string) (domain.Run, error) {
	row, err := s.q.RunByPublicID(ctx, id)
	if err != nil {
		if r, bareErr := s.bareRun(ctx, id); bareErr == nil {
			return r, nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			return domain.Run{}, domain.Errorf(domain.CodeNotFound, "no run %s", id)
		}
		return domain.Run{}, translate(err, "read run "+id)
	}
	r := run(row.Run, row.RunDetail, row.PlanPublicID, row.PlanKey, row.Version, row.Hash)
	for _, v := range []struct {
		part   domain.RunPart
		column *string
		into   *domain.RawJSON
	}{{domain.PartInput, row.RunDetail.Input, &r.Input}, {domain.PartOutput, row.RunDetail.Output, &r.Output}} {
		*v.into, err = s.db.Fetch(ctx, v.column)
		switch code := domain.CodeOf(err); {
		case code == domain.CodeCorrupt, code == domain.CodeNotFound:
			r.Damaged = append(r.Damaged, domain.DamagedPart{Part: v.part, Message: err.Error()})
			*v.into = nil
		case err != nil:
			return r, err
		case *v.into != nil && !strings.HasPrefix(*v.column, core.PayloadMark) && !json.Valid(*v.into):
			r.Damaged = append(r.Damaged, domain.DamagedPart{Part: v.part, Message: "it is no JSON any more"})
			*v.into = nil
		}
	}
	return r, nil
}

// bareRun is a run whose row of details is gone, or on a page that cannot be read.
func (s *Store) bareRun(ctx context.Context, id string) (domain.Run, error) {
	row, err := s.q.RunBare(ctx, id)
	if err != nil {
		return domain.Run{}, err
	}
	return run(row.Run, dbsqlc.RunDetail{}, row.PlanPublicID, row.PlanKey, row.Version, row.Hash), nil
}

// FindRun finds a run by id, or by any unambiguous tail or prefix of at least 4
// characters; CodeNotFound, CodeConflict when ambiguous.
func (s *Store) FindRun(ctx context.Context, id string) (domain.Run, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if domain.ValidID(id) {
		return s.Run(ctx, id)
	}
	if len(id) < 4 || len(id) > domain.IDLength || strings.Trim(id, "0123456789abcdefghjkmnpqrstvwxyz") != "" {
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "no run %q", id).Suggest("give at least the last four characters of a run's id")
	}
	tails, err := s.q.RunByTail(ctx, core.Reversed(id), core.After(core.Reversed(id)))
	if err != nil {
		return domain.Run{}, translate(err, "find run "+id)
	}
	prefixes, err := s.q.RunByPrefix(ctx, id, core.After(id))
	if err != nil {
		return domain.Run{}, translate(err, "find run "+id)
	}
	found := map[string]bool{}
	for _, f := range append(tails, prefixes...) {
		found[f] = true
	}
	switch len(found) {
	case 0:
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "no run %q", id)
	case 1:
		for f := range found {
			return s.Run(ctx, f)
		}
	}
	return domain.Run{}, domain.Errorf(domain.CodeConflict, "%q fits several runs", id).Suggest("give more characters of the id")
}

// Unfinished lists runs that are not final, highest priority first, then
// oldest; large inputs are not loaded.
func (s *Store) Unfinished(ctx context.Context) ([]domain.Run, error) {
	rows, err := s.q.RunUnfinished(ctx)
	if err != nil {
		return nil, translate(err, "read unfinished runs")
	}
	out := make([]domain.Run, len(rows))
	for i, row := range rows {
		out[i] = run(row.Run, row.RunDetail, row.PlanPublicID, row.PlanKey, row.Version, row.Hash)
		s.db.Remember(row.Run.PublicID, row.Run.ID)
		for _, column := range []*domain.RawJSON{&out[i].Input, &out[i].Output} {
			if strings.HasPrefix(string(*column), core.PayloadMark) {
				*column = nil
			}
		}
	}
	bare, err := s.q.RunUnfinishedBare(ctx)
	for _, row := range bare {
		out = append(out, run(row.Run, dbsqlc.RunDetail{}, row.PlanPublicID, row.PlanKey, row.Version, row.Hash))
		s.db.Remember(row.Run.PublicID, row.Run.ID)
	}
	return out, translate(err, "read unfinished runs")
}

// RunByKey finds the run that was created with an idempotency key; CodeNotFound.
func (s *Store) RunByKey(ctx context.Context, key string) (domain.Run, error) {
	id, err := s.q.RunByKey(ctx, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "no run with the key %q", key)
	} else if err != nil {
		return domain.Run{}, translate(err, "read run by its key")
	}
	return s.Run(ctx, id)
}

// LiveChildren lists the ids of a run's children that are not over, oldest first.
func (s *Store) LiveChildren(ctx context.Context, run string) ([]string, error) {
	ids, err := s.q.RunLiveChildren(ctx, run)
	return ids, translate(err, "read children of a run")
}

// ActiveByConcurrency lists active runs with that concurrency key, oldest first.
func (s *Store) ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error) {
	ids, err := s.q.RunActiveByConcurrency(ctx, key)
	if err != nil {
		return nil, translate(err, "read runs by concurrency key")
	}
	return s.runs(ctx, ids)
}

// Lineage lists the children, forks and reruns of a run, and what it came from.
func (s *Store) Lineage(ctx context.Context, id string) ([]domain.Run, error) {
	r, err := s.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, from := range []string{r.ForkedFrom, r.RerunOf} {
		if from != "" {
			ids = append(ids, from)
		}
	}
	if r.Parent != nil {
		ids = append(ids, r.Parent.Run)
	}
	for _, query := range []func(context.Context, string) ([]string, error){s.q.RunChildren, s.q.RunForks, s.q.RunReruns} {
		more, err := query(ctx, id)
		if err != nil {
			return nil, translate(err, "read the lineage of run "+id)
		}
		ids = append(ids, more...)
	}
	return s.runs(ctx, ids)
}

func (s *Store) runs(ctx context.Context, ids []string) ([]domain.Run, error) {
	out := make([]domain.Run, 0, len(ids))
	for _, id := range ids {
		r, err := s.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// RunCounts reads the maintained counters.
func (s *Store) RunCounts(ctx context.Context) (domain.RunCounts, error) {
	c := domain.RunCounts{ByStatus: map[domain.RunStatus]int64{}, Waiting: map[domain.WaitReason]int64{}}
	rows, err := s.q.RunCountList(ctx)
	if err != nil {
		return c, translate(err, "read run counters")
	}
	for _, r := range rows {
		c.ByStatus[domain.RunStatus(r.Status)] += r.N
		c.Total += r.N
		switch {
		case r.WaitReason == core.Stubborn:
			c.Waiting[domain.WaitRetry] += r.N
			c.Stubborn += r.N
			c.NeedsAttention += r.N
		case r.WaitReason == core.Silent:
			c.Silent += r.N
			c.NeedsAttention += r.N
		case r.Status == string(domain.RunWaiting):
			c.Waiting[domain.WaitReason(r.WaitReason)] += r.N
		case r.WaitReason == core.Acknowledged:
			c.Acknowledged += r.N
			continue
		}
		if r.WaitReason == string(domain.WaitHeld) {
			c.Held += r.N
		}
		if needsAttention(r.Status, r.WaitReason, 0) {
			c.NeedsAttention += r.N
		}
	}
	c.OpenApprovals, err = s.q.ApprovalCountOpen(ctx)
	return c, translate(err, "count approvals")
}

// Uses lists what took part in a run, by kind and name.
func (s *Store) Uses(ctx context.Context, run string) ([]domain.Use, error) {
	rows, err := s.q.RunUses(ctx, run)
	if err != nil {
		return nil, translate(err, "read what took part")
	}
	out := make([]domain.Use, len(rows))
	for i, r := range rows {
		out[i] = domain.Use{Kind: r.Kind, Name: r.Name}
	}
	return out, nil
}
