package metric

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairosd/kairosd/internal/domain"
)

// plans provides the five metrics of the planner, with the names of its specification. Systems that
// do not support dots in names use underscores. All metrics are read from the database, so that
// they survive a restart.
type plans struct {
	mu     sync.Mutex
	totals domain.PlannedTotals // of the versions that were read so far, which never change
	took   *durations           // nil: not read yet
}

// durations is a histogram of milliseconds that can be stored.
type durations struct {
	Count  uint64   `json:"count"`
	Sum    float64  `json:"sum"`
	Within []uint64 `json:"within"` // by bound of tookBounds: number of plans that took at most that long
}

var tookBounds = []float64{1, 2, 5, 10, 25, 50, 100, 200, 500, 1000, 2500, 5000, 10000, 30000, 60000}

// tookKey is the setting that stores the durations of planning.
const tookKey = "planner.durations"

var (
	createdDesc = prometheus.NewDesc("planner.plans_created.count", "Plans created by the planner.", nil, nil)
	tookDesc    = prometheus.NewDesc(
		"planner.planning_duration_ms",
		"Time from a request to its stored plan, in milliseconds.",
		nil,
		nil,
	)
	successDesc = prometheus.NewDesc(
		"planner.plan_success_rate",
		"Share of ended runs of planned plans that completed, 0 to 1.",
		nil,
		nil,
	)
	stepsDesc      = prometheus.NewDesc("planner.average_steps_per_plan", "Mean number of steps of planned plans.", nil, nil)
	confidenceDesc = prometheus.NewDesc("planner.confidence_score", "Mean confidence of planned plans, 0 to 1.", nil, nil)
)

// Planned records the planning time of a stored plan.
func (r *Recorder) Planned(took time.Duration) {
	s, p, ms := r.from(), &r.plans, float64(took.Microseconds())/1000
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.readDurations(ctx, s); err != nil {
		r.o.Logger.Error("read planning times", "err", err)
		return // do not overwrite the stored durations
	}
	p.took.Count++
	p.took.Sum += ms
	for i, bound := range tookBounds {
		if ms <= bound {
			p.took.Within[i]++
		}
	}
	if s.SetSetting == nil {
		return
	}
	text, err := json.Marshal(p.took)
	if err == nil {
		err = s.SetSetting(ctx, tookKey, string(text))
	}
	if err != nil {
		r.o.Logger.Error("store planning times", "err", err)
	}
}

func (p *plans) readDurations(ctx context.Context, s Source) error {
	if p.took != nil {
		return nil
	}
	took := &durations{Within: make([]uint64, len(tookBounds))}
	if s.Setting != nil {
		text, err := s.Setting(ctx, tookKey)
		if err != nil {
			return err
		}
		var stored durations
		if text != "" && json.Unmarshal([]byte(text), &stored) == nil && len(stored.Within) == len(tookBounds) {
			took = &stored
		}
	}
	p.took = took
	return nil
}

// plansCollector reads the planner's metrics during a scrape.
type plansCollector struct{ r *Recorder }

func (c plansCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{createdDesc, tookDesc, successDesc, stepsDesc, confidenceDesc} {
		out <- d
	}
}

func (c plansCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, p := c.r.from(), &c.r.plans
	p.mu.Lock()
	defer p.mu.Unlock()
	var runs domain.PlannedRuns
	if s.Planned != nil {
		more, err := s.Planned(ctx, p.totals.Last)
		if err == nil {
			runs, err = s.PlannedRuns(ctx)
		}
		if err == nil {
			err = p.readDurations(ctx, s)
		}
		if err != nil {
			c.r.o.Logger.Error("read the planner's metrics", "err", err)
			return
		}
		p.totals.Plans += more.Plans
		p.totals.Steps += more.Steps
		p.totals.WithConfidence += more.WithConfidence
		p.totals.Confidence += more.Confidence
		p.totals.Last = max(p.totals.Last, more.Last)
	}
	took := p.took
	if took == nil {
		took = &durations{Within: make([]uint64, len(tookBounds))}
	}
	share := func(of, all float64) float64 {
		if all == 0 {
			return 0
		}
		return of / all
	}
	t := p.totals
	out <- prometheus.MustNewConstMetric(createdDesc, prometheus.CounterValue, float64(t.Plans))
	out <- prometheus.MustNewConstMetric(successDesc, prometheus.GaugeValue, share(float64(runs.Completed), float64(runs.Ended)))
	out <- prometheus.MustNewConstMetric(stepsDesc, prometheus.GaugeValue, share(float64(t.Steps), float64(t.Plans)))
	out <- prometheus.MustNewConstMetric(confidenceDesc, prometheus.GaugeValue, share(t.Confidence, float64(t.WithConfidence)))
	buckets := map[float64]uint64{}
	for i, n := range took.Within {
		buckets[tookBounds[i]] = n
	}
	out <- prometheus.MustNewConstHistogram(tookDesc, took.Count, took.Sum, buckets)
}
