package query

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

// PlanReader reads plans and their versions.
type PlanReader struct{ db *core.DB }

// PlanFacts returns the facts of a plan that lists filter and search.
func (s *PlanReader) PlanFacts(ctx context.Context, plan string) ([]domain.PlanFact, error) {
	rows, err := s.db.Q.PlanFacts(ctx, plan)
	if err != nil {
		return nil, core.Translate(err, "read what plan "+plan+" is found by")
	}
	out := make([]domain.PlanFact, len(rows))
	for i, r := range rows {
		out[i] = domain.PlanFact{Kind: r.Kind, Value: r.Value}
	}
	return out, nil
}

// VersionRuns counts, by version number of a plan, the runs that ended since a time by outcome, and
// the active ones.
func (s *PlanReader) VersionRuns(ctx context.Context, planID string, since time.Time) (map[int]domain.VersionRuns, error) {
	versions, err := s.db.Q.VersionList(ctx, planID)
	if err != nil {
		return nil, core.Translate(err, "list plan versions")
	}
	numbers := make(map[int64]int, len(versions))
	for _, v := range versions {
		numbers[v.ID] = int(v.Number)
	}
	ended, err := s.db.Q.OutcomeOfVersions(ctx, planID, core.SlotOf(since.UnixMicro()))
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
	active, err := s.db.Q.VersionsUnderWay(ctx, planID)
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

// factList encodes the facts that plans must have as JSON.
func factList(facts []domain.PlanFact) string {
	list := make([][2]string, len(facts))
	for i, f := range facts {
		list[i] = [2]string{f.Kind, f.Value}
	}
	return core.EncodeJSON(list)
}

// Plan finds a plan by key or id, including archived plans. If it does not exist, the error is
// CodeNotFound.
func (s *PlanReader) Plan(ctx context.Context, idOrKey string) (domain.Plan, error) {
	p, err := s.db.PlanRow(ctx, idOrKey)
	if err != nil {
		return domain.Plan{}, err
	}
	return core.Plan(p), nil
}

// Plans lists plans with the latest change first, paged by key.
func (s *PlanReader) Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error) {
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
		// The cursor contains both the time and the id. A plan that changes moves to the front, but
		// the position of the page does not.
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
		rows, err = s.db.Q.PlanListNewer(
			ctx,
			dbsqlc.PlanListNewerParams{
				Archived:  core.Flag(f.Archived),
				Paused:    core.Flag(f.Paused),
				Text:      f.Text,
				Stage:     f.Stage,
				Facts:     factList(f.Facts),
				UpdatedAt: at,
				ID:        id,
				Max:       int64(limit) + 1,
			},
		)
	} else {
		rows, err = s.db.Q.PlanListOlder(ctx, dbsqlc.PlanListOlderParams{Archived: core.Flag(f.Archived),
			Paused: core.Flag(f.Paused), Text: f.Text, Stage: f.Stage, Facts: factList(f.Facts), UpdatedAt: at, ID: id,
			Max: int64(limit) + 1})
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

// VersionByHash returns a version with its source. If it does not exist, the error is CodeNotFound.
func (s *PlanReader) VersionByHash(ctx context.Context, hash string) (domain.Version, error) {
	r, err := s.db.Q.VersionByHash(ctx, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Version{}, domain.Errorf(domain.CodeNotFound, "plan version with hash %s not found", hash)
	}
	return core.Version(r.PlanVersion, r.PlanPublicID, r.PlanKey), core.Translate(err, "read plan version")
}

// VersionByNumber returns a version with its source. If it does not exist, the error is
// CodeNotFound.
func (s *PlanReader) VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error) {
	r, err := s.db.Q.VersionByNumber(ctx, planID, int64(number))
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Version{}, domain.Errorf(domain.CodeNotFound, "the plan has no version %d", number)
	}
	return core.Version(r.PlanVersion, r.PlanPublicID, r.PlanKey), core.Translate(err, "read plan version")
}

// Versions lists a plan's versions, newest first, without their documents.
func (s *PlanReader) Versions(ctx context.Context, planID string) ([]domain.Version, error) {
	rows, err := s.db.Q.VersionList(ctx, planID)
	if err != nil {
		return nil, core.Translate(err, "list plan versions")
	}
	out := make([]domain.Version, len(rows))
	for i, r := range rows {
		out[i] = domain.Version{
			PlanID:     r.PlanPublicID,
			PlanKey:    r.PlanKey,
			Number:     int(r.Number),
			Hash:       r.Hash,
			Semantics:  int(r.Semantics),
			Kind:       r.Kind,
			Format:     r.Format,
			Origin:     r.Origin,
			ByPerson:   r.ByPerson != 0,
			ParentHash: r.ParentHash,
			Reason:     r.Reason,
			Author:     r.Author,
			CreatedAt:  core.FromMicros(r.CreatedAt),
		}
	}
	return out, nil
}

// PlansThatRun returns the keys of the plans whose newest version runs the given plan.
func (s *PlanReader) PlansThatRun(ctx context.Context, plan string, limit int) ([]string, error) {
	var out []string
	for _, text := range []string{`"plan":` + core.EncodeJSON(plan) + `,`, `"plan":` + core.EncodeJSON(plan) + `}`,
		`"plan":` + strings.TrimSuffix(core.EncodeJSON(plan), `"`) + `@`} {
		keys, err := s.db.Q.PlansWithText(ctx, text, int64(limit))
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
