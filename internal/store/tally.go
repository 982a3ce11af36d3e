package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/store/internal/spend"
)

// tally collects the changes of the active transaction to the counters of runs. Only the writer's
// goroutine uses it.
type tally struct {
	counts   map[countKey]int64
	outcomes map[endedKey]int64 // runs of the batch that ended
	spend    spend.Sums
	failures bool // the active transaction changed whether a run is failed
}

type countKey struct{ status, reason string }

type endedKey struct {
	plan, slot, version int64
	status              string
}

func newTally() tally {
	return tally{counts: map[countKey]int64{}, outcomes: map[endedKey]int64{}, spend: spend.NewSums()}
}

func (t *tally) clear() {
	clear(t.counts)
	clear(t.outcomes)
	t.spend.Clear()
}

// countOf returns the counter of a run.
func countOf(status, reason string, attention int64) countKey {
	switch {
	case status == string(domain.RunFailed) && attention == 0:
		reason = core.Acknowledged
	case status == string(domain.RunRunning) && attention != 0:
		reason = core.Silent
	case reason == string(domain.WaitRetry) && attention != 0:
		reason = core.Stubborn
	}
	return countKey{status, reason}
}

// count updates the counters. Deleted runs and runs that lists leave out are not counted.
func (t *tally) count(st *runState, n int64) {
	if st.DeletedAt == 0 && core.Listed(st.Origin, st.Attention) {
		t.counts[countOf(st.Status, st.WaitReason, st.Attention)] += n
	}
}

// write adds the collected changes to the stored counters.
func (t *tally) write(ctx context.Context, q *dbsqlc.Queries) error {
	for k, n := range t.counts {
		if k.status == string(domain.RunFailed) {
			t.failures = true // one may have replaced another
		}
		if n == 0 {
			continue
		}
		if err := q.RunCountAdd(ctx, k.status, k.reason, n); err != nil {
			return err
		}
	}
	clear(t.counts)
	for k, n := range t.outcomes {
		if err := q.OutcomeAdd(ctx, dbsqlc.OutcomeAddParams{PlanID: k.plan, Slot: k.slot, Status: k.status, VersionID: k.version,
			N: n}); err != nil {
			return err
		}
	}
	clear(t.outcomes)
	return t.spend.Write(ctx, q)
}
