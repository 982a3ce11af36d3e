package query

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// RunReader reads runs.
type RunReader struct{ db *core.DB }

// RunningPrograms returns at most limit programs that active runs execute.
func (s *RunReader) RunningPrograms(ctx context.Context, limit int) ([]domain.ProgramRef, error) {
	rows, err := s.db.Q.RunningPrograms(ctx, int64(limit))
	out := make([]domain.ProgramRef, len(rows))
	for i, r := range rows {
		out[i] = domain.ProgramRef{Hash: r.Hash, Profile: r.Profile}
	}
	return out, core.Translate(err, "read the programs of active runs")
}

// keptScan is the maximum number of audit events that are read to find the digests of one run.
// Events of other runs are between them.
const keptScan = 20_000

// Kept returns the digests that the audit log keeps of a run after retention deleted its journal.
// For a very long run, only the digests of its last rows are found.
func (s *RunReader) Kept(ctx context.Context, run string) (domain.RetainedDigests, error) {
	var out domain.RetainedDigests
	id, err := s.db.RowID(ctx, run)
	if err != nil {
		return out, err
	}
	// The other events of the run are indexed, and its checkpoints have numbers close to theirs.
	var first, last int64
	events, err := s.db.Q.KeptEvents(ctx, &id)
	if err != nil {
		return out, core.Translate(err, "read the audit log")
	}
	for _, e := range events {
		if first == 0 {
			first = e.Seq
		}
		last = e.Seq
		var created struct {
			Seal string `json:"seal"`
		}
		if e.Action == core.ActionCreated && e.Detail != nil && json.Unmarshal([]byte(*e.Detail), &created) == nil {
			out.Created = created.Seal
		}
	}
	const beside = 16
	low := max(first-beside, last-keptScan)
	rows, err := s.db.Q.KeptDigests(ctx, low, last+beside, &id)
	for _, r := range rows {
		out.Rows = append(
			out.Rows,
			domain.RetainedDigest{Event: r.Seq, First: r.FirstSeq, Last: r.RunSeq, Digest: hex.EncodeToString(r.Digest)},
		)
	}
	slices.SortFunc(out.Rows, func(a, b domain.RetainedDigest) int { return int(a.First - b.First) })
	return out, core.Translate(err, "read the audit log")
}

// LastRuns returns the newest runs of a plan, newest first. Only ID, PlanKey, Status, WaitReason,
// CreatedAt, and EndedAt are set.
func (s *RunReader) LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error) {
	rows, err := s.db.Q.RunsOfPlan(ctx, plan, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read the last runs of "+plan)
	}
	out := make([]domain.Run, len(rows))
	for i, r := range rows {
		out[i] = domain.Run{ID: r.PublicID, PlanKey: plan, Status: domain.RunStatus(r.Status), WaitReason: domain.WaitReason(r.WaitReason),
			CreatedAt: core.FromMicros(r.CreatedAt), EndedAt: core.FromMicros(r.EndedAt)}
	}
	return out, nil
}

// NextStart returns the run of a plan with the earliest scheduled start, and that time. The id is
// "" if no run is scheduled or more than 100 runs are queued.
func (s *RunReader) NextStart(ctx context.Context, plan string) (run string, at time.Time, err error) {
	const most = 100
	rows, err := s.db.Q.RunsQueuedOfPlan(ctx, plan, most+1)
	if err != nil || len(rows) > most {
		return "", at, core.Translate(err, "read the queued runs of "+plan)
	}
	for _, r := range rows {
		if start := core.FromMicros(r.StartAt); start.After(s.db.Now()) && (run == "" || start.Before(at)) {
			run, at = r.PublicID, start
		}
	}
	return run, at, nil
}

// Run finds a run by its id, with input and output. If it does not exist, the error is
// CodeNotFound. Damaged parts are left out and listed in [domain.Run.Damaged].
func (s *RunReader) Run(ctx context.Context, id string) (domain.Run, error) {
	row, err := s.db.Q.RunByPublicID(ctx, id)
	if err != nil {
		if r, bareErr := s.bareRun(ctx, id); bareErr == nil {
			return r, nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run %s not found", id)
		}
		return domain.Run{}, core.Translate(err, "read run "+id)
	}
	r := core.Run(&row.Run, &row.RunDetail, row.PlanPublicID, row.PlanKey, row.Version, row.Hash)
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
			r.Damaged = append(r.Damaged, domain.DamagedPart{Part: v.part, Message: "it is not valid JSON"})
			*v.into = nil
		}
	}
	return r, nil
}

// bareRun returns a run whose row of details is missing or unreadable.
func (s *RunReader) bareRun(ctx context.Context, id string) (domain.Run, error) {
	row, err := s.db.Q.RunBare(ctx, id)
	if err != nil {
		return domain.Run{}, err
	}
	return core.Run(&row.Run, &dbsqlc.RunDetail{}, row.PlanPublicID, row.PlanKey, row.Version, row.Hash), nil
}

// FindRun finds a run by its id, or by an unambiguous prefix or suffix of at least 4 characters.
// The error is CodeNotFound, or CodeConflict if several runs match.
func (s *RunReader) FindRun(ctx context.Context, id string) (domain.Run, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if domain.ValidID(id) {
		return s.Run(ctx, id)
	}
	if len(id) < 4 || len(id) > domain.IDLength || strings.Trim(id, "0123456789abcdefghjkmnpqrstvwxyz") != "" {
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run %q not found", id).
			Suggest("use at least the last four characters of the run id")
	}
	tails, err := s.db.Q.RunByTail(ctx, core.Reversed(id), core.After(core.Reversed(id)))
	if err != nil {
		return domain.Run{}, core.Translate(err, "find run "+id)
	}
	prefixes, err := s.db.Q.RunByPrefix(ctx, id, core.After(id))
	if err != nil {
		return domain.Run{}, core.Translate(err, "find run "+id)
	}
	found := map[string]bool{}
	for _, f := range append(tails, prefixes...) {
		found[f] = true
	}
	switch len(found) {
	case 0:
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run %q not found", id)
	case 1:
		for f := range found {
			return s.Run(ctx, f)
		}
	}
	return domain.Run{}, domain.Errorf(domain.CodeConflict, "%q matches several runs", id).Suggest("use more characters of the id")
}

// Unfinished lists the runs that are not final: highest priority first, then oldest. It does not
// load large inputs.
func (s *RunReader) Unfinished(ctx context.Context) ([]domain.Run, error) {
	rows, err := s.db.Q.RunUnfinished(ctx)
	if err != nil {
		return nil, core.Translate(err, "read unfinished runs")
	}
	out := make([]domain.Run, len(rows))
	for i, row := range rows {
		out[i] = core.Run(&row.Run, &row.RunDetail, row.PlanPublicID, row.PlanKey, row.Version, row.Hash)
		s.db.Remember(row.Run.PublicID, row.Run.ID)
		for _, column := range []*domain.RawJSON{&out[i].Input, &out[i].Output} {
			if strings.HasPrefix(string(*column), core.PayloadMark) {
				*column = nil
			}
		}
	}
	bare, err := s.db.Q.RunUnfinishedBare(ctx)
	for _, row := range bare {
		out = append(out, core.Run(&row.Run, &dbsqlc.RunDetail{}, row.PlanPublicID, row.PlanKey, row.Version, row.Hash))
		s.db.Remember(row.Run.PublicID, row.Run.ID)
	}
	return out, core.Translate(err, "read unfinished runs")
}

// RunByKey finds the run that was created with an idempotency key. If there is none, the error is
// CodeNotFound.
func (s *RunReader) RunByKey(ctx context.Context, key string) (domain.Run, error) {
	id, err := s.db.Q.RunByKey(ctx, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Run{}, domain.Errorf(domain.CodeNotFound, "run with key %q not found", key)
	} else if err != nil {
		return domain.Run{}, core.Translate(err, "read run by its key")
	}
	return s.Run(ctx, id)
}

// LiveChildren lists the ids of a run's unfinished child runs, oldest first.
func (s *RunReader) LiveChildren(ctx context.Context, run string) ([]string, error) {
	ids, err := s.db.Q.RunLiveChildren(ctx, run)
	return ids, core.Translate(err, "read children of a run")
}

// ActiveByConcurrency lists the active runs with a concurrency key, oldest first.
func (s *RunReader) ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error) {
	ids, err := s.db.Q.RunActiveByConcurrency(ctx, key)
	if err != nil {
		return nil, core.Translate(err, "read runs by concurrency key")
	}
	return s.runs(ctx, ids)
}

// UndoRuns lists the runs that undo steps of a run, oldest first.
func (s *RunReader) UndoRuns(ctx context.Context, run string) ([]domain.Run, error) {
	ids, err := s.db.Q.RunUndos(ctx, run)
	if err != nil || len(ids) == 0 {
		return nil, core.Translate(err, "read the undo of run "+run)
	}
	return s.runs(ctx, ids)
}

// Lineage lists the child runs, forks, reruns, and undo runs of a run, and the run that it originates from.
func (s *RunReader) Lineage(ctx context.Context, id string) ([]domain.Run, error) {
	r, err := s.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	ids, err := s.Relatives(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.runs(ctx, ids)
}

// Relatives lists the ids of the runs of [RunReader.Lineage], without reading them. There are at most
// 500 of each kind.
func (s *RunReader) Relatives(ctx context.Context, r domain.Run) ([]string, error) {
	var ids []string
	for _, from := range []string{r.ForkedFrom, r.RerunOf, r.Undoes} {
		if from != "" {
			ids = append(ids, from)
		}
	}
	if r.Parent != nil {
		ids = append(ids, r.Parent.Run)
	}
	for _, query := range []func(context.Context, string) ([]string, error){s.db.Q.RunChildren, s.db.Q.RunForks, s.db.Q.RunReruns,
		s.db.Q.RunUndos} {
		more, err := query(ctx, r.ID)
		if err != nil {
			return nil, core.Translate(err, "read the lineage of run "+r.ID)
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

func (s *RunReader) runs(ctx context.Context, ids []string) ([]domain.Run, error) {
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
func (s *RunReader) RunCounts(ctx context.Context) (domain.RunCounts, error) {
	c := domain.RunCounts{ByStatus: map[domain.RunStatus]int64{}, Waiting: map[domain.WaitReason]int64{}}
	rows, err := s.db.Q.RunCountList(ctx)
	if err != nil {
		return c, core.Translate(err, "read run counters")
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
		if core.NeedsAttention(r.Status, r.WaitReason, 0) {
			c.NeedsAttention += r.N
		}
	}
	c.OpenApprovals, err = s.db.Q.ApprovalCountPending(ctx)
	return c, core.Translate(err, "count approvals")
}

// Uses lists the agents, tools, and providers that a run used, by kind and name.
func (s *RunReader) Uses(ctx context.Context, run string) ([]domain.Use, error) {
	rows, err := s.db.Q.RunUses(ctx, run)
	if err != nil {
		return nil, core.Translate(err, "read what took part")
	}
	out := make([]domain.Use, len(rows))
	for i, r := range rows {
		out[i] = domain.Use{Kind: r.Kind, Name: r.Name}
	}
	return out, nil
}
