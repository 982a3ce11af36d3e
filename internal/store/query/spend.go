package query

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// spendMax is the maximum number of rows that the page of spend reads.
const spendMax = 50_000

// Spend returns the usage of model calls since a time, in periods. [domain.OutcomeSlot] must divide
// the length of a period.
func (s *SummaryReader) Spend(ctx context.Context, since time.Time, period time.Duration) ([]domain.Spend, error) {
	rows, err := s.db.Q.SpendList(ctx, int64(period/domain.OutcomeSlot), core.SlotOf(since.UnixMicro()), spendMax)
	if err != nil {
		return nil, core.Translate(err, "read the spend")
	}
	out := make([]domain.Spend, len(rows))
	for i, r := range rows {
		out[i] = domain.Spend{From: time.Unix(r.Part*int64(period/time.Second), 0).UTC(), PlanKey: r.Key, Agent: r.Agent, Model: r.Model,
			Calls: r.Calls, Usage: domain.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Cost: r.Cost}}
	}
	return out, nil
}
