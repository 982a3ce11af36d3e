package store

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Short names of functions of core that this package uses in nearly every method.

func translate(err error, doing string) error { return core.Translate(err, doing) }

func primary(err error) int { return core.Primary(err) }

func fatal(err error) bool { return core.Fatal(err) }

func encodeJSON(v any) string { return core.EncodeJSON(v) }

func micros(t time.Time) int64 { return core.Micros(t) }

func fromMicros(us int64) time.Time { return core.FromMicros(us) }

func slotOf(us int64) int64 { return core.SlotOf(us) }

func jsonText(j domain.RawJSON) *string { return core.JSONText(j) }

func orNull(s string) *string { return core.OrNull(s) }

func orEmpty(s *string) string { return core.OrEmpty(s) }

func flag(b bool) int64 { return core.Flag(b) }

func plan(p dbsqlc.Plan) domain.Plan { return core.Plan(p) }

func version(v dbsqlc.PlanVersion, planID, planKey string) domain.Version {
	return core.Version(v, planID, planKey)
}

func run(r dbsqlc.Run, d dbsqlc.RunDetail, planID, planKey string, number int64, hash string) domain.Run {
	return core.Run(r, d, planID, planKey, number, hash)
}

func pageLimit(n int) int { return core.PageLimit(n) }

func cursor(kind string, id int64) string { return core.Cursor(kind, id) }

func openCursor(kind, c string) (int64, error) { return core.OpenCursor(kind, c) }

func badCursor() error { return core.BadCursor() }

func windowBy[T any](items []T, limit int, newer bool, p domain.Page, at func(T) string) (page []T, next, prev string) {
	return core.WindowBy(items, limit, newer, p, at)
}
