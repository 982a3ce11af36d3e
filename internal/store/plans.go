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
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// PutVersion stores a plan version, and the plan if it is the first; known
// content gives the existing version and created false.
func (s *Store) PutVersion(ctx context.Context, v domain.NewVersion, actor domain.Actor) (p domain.Plan, stored domain.Version, created bool, err error) {
	if _, _, err = s.Do(s.by("store a plan", actor), func(tx *Tx) (string, error) {
		created, err = tx.PutVersion(v)
		return "", err
	}); err != nil {
		return p, stored, false, err
	}
	if stored, err = s.VersionByHash(ctx, v.Hash); err == nil {
		p, err = s.Plan(ctx, stored.PlanID)
	}
	return p, stored, created, err
}

// by is an operation that somebody carries out now.
func (s *Store) by(name string, actor domain.Actor) Operation {
	return Operation{Name: name, By: actor, At: s.now()}
}

// PutVersion stores a plan version, and the plan if it is the first ("plan.version").
// Of known content it changes nothing; created is false. CodeStale when the plan has
// another newest version than the one that this was made from.
func (tx *Tx) PutVersion(v domain.NewVersion) (created bool, err error) {
	w, now := tx.w, micros(tx.op.At)
	if _, err := w.q.VersionOfRun(w.ctx, v.Hash); err == nil {
		return false, nil
	} else if !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	p, err := w.q.PlanByKey(w.ctx, v.Key)
	number, apart := int64(1), false // apart: the plan stays as it is
	switch {
	case errors.Is(err, sql.ErrNoRows):
		p, err = w.q.PlanInsert(w.ctx, dbsqlc.PlanInsertParams{PublicID: domain.NewID(), Key: v.Key, Name: v.Name, Description: v.Description,
			LatestHash: v.Hash, Stage: string(firstStage(v.Origin)), CreatedAt: now})
	case err == nil && v.Base != "" && v.Base != p.LatestHash:
		return false, domain.Errorf(domain.CodeStale, "plan %s has version %d by now, which is not the one that this was made from", v.Key, p.Latest).
			Suggest("look at what has changed, and save on top of that")
	case err == nil:
		if number, err = w.q.VersionLast(w.ctx, p.ID); err != nil {
			return false, err
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
		return false, err
	}
	tx.audit("plan.version", auditRow{record: domain.AuditRecord{Object: "plan:" + v.Key, Reason: v.Reason,
		Detail: domain.RawJSON(encodeJSON(map[string]any{"version": number, "hash": v.Hash}))}})
	_, err = w.q.VersionInsert(w.ctx, dbsqlc.VersionInsertParams{PlanID: p.ID, Number: number, Hash: v.Hash, Semantics: int64(v.Semantics),
		Kind: v.Kind, Format: v.Format, Source: v.Source, Canonical: v.Canonical, Origin: v.Origin, ByPerson: flag(v.ByPerson),
		ParentHash: v.ParentHash, Reason: v.Reason, Author: v.Author, CreatedAt: now})
	return true, err
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
		return nil, translate(err, "read what plan "+plan+" is found by")
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
	if _, _, err := s.Do(s.by("restore a plan version", actor), func(tx *Tx) (string, error) { return r.PlanID, tx.RestoreVersion(r) }); err != nil {
		return domain.Plan{}, err
	}
	return s.Plan(ctx, r.PlanID)
}

// RestoreVersion makes another version of a plan its current one ("plan.restore", or
// "plan.accept" of one that a planner made). CodeNotFound; CodeStale when the plan's
// current version is not r.Base.
func (tx *Tx) RestoreVersion(r domain.RestoredVersion) error {
	w := tx.w
	p, err := w.q.PlanByPublicID(w.ctx, r.PlanID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "no plan %q", r.PlanID)
	} else if err != nil {
		return err
	}
	if r.Base != "" && r.Base != p.LatestHash {
		return domain.Errorf(domain.CodeStale, "plan %s follows version %d by now", p.Key, p.Latest).Suggest("look at what has changed, and restore on top of that")
	}
	v, err := w.q.VersionByHash(w.ctx, r.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err != nil || v.PlanVersion.PlanID != p.ID {
		return domain.Errorf(domain.CodeNotFound, "plan %s has no version with hash %s", p.Key, r.Hash)
	}
	action, stage := "plan.restore", p.Stage
	if r.Accepts {
		action, stage = "plan.accept", string(domain.StageUsed)
	}
	if err := w.q.PlanAdvance(w.ctx, dbsqlc.PlanAdvanceParams{Latest: v.PlanVersion.Number, LatestHash: r.Hash, Name: r.Name, Description: r.Description,
		UpdatedAt: micros(tx.op.At), Stage: stage, ID: p.ID}); err != nil {
		return err
	}
	tx.audit(action, auditRow{record: domain.AuditRecord{Object: "plan:" + p.Key, Reason: r.Reason,
		Detail: domain.RawJSON(encodeJSON(map[string]any{"version": v.PlanVersion.Number, "hash": r.Hash, "from": p.Latest}))}})
	return w.putFacts(p.ID, r.Facts)
}

// AcceptPlan takes a draft into use.
func (s *Store) AcceptPlan(ctx context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error) {
	if _, _, err := s.Do(s.by("accept a plan", actor), func(tx *Tx) (string, error) { return planID, tx.AcceptPlan(planID, reason) }); err != nil {
		return domain.Plan{}, err
	}
	return s.Plan(ctx, planID)
}

// AcceptPlan takes a draft into use ("plan.accept"); a plan that is no draft stays as it
// is. CodeNotFound.
func (tx *Tx) AcceptPlan(planID, reason string) error {
	w := tx.w
	p, err := w.q.PlanByPublicID(w.ctx, planID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "no plan %q", planID)
	} else if err != nil || p.Stage != string(domain.StageDraft) {
		return err
	}
	tx.audit("plan.accept", auditRow{record: domain.AuditRecord{Object: "plan:" + p.Key, Reason: reason,
		Detail: domain.RawJSON(encodeJSON(map[string]any{"version": p.Latest, "hash": p.LatestHash}))}})
	return w.q.PlanAccept(w.ctx, micros(tx.op.At), planID)
}

// VersionRuns says, per version number of a plan, how many runs ended since a
// time and how, and how many are under way.
func (s *Store) VersionRuns(ctx context.Context, planID string, since time.Time) (map[int]domain.VersionRuns, error) {
	versions, err := s.q.VersionList(ctx, planID)
	if err != nil {
		return nil, translate(err, "list plan versions")
	}
	numbers := make(map[int64]int, len(versions))
	for _, v := range versions {
		numbers[v.ID] = int(v.Number)
	}
	ended, err := s.q.OutcomeOfVersions(ctx, planID, slotOf(since.UnixMicro()))
	if err != nil {
		return nil, translate(err, "read outcomes of versions")
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
		return nil, translate(err, "count runs of versions")
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
	return encodeJSON(list)
}

// Plan finds a plan by key or id, archived ones included; CodeNotFound.
func (s *Store) Plan(ctx context.Context, idOrKey string) (domain.Plan, error) {
	p, err := s.db.PlanRow(ctx, idOrKey)
	if err != nil {
		return domain.Plan{}, err
	}
	return plan(p), nil
}

// Plans lists plans, latest change first, by key.
func (s *Store) Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error) {
	var list domain.List[domain.Plan]
	limit := pageLimit(f.Page.Limit)
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
		if at, err = openCursor(kind, first); err != nil || !ok {
			return list, cmp.Or(err, badCursor())
		}
		if id, err = openCursor(kind, second); err != nil {
			return list, err
		}
		newer = c.newer
	}
	var rows []dbsqlc.Plan
	var err error
	if newer {
		rows, err = s.q.PlanListNewer(ctx, dbsqlc.PlanListNewerParams{Archived: flag(f.Archived), Paused: flag(f.Paused), Text: f.Text, Stage: f.Stage, Facts: factList(f.Facts), UpdatedAt: at, ID: id, Max: int64(limit) + 1})
	} else {
		rows, err = s.q.PlanListOlder(ctx, dbsqlc.PlanListOlderParams{Archived: flag(f.Archived), Paused: flag(f.Paused), Text: f.Text, Stage: f.Stage, Facts: factList(f.Facts), UpdatedAt: at, ID: id, Max: int64(limit) + 1})
	}
	if err != nil {
		return list, translate(err, "list plans")
	}
	cursors := make(map[string]string, len(rows)) // plan id → its cursor
	for _, r := range rows {
		list.Items = append(list.Items, plan(r))
		cursors[r.PublicID] = cursor(kind, r.UpdatedAt) + "-" + cursor(kind, r.ID)
	}
	list.Items, list.Next, list.Prev = windowBy(list.Items, limit, newer, f.Page, func(p domain.Plan) string { return cursors[p.ID] })
	return list, nil
}

// VersionByHash gives one version with its source; CodeNotFound.
func (s *Store) VersionByHash(ctx context.Context, hash string) (domain.Version, error) {
	r, err := s.q.VersionByHash(ctx, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Version{}, domain.Errorf(domain.CodeNotFound, "no plan version with hash %s", hash)
	}
	return version(r.PlanVersion, r.PlanPublicID, r.PlanKey), translate(err, "read plan version")
}

// VersionByNumber gives one version with its source; CodeNotFound.
func (s *Store) VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error) {
	r, err := s.q.VersionByNumber(ctx, planID, int64(number))
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Version{}, domain.Errorf(domain.CodeNotFound, "the plan has no version %d", number)
	}
	return version(r.PlanVersion, r.PlanPublicID, r.PlanKey), translate(err, "read plan version")
}

// Versions lists a plan's versions, newest first, without their documents.
func (s *Store) Versions(ctx context.Context, planID string) ([]domain.Version, error) {
	rows, err := s.q.VersionList(ctx, planID)
	if err != nil {
		return nil, translate(err, "list plan versions")
	}
	out := make([]domain.Version, len(rows))
	for i, r := range rows {
		out[i] = domain.Version{PlanID: r.PlanPublicID, PlanKey: r.PlanKey, Number: int(r.Number), Hash: r.Hash, Semantics: int(r.Semantics),
			Kind: r.Kind, Format: r.Format, Origin: r.Origin, ByPerson: r.ByPerson != 0, ParentHash: r.ParentHash, Reason: r.Reason,
			Author: r.Author, CreatedAt: fromMicros(r.CreatedAt)}
	}
	return out, nil
}

// LastRuns are the newest runs of a plan, newest first: only their id, state and
// times are filled.
func (s *Store) LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error) {
	rows, err := s.q.RunsOfPlan(ctx, plan, int64(limit))
	if err != nil {
		return nil, translate(err, "read the last runs of "+plan)
	}
	out := make([]domain.Run, len(rows))
	for i, r := range rows {
		out[i] = domain.Run{ID: r.PublicID, PlanKey: plan, Status: domain.RunStatus(r.Status), WaitReason: domain.WaitReason(r.WaitReason),
			CreatedAt: fromMicros(r.CreatedAt), EndedAt: fromMicros(r.EndedAt)}
	}
	return out, nil
}

// NextStart is the run of a plan that is the next to start at a time that was set
// for it, and when; "": none is, or more than 100 are queued.
func (s *Store) NextStart(ctx context.Context, plan string) (run string, at time.Time, err error) {
	const most = 100
	rows, err := s.q.RunsQueuedOfPlan(ctx, plan, most+1)
	if err != nil || len(rows) > most {
		return "", at, translate(err, "read the queued runs of "+plan)
	}
	for _, r := range rows {
		if start := fromMicros(r.StartAt); start.After(s.now()) && (run == "" || start.Before(at)) {
			run, at = r.PublicID, start
		}
	}
	return run, at, nil
}

// PlansThatRun are the keys of plans whose newest version runs another plan.
func (s *Store) PlansThatRun(ctx context.Context, plan string, limit int) ([]string, error) {
	var out []string
	for _, text := range []string{`"plan":` + encodeJSON(plan) + `,`, `"plan":` + encodeJSON(plan) + `}`, `"plan":` + strings.TrimSuffix(encodeJSON(plan), `"`) + `@`} {
		keys, err := s.q.PlansWithText(ctx, text, int64(limit))
		if err != nil {
			return nil, translate(err, "find what runs "+plan)
		}
		for _, k := range keys {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out, nil
}
