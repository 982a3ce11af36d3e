package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// PlannedTotals adds up the versions after one that a planner made; 0: all.
func (s *Store) PlannedTotals(ctx context.Context, after int64) (domain.PlannedTotals, error) {
	row, err := s.q.PlannedTotals(ctx, after)
	return domain.PlannedTotals{Plans: row.Plans, Steps: row.Steps, Sure: row.Sure, Confidence: row.Confidence, Last: row.Newest}, translate(err, "add up planned versions")
}

// PlannedRuns counts the ended runs of plans that a planner made.
func (s *Store) PlannedRuns(ctx context.Context) (domain.PlannedRuns, error) {
	row, err := s.q.PlannedRuns(ctx)
	return domain.PlannedRuns{Ended: row.Ended, Completed: row.Completed}, translate(err, "count runs of planned versions")
}
