package query

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// PlannedTotals sums the numbers of the versions that a planner made after the given version; 0
// includes all versions.
func (s *SummaryReader) PlannedTotals(ctx context.Context, after int64) (domain.PlannedTotals, error) {
	row, err := s.db.Q.PlannedTotals(ctx, after)
	return domain.PlannedTotals{
			Plans:          row.Plans,
			Steps:          row.Steps,
			WithConfidence: row.Sure,
			Confidence:     row.Confidence,
			Last:           row.Newest,
		}, core.Translate(
			err,
			"add up planned versions",
		)
}

// PlannedRuns counts the ended runs of plans that a planner made.
func (s *SummaryReader) PlannedRuns(ctx context.Context) (domain.PlannedRuns, error) {
	row, err := s.db.Q.PlannedRuns(ctx)
	return domain.PlannedRuns{Ended: row.Ended, Completed: row.Completed}, core.Translate(err, "count runs of planned versions")
}
