package query

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/spend"
)

// Spend returns the usage of model calls, and the beginning of what it read: of more than 50,000 stored sums, the
// oldest periods are left out. A period divides a day, or is a number of days.
func (s *SummaryReader) Spend(ctx context.Context, r domain.SpendRead) (list []domain.Spend, from time.Time, err error) {
	return spend.List(ctx, s.db.Q, r)
}
