package metric

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairosd/kairosd/internal/domain"
)

var (
	runsDesc      = prometheus.NewDesc("kairos_runs", "Runs by status.", []string{"status"}, nil)
	heldDesc      = prometheus.NewDesc("kairos_runs_held", "Runs that wait for your release after a restore.", nil, nil)
	approvalsDesc = prometheus.NewDesc("kairos_approvals_pending", "Pending approval requests.", nil, nil)
	workingDesc   = prometheus.NewDesc("kairos_queue_working", "Runs that hold a slot.", nil, nil)
	queuedDesc    = prometheus.NewDesc("kairos_queue_depth", "Runs that wait for a slot.", nil, nil)
	oldestDesc    = prometheus.NewDesc(
		"kairos_queue_oldest_seconds",
		"Age of the oldest run that waits for a slot; 0 if none waits.",
		nil,
		nil,
	)
	nodesDesc     = prometheus.NewDesc("kairos_queue_nodes", "Active steps.", nil, nil)
	listenersDesc = prometheus.NewDesc("kairos_listeners", "Open event streams.", nil, nil)
	bytesDesc     = prometheus.NewDesc(
		"kairos_storage_bytes",
		"Bytes of the database, its free pages, its write-ahead log, and free disk space.",
		[]string{"part"},
		nil,
	)
	callsDesc    = prometheus.NewDesc("kairos_provider_calls_total", "Calls to model providers.", []string{"provider"}, nil)
	failuresDesc = prometheus.NewDesc("kairos_provider_failures_total", "Failed calls to model providers.", []string{"provider"}, nil)
	openDesc     = prometheus.NewDesc("kairos_circuits_open", "Open circuits of tools and providers.", []string{"kind", "name"}, nil)
	openedDesc   = prometheus.NewDesc("kairos_circuits_opened_total", "How often a circuit opened.", []string{"kind", "name"}, nil)
	refusedDesc  = prometheus.NewDesc(
		"kairos_circuit_refused_calls_total",
		"Calls refused by an open circuit.",
		[]string{"kind", "name"},
		nil,
	)
)

// gauges collects the metrics that are read during a scrape. It leaves out metrics that cannot be
// read, because a wrong zero would look like good news.
type gauges struct{ r *Recorder }

func (g gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runsDesc, heldDesc, approvalsDesc, workingDesc, queuedDesc, oldestDesc, nodesDesc,
		listenersDesc, bytesDesc, callsDesc, failuresDesc, openDesc, openedDesc, refusedDesc} {
		out <- d
	}
}

func (g gauges) Collect(out chan<- prometheus.Metric) {
	s := g.r.from()
	if s.Load == nil {
		return // not attached yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	l := s.Load()
	gauge(workingDesc, float64(l.Working))
	gauge(queuedDesc, float64(l.Queued))
	gauge(nodesDesc, float64(l.Nodes))
	oldest := 0.0
	if !l.Oldest.IsZero() {
		oldest = g.r.o.Now().Sub(l.Oldest).Seconds()
	}
	gauge(oldestDesc, oldest)
	gauge(listenersDesc, float64(s.Listeners()))
	if c, err := s.Counts(ctx); err != nil {
		g.r.o.Logger.Error("count runs for the metrics", "err", err)
	} else {
		for _, status := range []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting, domain.RunCompleted,
			domain.RunFailed, domain.RunCancelled} {
			gauge(runsDesc, float64(c.ByStatus[status]), string(status))
		}
		gauge(heldDesc, float64(c.Held))
		gauge(approvalsDesc, float64(c.OpenApprovals))
	}
	if u, err := s.Storage(ctx); err != nil {
		g.r.o.Logger.Error("measure the storage for the metrics", "err", err)
	} else {
		gauge(bytesDesc, float64(u.Database), "database")
		gauge(bytesDesc, float64(u.Unused), "unused")
		gauge(bytesDesc, float64(u.WAL), "wal")
		gauge(bytesDesc, float64(u.Free), "disk_free")
	}
	for _, p := range s.Providers() {
		out <- prometheus.MustNewConstMetric(callsDesc, prometheus.CounterValue, float64(p.Calls), p.Name)
		out <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(p.Failures), p.Name)
	}
	for _, c := range s.Circuits() {
		gauge(openDesc, float64(c.Open), c.Kind, c.Name)
		out <- prometheus.MustNewConstMetric(openedDesc, prometheus.CounterValue, float64(c.Opened), c.Kind, c.Name)
		out <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, float64(c.RefusedCalls), c.Kind, c.Name)
	}
}
