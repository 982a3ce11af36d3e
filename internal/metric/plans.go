package metric

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairosd/kairosd/internal/kairos"
)

// plans holds the five metrics of [001], under the names it gives them. Servers
// that know no dots in names get underscores.
type plans struct {
	created    prometheus.Counter
	took       prometheus.Histogram
	mu         sync.Mutex
	hashes     map[string]bool // versions that the planner made since the start
	order      []string
	n          float64
	steps      float64
	confidence float64
	runs, good float64
}

// maxHashes bounds how many planner-made versions are told from others.
const maxHashes = 10_000

func (p *plans) register(to prometheus.Registerer) {
	p.hashes = map[string]bool{}
	p.created = prometheus.NewCounter(prometheus.CounterOpts{Name: "planner.plans_created.count", Help: "Plans that the planner made."})
	p.took = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "planner.planning_duration_ms", Help: "Time from an intent to its stored plan, in milliseconds.",
		Buckets: []float64{1, 2, 5, 10, 25, 50, 100, 200, 500, 1000, 2500, 5000, 10000, 30000, 60000}})
	share := func(of, all *float64) func() float64 {
		return func() float64 {
			p.mu.Lock()
			defer p.mu.Unlock()
			if *all == 0 {
				return 0
			}
			return *of / *all
		}
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	to.MustRegister(p.created, p.took,
		gauge("planner.plan_success_rate", "Share of the ended runs of planner-made plans that completed, 0 to 1; 0 while there are none.", share(&p.good, &p.runs)),
		gauge("planner.average_steps_per_plan", "Mean number of steps of the plans made.", share(&p.steps, &p.n)),
		gauge("planner.confidence_score", "Mean confidence of the plans made, 0 to 1.", share(&p.confidence, &p.n)))
}

// Planned counts a plan that the planner made and that is stored.
func (r *Recorder) Planned(hash string, steps int, confidence float64, took time.Duration) {
	p := &r.plans
	p.created.Inc()
	p.took.Observe(float64(took.Microseconds()) / 1000)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.steps += float64(steps)
	p.confidence += confidence
	if !p.hashes[hash] {
		if len(p.order) == maxHashes {
			delete(p.hashes, p.order[0])
			p.order = p.order[1:]
		}
		p.hashes[hash], p.order = true, append(p.order, hash)
	}
}

// made reports whether a run that is created is of a plan of the planner.
func (p *plans) made(detail kairos.RawJSON) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.hashes) == 0 {
		return false
	}
	var d struct {
		Hash string `json:"hash"`
	}
	return json.Unmarshal(detail, &d) == nil && p.hashes[d.Hash]
}

func (p *plans) ended(good bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	if good {
		p.good++
	}
}
