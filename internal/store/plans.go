package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// PutVersion stores a plan version, and the plan if it is the first; known
// content gives the existing version and created false.
func (s *Store) PutVersion(ctx context.Context, v domain.NewVersion, actor domain.Actor) (domain.Plan, domain.Version, bool, error) {
	created := false
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		created = false
		if _, err := w.q.VersionOfRun(w.ctx, v.Hash); err == nil {
			return nil, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		now := w.s.now().UnixMicro()
		p, err := w.q.PlanByKey(w.ctx, v.Key)
		number, apart := int64(1), false // apart: the plan stays as it is
		switch {
		case errors.Is(err, sql.ErrNoRows):
			p, err = w.q.PlanInsert(w.ctx, dbsqlc.PlanInsertParams{PublicID: domain.NewID(), Key: v.Key, Name: v.Name, Description: v.Description,
				LatestHash: v.Hash, Stage: string(firstStage(v.Origin)), CreatedAt: now})
		case err == nil && v.Base != "" && v.Base != p.LatestHash:
			return nil, domain.Errorf(domain.CodeStale, "plan %s has version %d by now, which is not the one that this was made from", v.Key, p.Latest).
				Suggest("look at what has changed, and save on top of that")
		case err == nil:
			if number, err = w.q.VersionLast(w.ctx, p.ID); err != nil {
				return nil, err
			}
			number++
			if apart = v.Origin == originReplan || v.Origin == originPlanner && p.Stage == string(domain.StageUsed) && p.ArchivedAt == 0; apart {
				break // it is one run's, or nobody has accepted it: others follow what a person chose
			}
			switch v.Origin {
			case originTry:
			case originPlanner:
				if p.Stage == string(domain.StageUsed) { // it was archived
					p.Stage = string(domain.StageDraft)
				}
			default:
				p.Stage = string(domain.StageUsed) // a person has saved it
			}
			err = w.q.PlanAdvance(w.ctx, dbsqlc.PlanAdvanceParams{Latest: number, LatestHash: v.Hash, Name: v.Name, Description: v.Description, UpdatedAt: now, Stage: p.Stage, ID: p.ID})
		}
		if err == nil && !apart {
			err = w.putFacts(p.ID, v.Facts)
		}
		if err != nil {
			return nil, err
		}
		_, err = w.q.VersionInsert(w.ctx, dbsqlc.VersionInsertParams{PlanID: p.ID, Number: number, Hash: v.Hash, Semantics: int64(v.Semantics),
			Kind: v.Kind, Format: v.Format, Source: v.Source, Canonical: v.Canonical, Origin: v.Origin, ByPerson: core.Flag(v.ByPerson),
			ParentHash: v.ParentHash, Reason: v.Reason, Author: v.Author, CreatedAt: now})
		created = true
		return []auditRow{{record: domain.AuditRecord{Action: "plan.version", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + v.Key,
			Reason: v.Reason, Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": number, "hash": v.Hash}))}}}, err
	})
	if err != nil {
		return domain.Plan{}, domain.Version{}, false, err
	}
	stored, err := s.VersionByHash(ctx, v.Hash)
	if err != nil {
		return domain.Plan{}, domain.Version{}, false, err
	}
	p, err := s.Plan(ctx, stored.PlanID)
	return p, stored, created, err
}

// Origins of versions that people did not save as such: made for one run under
// way, by a planner, or to try something once.
const (
	originReplan  = "replan"
	originPlanner = "planner"
	originTry     = "try"
)

// firstStage is the stage of a plan whose first version has an origin.
func firstStage(origin string) domain.PlanStage {
	switch origin {
	case originPlanner:
		return domain.StageDraft
	case originTry:
		return domain.StageTrial
	}
	return domain.StageUsed
}

// putFacts replaces what a plan is found by.
func (w *writer) putFacts(planID int64, facts []domain.PlanFact) error {
	if err := w.q.PlanFactsClear(w.ctx, planID); err != nil {
		return err
	}
	for _, f := range facts {
		if err := w.q.PlanFactAdd(w.ctx, planID, f.Kind, f.Value); err != nil {
			return err
		}
	}
	return nil
}

// PlanFacts are what a plan is found by.
func (s *Store) PlanFacts(ctx context.Context, plan string) ([]domain.PlanFact, error) {
	rows, err := s.q.PlanFacts(ctx, plan)
	if err != nil {
		return nil, core.Translate(err, "read what plan "+plan+" is found by")
	}
	out := make([]domain.PlanFact, len(rows))
	for i, r := range rows {
		out[i] = domain.PlanFact{Kind: r.Kind, Value: r.Value}
	}
	return out, nil
}

// RestoreVersion makes another version of a plan its current one: an earlier one, or
// one that a planner made and a person accepts.
func (s *Store) RestoreVersion(ctx context.Context, r domain.RestoredVersion, actor domain.Actor) (domain.Plan, error) {
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		p, err := w.q.PlanByPublicID(w.ctx, r.PlanID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "no plan %q", r.PlanID)
		} else if err != nil {
			return nil, err
		}
		if r.Base != "" && r.Base != p.LatestHash {
			return nil, domain.Errorf(domain.CodeStale, "plan %s follows version %d by now", p.Key, p.Latest).Suggest("look at what has changed, and restore on top of that")
		}
		v, err := w.q.VersionByHash(w.ctx, r.Hash)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if err != nil || v.PlanVersion.PlanID != p.ID {
			return nil, domain.Errorf(domain.CodeNotFound, "plan %s has no version with hash %s", p.Key, r.Hash)
		}
		action, stage := "plan.restore", p.Stage
		if r.Accepts {
			action, stage = "plan.accept", string(domain.StageUsed)
		}
		if err := w.q.PlanAdvance(w.ctx, dbsqlc.PlanAdvanceParams{Latest: v.PlanVersion.Number, LatestHash: r.Hash, Name: r.Name, Description: r.Description,
			UpdatedAt: w.s.now().UnixMicro(), Stage: stage, ID: p.ID}); err != nil {
			return nil, err
		}
		return []auditRow{{record: domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + p.Key, Reason: r.Reason,
			Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": v.PlanVersion.Number, "hash": r.Hash, "from": p.Latest}))}}}, w.putFacts(p.ID, r.Facts)
	})
	if err != nil {
		return domain.Plan{}, core.Translate(err, "restore a plan version")
	}
	return s.Plan(ctx, r.PlanID)
}

// AcceptPlan takes a draft into use.
func (s *Store) AcceptPlan(ctx context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error) {
	err := s.writer.perform(func(w *writer) ([]auditRow, error) {
		p, err := w.q.PlanByPublicID(w.ctx, planID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "no plan %q", planID)
		} else if err != nil {
			return nil, err
		}
		if p.Stage != string(domain.StageDraft) {
			return nil, nil // somebody else was first
		}
		return []auditRow{{record: domain.AuditRecord{Action: "plan.accept", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + p.Key, Reason: reason,
				Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": p.Latest, "hash": p.LatestHash}))}}},
			w.q.PlanAccept(w.ctx, w.s.now().UnixMicro(), planID)
	})
	if err != nil {
		return domain.Plan{}, core.Translate(err, "accept a plan")
	}
	return s.Plan(ctx, planID)
}

// VersionRuns says, per version number of a plan, how many runs ended since a
// time and how, and how many are under way.
func (s *Store) VersionRuns(ctx context.Context, planID string, since time.Time) (map[int]domain.VersionRuns, error) {
	versions, err := s.q.VersionList(ctx, planID)
	if err != nil {
		return nil, core.Translate(err, "list plan versions")
	}
	numbers := make(map[int64]int, len(versions))
	for _, v := range versions {
		numbers[v.ID] = int(v.Number)
	}
	ended, err := s.q.OutcomeOfVersions(ctx, planID, core.SlotOf(since.UnixMicro()))
	if err != nil {
		return nil, core.Translate(err, "read outcomes of versions")
	}
	out := map[int]domain.VersionRuns{}
	for _, r := range ended {
		n := out[numbers[r.VersionID]]
		switch n.Ended += r.N; domain.RunStatus(r.Status) {
		case domain.RunCompleted:
			n.Completed += r.N
		case domain.RunFailed:
			n.Failed += r.N
		}
		out[numbers[r.VersionID]] = n
	}
	active, err := s.q.VersionsUnderWay(ctx, planID)
	if err != nil {
		return nil, core.Translate(err, "count runs of versions")
	}
	for _, r := range active {
		n := out[numbers[r.VersionID]]
		n.Active = r.N
		out[numbers[r.VersionID]] = n
	}
	return out, nil
}

// factList is a filter of plans as JSON.
func factList(facts []domain.PlanFact) string {
	list := make([][2]string, len(facts))
	for i, f := range facts {
		list[i] = [2]string{f.Kind, f.Value}
	}
	return core.EncodeJSON(list)
}

// Plan finds a plan by key or id, archived ones included; CodeNotFound.
func (s *Store) Plan(ctx context.Context, idOrKey string) (domain.Plan, error) {
	p, err := s.db.PlanRow(ctx, idOrKey)
	if err != nil {
		return domain.Plan{}, err
	}
	return core.Plan(p), nil
}

// Plans lists plans, latest change first, by key.
func (s *Store) Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error) {
	var list domain.List[domain.Plan]
	limit := core.PageLimit(f.Page.Limit)
	at, id, newer := int64(math.MaxInt64), int64(math.MaxInt64), false
	const kind = "plans"
	for _, c := range []struct {
		cursor string
		newer  bool
	}{{f.Page.After, false}, {f.Page.Before, true}} {
		if c.cursor == "" {
			continue
		}
		// Both halves stand in the cursor: a plan that is saved again moves to the
		// front, the page does not.
		first, second, ok := strings.Cut(c.cursor, "-")
		var err error
		if at, err = core.OpenCursor(kind, first); err != nil || !ok {
			return list, cmp.Or(err, core.BadCursor())
		}
		if id, err = core.OpenCursor(kind, second); err != nil {
			return list, err
		}
		newer = c.newer
	}
	var rows []dbsqlc.Plan
	var err error
	if newer {
		rows, err = s.q.PlanListNewer(ctx, dbsqlc.PlanListNewerParams{Archived: core.Flag(f.Archived), Paused: core.Flag(f.Paused), Text: f.Text, Stage: f.Stage, Facts: factList(f.Facts), UpdatedAt: at, ID: id, Max: int64(limit) + 1})
	} else {
		rows, err = s.q.PlanListOlder(ctx, dbsqlc.PlanListOlderParams{Archived: core.Flag(f.Archived), Paused: core.Flag(f.Paused), Text: f.Text, Stage: f.Stage, Facts: factList(f.Facts), UpdatedAt: at, ID: id, Max: int64(limit) + 1})
	}
	if err != nil {
		return list, core.Translate(err, "list plans")
	}
	cursors := make(map[string]string, len(rows)) // plan id → its cursor
	for _, r := range rows {
		list.Items = append(list.Items, core.Plan(r))
		cursors[r.PublicID] = core.Cursor(kind, r.UpdatedAt) + "-" + core.Cursor(kind, r.ID)
	}
	list.Items, list.Next, list.Prev = core.WindowBy(list.Items, limit, newer, f.Page, func(p domain.Plan) string { return cursors[p.ID] })
	return list, nil
}

// VersionByHash gives one version with its source; CodeNotFound.
func (s *Store) VersionByHash(ctx context.Context, hash string) (domain.Version, error) {
	r, err := s.q.VersionByHash(ctx, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Version{}, domain.Errorf(domain.CodeNotFound, "no plan version with hash %s", hash)
	}
	return core.Version(r.PlanVersion, r.PlanPublicID, r.PlanKey), core.Translate(err, "read plan version")
}

// VersionByNumber gives one version with its source; CodeNotFound.
func (s *Store) VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error) {
	r, err := s.q.VersionByNumber(ctx, planID, int64(number))
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Version{}, domain.Errorf(domain.CodeNotFound, "the plan has no version %d", number)
	}
	return core.Version(r.PlanVersion, r.PlanPublicID, r.PlanKey), core.Translate(err, "read plan version")
}

// Versions lists a plan's versions, newest first, without their documents.
func (s *Store) Versions(ctx context.Context, planID string) ([]domain.Version, error) {
	rows, err := s.q.VersionList(ctx, planID)
	if err != nil {
		return nil, core.Translate(err, "list plan versions")
	}
	out := make([]domain.Version, len(rows))
	for i, r := range rows {
		out[i] = domain.Version{PlanID: r.PlanPublicID, PlanKey: r.PlanKey, Number: int(r.Number), Hash: r.Hash, Semantics: int(r.Semantics),
			Kind: r.Kind, Format: r.Format, Origin: r.Origin, ByPerson: r.ByPerson != 0, ParentHash: r.ParentHash, Reason: r.Reason,
			Author: r.Author, CreatedAt: core.FromMicros(r.CreatedAt)}
	}
	return out, nil
}

// LastRuns are the newest runs of a plan, newest first: only their id, state and
// times are filled.
func (s *Store) LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error) {
	rows, err := s.q.RunsOfPlan(ctx, plan, int64(limit))
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

// NextStart is the run of a plan that is the next to start at a time that was set
// for it, and when; "": none is, or more than 100 are queued.
func (s *Store) NextStart(ctx context.Context, plan string) (run string, at time.Time, err error) {
	const most = 100
	rows, err := s.q.RunsQueuedOfPlan(ctx, plan, most+1)
	if err != nil || len(rows) > most {
		return "", at, core.Translate(err, "read the queued runs of "+plan)
	}
	for _, r := range rows {
		if start := core.FromMicros(r.StartAt); start.After(s.now()) && (run == "" || start.Before(at)) {
			run, at = r.PublicID, start
		}
	}
	return run, at, nil
}

// PlansThatRun are the keys of plans whose newest version runs another plan.
func (s *Store) PlansThatRun(ctx context.Context, plan string, limit int) ([]string, error) {
	var out []string
	for _, text := range []string{`"plan":` + core.EncodeJSON(plan) + `,`, `"plan":` + core.EncodeJSON(plan) + `}`, `"plan":` + strings.TrimSuffix(core.EncodeJSON(plan), `"`) + `@`} {
		keys, err := s.q.PlansWithText(ctx, text, int64(limit))
		if err != nil {
			return nil, core.Translate(err, "find what runs "+plan)
		}
		for _, k := range keys {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out, nil
}
