// Package metric measures a server. It provides Prometheus metrics, the same metrics and traces
// over OTLP, and samples of the last day for the system page.
//
// Everything about runs is counted from commits of the store ([Recorder.HandleCommit]), so that a
// value never includes data that a crash could undo. Counters begin at zero when the daemon starts.
package metric

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kairosd/kairosd/internal/domain"
)

// Load is the load of the engine.
type Load struct {
	Working      int       // runs that hold a slot
	Queued       int       // runs that wait for a slot
	Oldest       time.Time // creation time of the oldest of these; zero: none waits
	Nodes        int       // nodes that hold a slot
	NodesWaiting int       // runs that wait for a slot for a node
}

// Source provides values that are read on demand. All fields are required.
type Source struct {
	Load func() Load
	// Slots returns the current limits of the engine.
	Slots     func() (runs, nodes int)
	Counts    func(context.Context) (domain.RunCounts, error)
	Storage   func(context.Context) (domain.Storage, error)
	Providers func() []domain.ProviderInfo
	Circuits  func() []domain.CircuitCount
	Listeners func() int
	Clock     func() domain.Clock
	// Planned returns the totals of the versions that a planner made after a version, and
	// PlannedRuns the ended runs of their plans. Setting and SetSetting store the other values.
	Planned     func(ctx context.Context, after int64) (domain.PlannedTotals, error)
	PlannedRuns func(context.Context) (domain.PlannedRuns, error)
	Setting     func(ctx context.Context, key string) (string, error)
	SetSetting  func(ctx context.Context, key, value string) error
	// Run reads a run for its trace.
	Run func(ctx context.Context, id string) (domain.Run, error)
}

// Options configures a Recorder.
type Options struct {
	Version string
	Logger  *slog.Logger
	Now     func() time.Time // nil: time.Now
}

// Recorder counts and measures. It is safe for concurrent use.
type Recorder struct {
	o        Options
	registry *prometheus.Registry

	created prometheus.Counter
	ended   map[domain.RunStatus]prometheus.Counter
	took    prometheus.Histogram
	nodes   map[domain.NodeStatus]prometheus.Counter
	nodeFor prometheus.Histogram
	retries prometheus.Counter
	calls   *prometheus.CounterVec
	tokens  struct{ in, out prometheus.Counter }
	cost    prometheus.Counter

	commits   prometheus.Histogram
	batches   prometheus.Histogram
	requests  *prometheus.CounterVec
	answering *prometheus.HistogramVec
	lag       prometheus.Histogram

	plans plans

	mu      sync.Mutex
	source  Source
	since   map[string]time.Time // active runs that were created since the start
	now     minute               // counts of the current minute
	minutes []minute             // the last few minutes, oldest first
	past    []domain.Sample      // the last day, oldest first
	file    string               // file that keeps past across a restart; empty: none

	tracer *tracer // nil: traces are disabled
}

// maxBegun is the maximum number of runs in begun. The durations of further runs are not measured.
const maxBegun = 50_000

// seconds are the bucket bounds of durations, from a hundred microseconds to an hour.
var seconds = []float64{1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}

// New returns a recorder.
func New(o Options) *Recorder {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{o: o, registry: prometheus.NewRegistry(), since: map[string]time.Time{},
		ended: map[domain.RunStatus]prometheus.Counter{}, nodes: map[domain.NodeStatus]prometheus.Counter{}}
	add := func(c prometheus.Collector) { r.registry.MustRegister(c) }
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		add(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		add(h)
		return h
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		add(c)
		return c
	}
	r.created = counter("kairos_runs_created_total", "Runs created.")
	ended := vector("kairos_runs_ended_total", "Runs that ended, by status.", "status")
	for _, s := range []domain.RunStatus{domain.RunCompleted, domain.RunFailed, domain.RunCancelled} {
		r.ended[s] = ended.WithLabelValues(string(s))
	}
	r.took = histogram("kairos_run_duration_seconds", "Duration of runs, from creation to end.", seconds)
	nodes := vector("kairos_nodes_ended_total", "Attempts of steps and items that ended, by status.", "status")
	for _, s := range []domain.NodeStatus{domain.NodeCompleted, domain.NodeFailed, domain.NodeSkipped, domain.NodeInDoubt,
		domain.NodeCancelled} {
		r.nodes[s] = nodes.WithLabelValues(string(s))
	}
	r.nodeFor = histogram("kairos_node_duration_seconds", "Duration of attempts of steps.", seconds)
	r.retries = counter("kairos_retries_total", "Attempts followed by a retry.")
	r.calls = vector("kairos_calls_total", "Model and tool calls of agents, by kind and status.", "kind", "status")
	tokens := vector("kairos_tokens_total", "Tokens of models, by direction.", "direction")
	r.tokens.in, r.tokens.out = tokens.WithLabelValues("input"), tokens.WithLabelValues("output")
	r.cost = counter("kairos_cost_total", "Cost of model calls, in the currency of the price list.")
	r.commits = histogram("kairos_checkpoint_commit_seconds", "Duration of transactions that store checkpoints.", seconds[:15])
	r.batches = histogram("kairos_checkpoint_batch_size", "Writes per transaction.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512})
	r.requests = vector("kairos_http_requests_total", "HTTP requests, by route, method, and class of status.", "route", "method", "status")
	r.answering = prometheus.NewHistogramVec(
		prometheus.HistogramOpts{
			Name:    "kairos_http_request_duration_seconds",
			Help:    "Duration of HTTP requests, by route.",
			Buckets: seconds[:18],
		},
		[]string{"route"},
	)
	add(r.answering)
	r.lag = histogram("kairos_scheduler_lag_seconds", "Delay of timers.", seconds[:15])
	add(plansCollector{r})
	add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kairos_build_info", Help: "Always 1, with the version as a label.",
		ConstLabels: prometheus.Labels{"version": o.Version, "go": runtime.Version()}}, func() float64 { return 1 }))
	add(collectors.NewGoCollector())
	add(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	add(gauges{r})
	return r
}

// Attach sets the source of the values that are read on demand.
func (r *Recorder) Attach(s Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source = s
}

func (r *Recorder) from() Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source
}

// Handler serves the metrics in the Prometheus and OpenMetrics formats.
func (r *Recorder) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// Request counts a request. The route is the pattern that matched, never the address, so that a
// client cannot create new series.
func (r *Recorder) Request(route, method string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	class := "other"
	if status >= 100 && status < 600 {
		class = string('0'+byte(status/100)) + "xx"
	}
	r.requests.WithLabelValues(route, method, class).Inc()
	r.answering.WithLabelValues(route).Observe(took.Seconds())
}
