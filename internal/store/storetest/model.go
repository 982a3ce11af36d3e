package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/store/internal/core"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Model is a store without a disk: the rules of plans, runs, journals, and the audit log, with maps
// and one lock. The real store is compared with it, so it is written to be easy to read, and
// shares no code with the real store.
type Model struct {
	noSignals

	noBudgets
	mu        sync.Mutex
	plans     []*domain.Plan
	versions  []domain.Version
	runs      []*domain.Run // in the order of their creation
	journals  map[string][]domain.Entry
	approvals map[string]domain.Approval
	events    []domain.AuditEvent
	id        string
}

// NewModel returns an empty store in memory.
func NewModel() *Model {
	return &Model{journals: map[string][]domain.Entry{}, approvals: map[string]domain.Approval{}, id: domain.NewID()}
}

func (m *Model) record(r domain.AuditRecord) *domain.AuditEvent {
	r.Result = cmp.Or(r.Result, "ok")
	m.events = append(m.events, domain.AuditEvent{Seq: int64(len(m.events)) + 1, At: time.Now(), AuditRecord: r})
	return &m.events[len(m.events)-1]
}

// storable returns an error for values that cannot be stored.
func storable(values ...domain.RawJSON) error {
	for _, v := range values {
		if !utf8.Valid(v) {
			return domain.Errorf(domain.CodeInvalid, "not UTF-8")
		}
		if len(v) > core.MaxPayload {
			return domain.Errorf(domain.CodeTooLarge, "too large")
		}
	}
	return nil
}

func entriesStorable(entries []domain.Entry) error {
	for _, e := range entries {
		if err := storable(e.Input, e.Output, e.Decision, e.Log); err != nil {
			return err
		}
	}
	return nil
}

// CreateRun implements engine.Store.
func (m *Model) CreateRun(_ context.Context, n domain.NewRun) (domain.Run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cmp.Or(storable(n.Input), entriesStorable(n.Entries)); err != nil {
		return domain.Run{}, false, err
	}
	for _, r := range m.runs {
		if n.Key != "" && r.Key == n.Key {
			return *r, false, nil
		}
	}
	if r := m.run(n.ID); r != nil {
		return *r, false, nil
	}
	at := slices.IndexFunc(m.versions, func(v domain.Version) bool { return v.Hash == n.Hash })
	if at < 0 {
		return domain.Run{}, false, domain.Errorf(domain.CodeNotFound, "no version %s", n.Hash)
	}
	if c := n.Concurrency; c != nil && c.Key != "" {
		rule := *c
		var active []string
		for _, r := range m.runs {
			if !r.Status.Final() && r.Concurrency != nil && r.Concurrency.Key == c.Key {
				active = append(active, r.ID)
			}
		}
		var err error
		if rule.Cancels, err = c.Admit(active); err != nil {
			return domain.Run{}, false, err
		}
		n.Concurrency = &rule
	}
	v := m.versions[at]
	r := &domain.Run{ID: cmp.Or(n.ID, domain.NewID()), PlanID: v.PlanID, PlanKey: v.PlanKey, Version: v.Number,
		ProgramRef: domain.ProgramRef{Hash: v.Hash, Profile: n.Profile},
		Status: cmp.Or(
			n.Status,
			domain.RunQueued,
		), Input: slices.Clone(n.Input), Parent: n.Parent,
		Lineage: n.Lineage,
		Actor:   n.Actor, Origin: n.Origin, Session: n.Session, Priority: n.Priority, Labels: maps.Clone(n.Labels),
		Limits: n.Limits,
		Key:    n.Key, Concurrency: n.Concurrency, StartAt: n.StartAt, LastSeq: int64(len(n.Entries))}
	r.Session = cmp.Or(r.Session, r.ID)
	if r.Status == domain.RunWaiting {
		r.WaitReason, r.Attention = domain.WaitHeld, !r.Dry()
	}
	for i, e := range n.Entries {
		if e.Seq = int64(i) + 1; e.Final {
			r.Steps++
			r.Path += string(domain.PathLetter(e.Status))
		}
		m.journals[r.ID] = append(m.journals[r.ID], e)
	}
	m.runs = append(m.runs, r)
	for i, a := range n.Audit {
		a.Run = cmp.Or(a.Run, r.ID)
		e := m.record(a)
		if i == 0 && len(n.Entries) > 0 {
			e.FirstSeq, e.RunSeq = 1, r.LastSeq
		}
	}
	return *r, true, nil
}

func (m *Model) run(id string) *domain.Run {
	for _, r := range m.runs {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Run implements engine.Store.
func (m *Model) Run(_ context.Context, id string) (domain.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.run(id); r != nil {
		return *r, nil
	}
	return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run %s not found", id)
}

// RunByKey implements engine.Store.
func (m *Model) RunByKey(_ context.Context, key string) (domain.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.runs {
		if key != "" && r.Key == key {
			return *r, nil
		}
	}
	return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run with key %q not found", key)
}

// Journal implements engine.Store.
func (m *Model) Journal(_ context.Context, run string, after int64) ([]domain.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.journals[run]
	return slices.Clone(j[min(int(after), len(j)):]), nil
}

// Intact implements engine.Store. Nothing is ever damaged.
func (m *Model) Intact(ctx context.Context, run string, _ int64) ([]domain.Entry, []domain.DamagedRow, error) {
	rows, err := m.Journal(ctx, run, 0)
	return rows, nil, err
}

// Unfinished implements engine.Store.
func (m *Model) Unfinished(context.Context) ([]domain.Run, error) {
	out := m.those(func(r *domain.Run) bool { return true })
	slices.SortStableFunc(out, func(a, b domain.Run) int { return cmp.Compare(b.Priority, a.Priority) })
	return out, nil
}

// LiveChildren implements engine.Store.
func (m *Model) LiveChildren(_ context.Context, run string) ([]string, error) {
	var ids []string
	for _, r := range m.those(func(r *domain.Run) bool { return r.Parent != nil && r.Parent.Run == run }) {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// UndoRuns implements engine.Store.
func (m *Model) UndoRuns(_ context.Context, run string) ([]domain.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []domain.Run
	for _, r := range m.runs {
		if r.Undoes == run {
			list = append(list, *r)
		}
	}
	return list, nil
}

// ActiveByConcurrency implements engine.Store.
func (m *Model) ActiveByConcurrency(_ context.Context, key string) ([]domain.Run, error) {
	return m.those(func(r *domain.Run) bool { return key != "" && r.Concurrency != nil && r.Concurrency.Key == key }), nil
}

// those returns the matching unfinished runs, oldest first.
func (m *Model) those(is func(*domain.Run) bool) (out []domain.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.runs {
		if !r.Status.Final() && is(r) {
			out = append(out, *r)
		}
	}
	return out
}

// Commit implements engine.Store. It applies the whole checkpoint or nothing.
func (m *Model) Commit(_ context.Context, c domain.Checkpoint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.commit(c)
	if err != nil {
		c.Chain.Break()
	}
	return err
}

// Enqueue implements engine.Store.
func (m *Model) Enqueue(list []domain.Checkpoint, done func(error)) {
	errs := make([]error, len(list))
	for i, c := range list {
		errs[i] = m.Commit(context.Background(), c)
	}
	go func() {
		for _, err := range errs {
			done(err)
		}
	}()
}

func (m *Model) commit(c domain.Checkpoint) error {
	if c.Chain.Broken() {
		return domain.Errorf(domain.CodeConflict, "an earlier link was refused")
	}
	r := m.run(c.Run)
	if r == nil {
		return domain.Errorf(domain.CodeNotFound, "run %s not found", c.Run)
	}
	for i, e := range c.Entries {
		if e.Seq != 0 && e.Seq != c.Fence+int64(i)+1 {
			return domain.Errorf(domain.CodeInternal, "row %d has seq %d", i, e.Seq)
		}
	}
	p := c.Patch
	if p == nil {
		p = &domain.RunPatch{}
	}
	if err := cmp.Or(entriesStorable(c.Entries), storable(p.Output)); err != nil {
		return err
	}
	if r.LastSeq != c.Fence {
		return domain.Errorf(domain.CodeConflict, "the run has moved on")
	}
	next, err := m.patched(*r, p)
	if err != nil {
		return err
	}
	for _, a := range c.Approvals {
		if (a.Status == "pending") != a.DecidedAt.IsZero() {
			return domain.Errorf(domain.CodeConflict, "an approval is decided exactly when it is closed")
		}
	}
	next.LastSeq += int64(len(c.Entries))
	*r = next
	for i, e := range c.Entries {
		e.Seq = c.Fence + int64(i) + 1
		m.journals[r.ID] = append(m.journals[r.ID], e)
	}
	for _, a := range c.Approvals {
		if old, ok := m.approvals[a.ID]; ok { // the request does not change
			old.Status, old.ApprovalDecision = a.Status, a.ApprovalDecision
			a = old
		}
		a.Run = r.ID
		m.approvals[a.ID] = a
	}
	if len(c.Entries) > 0 || p.Status != "" {
		object := string(p.Status)
		if p.WaitReason != "" {
			object += ":" + string(p.WaitReason)
		}
		e := m.record(domain.AuditRecord{Action: store.ActionCheckpoint, Actor: "system", Source: "engine", Run: r.ID, Object: object})
		if len(c.Entries) > 0 {
			e.FirstSeq, e.RunSeq = c.Fence+1, next.LastSeq
		}
	}
	for _, a := range c.Audit {
		a.Run = r.ID
		m.record(a).RunSeq = next.LastSeq
	}
	return nil
}

// patched returns a run with the changes of a patch.
func (m *Model) patched(r domain.Run, p *domain.RunPatch) (domain.Run, error) {
	before := r
	if p.Status != "" {
		if !domain.CanMove(r.Status, p.Status) {
			return r, domain.Errorf(domain.CodeConflict, "a run that is %s cannot become %s", r.Status, p.Status)
		}
		if (p.Status == domain.RunWaiting) != (p.WaitReason != "") {
			return r, domain.Errorf(domain.CodeConflict, "a reason belongs to a run that waits")
		}
		r.Status, r.WaitReason = p.Status, p.WaitReason
	}
	if p.Hash != "" {
		i := slices.IndexFunc(m.versions, func(v domain.Version) bool { return v.Hash == p.Hash })
		if i < 0 {
			return r, domain.Errorf(domain.CodeNotFound, "no version %s", p.Hash)
		}
		r.Hash, r.Version = p.Hash, m.versions[i].Number
	}
	set(&r.Headline, p.Headline)
	set(&r.Node, p.Node)
	set(&r.Path, p.Path)
	set(&r.DueAt, p.DueAt)
	set(&r.Crashes, p.Crashes)
	set(&r.Paused, p.Paused)
	set(&r.Limits, p.Limits)
	if len(p.AddLabels) > 0 {
		r.Labels = maps.Clone(r.Labels)
		if r.Labels == nil {
			r.Labels = map[string]string{}
		}
		maps.Copy(r.Labels, p.AddLabels)
	}
	set(&r.StartedAt, p.StartedAt)
	set(&r.EndedAt, p.EndedAt)
	set(&r.RunningTime, p.RunningTime)
	set(&r.DeletedAt, p.DeletedAt)
	r.Path += p.AddPath
	r.Path = r.Path[:min(len(r.Path), 64)]
	if p.Output != nil {
		r.Output = slices.Clone(p.Output)
	}
	if p.Error != nil {
		e := *p.Error
		r.Error, r.Fingerprint = &e, e.Fingerprint()
	}
	if p.ClearError {
		r.Error, r.Fingerprint = nil, ""
	}
	r.Steps += p.AddSteps
	r.Usage = r.Usage.Add(p.AddUsage)
	switch {
	case !r.Status.Final():
		r.EndedAt = time.Time{}
	case r.EndedAt.IsZero():
		r.EndedAt = time.Now()
	}
	same := before.Attention && before.Status == r.Status && before.WaitReason == r.WaitReason
	switch {
	case !r.DeletedAt.IsZero(), r.Dry(), r.Status == domain.RunFailed && r.Parent != nil:
		r.Attention = false
	case r.Status == domain.RunRunning && p.Silent != nil:
		r.Attention = *p.Silent
	case r.Status == domain.RunRunning:
		r.Attention = same
	case r.WaitReason == domain.WaitRetry:
		r.Attention = same || p.Retrying >= domain.StubbornAttempts
	default:
		r.Attention = r.Status == domain.RunFailed || r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson()
	}
	return r, nil
}

func set[T any](into *T, from *T) {
	if from != nil {
		*into = *from
	}
}

// Approval implements engine.Store.
func (m *Model) Approval(_ context.Context, id string) (domain.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.approvals[id]; ok {
		return a, nil
	}
	return domain.Approval{}, domain.Errorf(domain.CodeNotFound, "approval request %q not found", id)
}

// Approvals implements engine.Store. It lists the approvals of a run, newest first.
func (m *Model) Approvals(_ context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list domain.List[domain.Approval]
	for _, a := range m.approvals {
		if a.Run == f.Run && (f.Status == "" || a.Status == f.Status) {
			list.Items = append(list.Items, a)
		}
	}
	slices.SortFunc(list.Items, func(a, b domain.Approval) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// Audit implements engine.Store.
func (m *Model) Audit(_ context.Context, r domain.AuditRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Run != "" && m.run(r.Run) == nil {
		return domain.Errorf(domain.CodeNotFound, "run %s not found", r.Run)
	}
	m.record(r)
	return nil
}

// EventsAfter implements engine.Store.
func (m *Model) EventsAfter(_ context.Context, after int64, run string, limit int) (out []domain.AuditEvent, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if run != "" && m.run(run) == nil {
		return nil, domain.Errorf(domain.CodeNotFound, "run %s not found", run)
	}
	for _, e := range m.events {
		if e.Seq <= after || run != "" && e.Run != run || len(out) == limit {
			continue
		}
		if e.Action == store.ActionCheckpoint && e.FirstSeq > 0 {
			e.Entries = slices.Clone(m.journals[e.Run][e.FirstSeq-1 : e.RunSeq])
		}
		out = append(out, e)
	}
	return out, nil
}

// LastEvent implements engine.Store.
func (m *Model) LastEvent(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.events)), nil
}

// Generation implements engine.Store.
func (m *Model) Generation() string { return m.id }

// InstanceKey implements engine.Store.
func (m *Model) InstanceKey() []byte { return []byte(strconv.Quote(m.id)) }

// Hold implements engine.Store. A store in memory is never on hold.
func (m *Model) Hold(context.Context) (*domain.Hold, error) { return nil, nil }

// MayRelease implements engine.Store.
func (m *Model) MayRelease(context.Context, domain.Actor) error { return nil }

// EndHold implements engine.Store.
func (m *Model) EndHold(context.Context, domain.Actor, string) (bool, error) { return false, nil }
