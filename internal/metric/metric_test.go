package metric_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/metric"
)

func source(r *metric.Recorder) {
	r.Attach(metric.Source{
		Slots: func() (int, int) { return 64, 256 },
		Load: func() metric.Load {
			return metric.Load{Working: 3, Queued: 2, Oldest: time.Now().Add(-time.Minute), Nodes: 4}
		},
		Counts: func(context.Context) (domain.RunCounts, error) {
			return domain.RunCounts{ByStatus: map[domain.RunStatus]int64{domain.RunFailed: 7}, OpenApprovals: 1}, nil
		},
		Storage: func(context.Context) (domain.Storage, error) {
			return domain.Storage{Database: 1 << 20, Free: 1 << 40, Disk: 1 << 41}, nil
		},
		Providers: func() []domain.ProviderInfo { return []domain.ProviderInfo{{Name: "local", Calls: 9, Failures: 2}} },
		Circuits: func() []domain.CircuitCount {
			return []domain.CircuitCount{{Kind: "tool", Name: "http", Open: 2, Opened: 3, RefusedCalls: 40}}
		},
		Clock: func() domain.Clock { return domain.Clock{} }, Listeners: func() int { return 5 },
		Planned: func(_ context.Context, after int64) (domain.PlannedTotals, error) {
			if after == 7 {
				return domain.PlannedTotals{}, nil
			}
			return domain.PlannedTotals{Plans: 2, Steps: 6, WithConfidence: 2, Confidence: 1.4, Last: 7}, nil
		},
		PlannedRuns: func(context.Context) (domain.PlannedRuns, error) {
			return domain.PlannedRuns{Ended: 1, Completed: 1}, nil
		},
		Setting:    func(context.Context, string) (string, error) { return "", nil },
		SetSetting: func(context.Context, string, string) error { return nil },
		Run: func(_ context.Context, id string) (domain.Run, error) {
			return domain.Run{ID: id, PlanKey: "invoice", Version: 3, Status: domain.RunCompleted, CreatedAt: began}, nil
		},
	})
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// aRun is a stored run with an agent's conversation.
func aRun(id string) []domain.AuditEvent {
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	record := func(action string, detail string) domain.AuditRecord {
		return domain.AuditRecord{Action: action, Run: id, Detail: domain.RawJSON(detail)}
	}
	return []domain.AuditEvent{
		{Seq: 1, At: at(0), AuditRecord: record("run.created", `{"hash":"abc"}`)},
		{Seq: 2, At: at(5), AuditRecord: record("checkpoint", ""), Entries: []domain.Entry{
			{Seq: 1, Kind: domain.EntryIntent, Node: "a", Visit: 1, Item: -1, Attempt: 1, Status: domain.NodeRunning, At: at(1)},
			{
				Seq:       2,
				Kind:      domain.EntrySubstep,
				Node:      "a",
				Visit:     1,
				Item:      -1,
				Attempt:   1,
				Substep:   1,
				Status:    domain.NodeCompleted,
				StartedAt: at(1),
				At:        at(2),
				Decision: domain.RawJSON(
					`{"kind":"model"}`,
				),
				Output: domain.RawJSON(`{"Model":"llama3"}`),
				Usage:  domain.Usage{InputTokens: 10, OutputTokens: 4, Cost: .5},
			},
			{
				Seq:       3,
				Kind:      domain.EntrySubstep,
				Node:      "a",
				Visit:     1,
				Item:      -1,
				Attempt:   1,
				Substep:   2,
				Status:    domain.NodeFailed,
				StartedAt: at(2),
				At:        at(3),
				Decision:  domain.RawJSON(`{"kind":"tool:http"}`),
				Failure:   &domain.Failure{Code: "timeout", Message: "no answer"},
			},
			{Seq: 4, Kind: domain.EntryWait, Node: "a", Visit: 1, Item: -1, Attempt: 1, Reason: string(domain.WaitRetry), At: at(3)},
			{
				Seq:       5,
				Kind:      domain.EntryResult,
				Node:      "a",
				Visit:     1,
				Item:      -1,
				Attempt:   2,
				Status:    domain.NodeCompleted,
				Final:     true,
				Agent:     "support",
				StartedAt: at(4),
				At:        at(5),
			},
		}},
		{Seq: 3, At: at(6), AuditRecord: record("run.status", `{"status":"completed"}`)},
	}
}

func scrape(t *testing.T, r *metric.Recorder) string {
	t.Helper()
	s := httptest.NewServer(r.Handler())
	defer s.Close()
	res, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	return string(text)
}

// The metrics include runs, nodes, checkpoints, queue, tokens, cost, HTTP, and the five planner
// metrics of the planner specification.
func TestEveryMetricIsServed(t *testing.T) {
	t.Parallel()
	r := metric.New(metric.Options{Version: "1.2.3"})
	source(r)
	r.Planned(30 * time.Millisecond)
	r.Planned(10 * time.Millisecond)
	r.HandleCommit(aRun("r1"))
	r.Batch(3, 2*time.Millisecond)
	r.Request("/runs/:run", "GET", 200, 5*time.Millisecond)
	r.Request("/runs/:run", "BREW", 404, 5*time.Millisecond)
	r.Request("", "GET", 401, 0)
	got := scrape(t, r)
	for _, want := range []string{
		"kairos_runs_created_total 1", `kairos_runs_ended_total{status="completed"} 1`, "kairos_run_duration_seconds_sum 6",
		`kairos_nodes_ended_total{status="completed"} 1`, "kairos_node_duration_seconds_sum 1", "kairos_retries_total 1",
		`kairos_calls_total{kind="model",status="completed"} 1`, `kairos_calls_total{kind="tool",status="failed"} 1`,
		`kairos_tokens_total{direction="input"} 10`, `kairos_tokens_total{direction="output"} 4`, "kairos_cost_total 0.5",
		"kairos_checkpoint_commit_seconds_sum 0.002", "kairos_checkpoint_batch_size_sum 3",
		`kairos_runs{status="failed"} 7`, `kairos_runs{status="queued"} 0`, "kairos_approvals_pending 1", "kairos_queue_depth 2",
		"kairos_queue_working 3", "kairos_queue_nodes 4",
		"kairos_queue_oldest_seconds 60", "kairos_listeners 5", `kairos_storage_bytes{part="database"} 1.048576e+06`,
		`kairos_circuits_open{kind="tool",name="http"} 2`, `kairos_circuits_opened_total{kind="tool",name="http"} 3`,
		`kairos_circuit_refused_calls_total{kind="tool",name="http"} 40`,
		`kairos_provider_calls_total{provider="local"} 9`, `kairos_provider_failures_total{provider="local"} 2`,
		`kairos_http_requests_total{method="GET",route="/runs/:run",status="2xx"} 1`,
		`kairos_http_requests_total{method="other",route="/runs/:run",status="4xx"} 1`,
		`kairos_http_requests_total{method="GET",route="none",status="4xx"} 1`,
		"planner_plans_created_count 2", "planner_planning_duration_ms_sum 40", "planner_plan_success_rate 1",
		"planner_average_steps_per_plan 3", "planner_confidence_score 0.7",
		`kairos_build_info{go="go`, "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestMetricsBeforeAnythingIsAttached(t *testing.T) {
	t.Parallel()
	r := metric.New(metric.Options{})
	if got := scrape(t, r); !strings.Contains(got, "kairos_runs_created_total 0") {
		t.Error(got)
	}
	if v, err := r.HealthMetrics(t.Context()); err != nil || len(v.Samples) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Percentiles, growth, and the time at which the disk is full are computed from a day of samples,
// one per minute.
func TestHealthMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := metric.New(metric.Options{})
		size, start := int64(1<<30), time.Now()
		r.Attach(metric.Source{
			Slots: func() (int, int) { return 64, 256 },
			Load:  func() metric.Load { return metric.Load{Working: 1} },
			Storage: func(context.Context) (domain.Storage, error) {
				grown := size + int64(time.Since(start)/time.Minute)<<20
				return domain.Storage{Database: grown, Free: 100 << 30, Disk: 200 << 30}, nil
			},
			Listeners: func() int { return 0 },
			Providers: func() []domain.ProviderInfo {
				return []domain.ProviderInfo{{State: "working"}, {State: "failing"}, {State: "working", Disabled: &domain.Disablement{}}}
			},
			Circuits: func() []domain.CircuitCount {
				return []domain.CircuitCount{{Kind: "tool", Name: "http", Open: 2}, {Kind: "provider", Name: "local", Open: 1}}
			},
			Clock: func() domain.Clock { return domain.Clock{Known: true, Within: domain.Millis(20 * time.Millisecond)} },
		})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { r.Run(ctx) })
		for i := range 100 {
			r.Batch(2, time.Duration(i+1)*time.Millisecond)
		}
		r.HandleCommit(aRun("r1"))
		time.Sleep(90 * time.Second)
		v, err := r.HealthMetrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		near := func(name string, got, want time.Duration) {
			if got < want*85/100 || got > want*115/100 {
				t.Errorf("%s is %s, want about %s", name, got, want)
			}
		}
		near("p50", v.Commits.P50.Duration(), 50*time.Millisecond)
		near("p95", v.Commits.P95.Duration(), 95*time.Millisecond)
		near("p99", v.Commits.P99.Duration(), 99*time.Millisecond)
		if len(v.Samples) != 1 || v.Samples[0].Nodes != 1 || v.Samples[0].Created != 1 || v.Samples[0].Ended != 1 ||
			v.Commits.PerMinute != 100 || v.Commits.Writes != 200 || !v.FullAt.IsZero() ||
			v.Samples[0].Providers != 2 ||
			v.Samples[0].Circuits != 2 ||
			v.Samples[0].Clock.Duration() != 20*time.Millisecond {
			t.Errorf("after a minute: %+v", v)
		}
		time.Sleep(10 * time.Minute)
		if v, err = r.HealthMetrics(t.Context()); err != nil || v.Commits.P95 != 0 {
			t.Errorf("percentiles are of the last five minutes: %+v, %v", v.Commits, err)
		}
		time.Sleep(30 * time.Hour)
		if v, err = r.HealthMetrics(t.Context()); err != nil || len(v.Samples) != 24*60 {
			t.Fatalf("%d samples, %v", len(v.Samples), err)
		}
		if mib := v.GrowthPerDay >> 20; mib < 1430 || mib > 1450 {
			t.Errorf("it grows by %d MiB a day", mib)
		}
		near("full in", v.FullAt.Sub(v.At), time.Duration(100<<10)*time.Minute)
		cancel()
		done.Wait()
	})
}

// collector records the data that is sent over OTLP.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   map[string]*tracepb.Span // by name
	metrics map[string]bool
}

func collect(t *testing.T) *collector {
	c := &collector{spans: map[string]*tracepb.Span{}, metrics: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(z)
		if err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Error(err, r.Header)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/traces") {
			var req coltrace.ExportTraceServiceRequest
			if err := protojson.Unmarshal(body, &req); err != nil {
				t.Error(err)
			}
			for _, rs := range req.ResourceSpans {
				for _, ss := range rs.ScopeSpans {
					for _, span := range ss.Spans {
						c.spans[span.Name] = span
					}
				}
			}
			return
		}
		var req colmetrics.ExportMetricsServiceRequest
		if err := protojson.Unmarshal(body, &req); err != nil {
			t.Error(err)
		}
		for _, rm := range req.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, m := range sm.Metrics {
					c.metrics[m.Name] = true
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// A run is one trace, run → node → model and tool call, with the attributes of the GenAI
// conventions. A daemon that sends a run again, for example after a crash, sends the same spans.
func TestTracesAndMetricsOverOTLP(t *testing.T) {
	send := func() *collector {
		c := collect(t)
		r := metric.New(metric.Options{Version: "1"})
		source(r)
		stop, err := r.Export(t.Context(), metric.Telemetry{Endpoint: c.URL})
		if err != nil {
			t.Fatal(err)
		}
		r.HandleCommit(aRun("r1"))
		if err := stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := send(), send()
	for _, want := range []string{"kairos_runs_created_total", "planner.plan_success_rate", "kairos_runs"} {
		if !first.metrics[want] {
			t.Errorf("no metric %s", want)
		}
	}
	for _, want := range []struct {
		name, parent string
		seconds      int
		attributes   map[string]string
	}{
		{"run invoice", "", 6, map[string]string{"kairos.run.id": "r1", "kairos.run.status": "completed"}},
		{"node a", "run invoice", 1, map[string]string{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}},
		{"chat llama3", "node a 1", 1, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.response.model": "llama3",
			"gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": "4"}},
		{"execute_tool http", "node a 1", 1, map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "http",
			"error.type": "timeout"}},
	} {
		span, again := first.spans[want.name], second.spans[want.name]
		if span == nil || again == nil {
			t.Errorf("no span %q", want.name)
			continue
		}
		if !bytes.Equal(span.SpanId, again.SpanId) || !bytes.Equal(span.TraceId, again.TraceId) ||
			!bytes.Equal(span.TraceId, first.spans["run invoice"].TraceId) {
			t.Errorf("%s: the ids differ", want.name)
		}
		if parent := first.spans[want.parent]; parent != nil && !bytes.Equal(span.ParentSpanId, parent.SpanId) ||
			want.parent == "" && len(span.ParentSpanId) > 0 {
			t.Errorf("%s has the parent %x", want.name, span.ParentSpanId)
		}
		if took := time.Duration(span.EndTimeUnixNano - span.StartTimeUnixNano); took != time.Duration(want.seconds)*time.Second {
			t.Errorf("%s took %s", want.name, took)
		}
		got := map[string]string{}
		for _, a := range span.Attributes {
			if got[a.Key] = a.Value.GetStringValue(); got[a.Key] == "" {
				got[a.Key] = fmt.Sprint(a.Value.GetIntValue())
			}
		}
		for k, v := range want.attributes {
			if got[k] != v {
				t.Errorf("%s: %s is %q, want %q", want.name, k, got[k], v)
			}
		}
	}
	// The calls belong to the first attempt, which a crash interrupted. Its span was never sent,
	// but the spans of its calls refer to it.
	if a, b := first.spans["chat llama3"], first.spans["execute_tool http"]; a != nil && b != nil &&
		!bytes.Equal(a.ParentSpanId, b.ParentSpanId) {
		t.Error("calls of one attempt have different parents")
	}
}

func TestTelemetryIsOffByDefault(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	r := metric.New(metric.Options{})
	stop, err := r.Export(t.Context(), metric.Telemetry{})
	if err != nil {
		t.Fatal(err)
	}
	r.HandleCommit(aRun("r1"))
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func BenchmarkHandleCommit(b *testing.B) {
	r := metric.New(metric.Options{})
	events := aRun("r1")[1:2]
	events[0].Entries = events[0].Entries[4:]
	b.ReportAllocs()
	for b.Loop() {
		r.HandleCommit(events)
	}
}
