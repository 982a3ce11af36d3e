package otlp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kairosd/kairosd/internal/metric/otlp"
)

var spans = tracetest.SpanStubs{{Name: "a"}}.Snapshots()

func exporter(t *testing.T, answer http.HandlerFunc) otlp.Traces {
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	to, ok, err := otlp.TargetOf(s.URL+"/", "traces")
	if err != nil || !ok || to.URL != s.URL+"/v1/traces" {
		t.Fatalf("%+v %v %v", to, ok, err)
	}
	return otlp.Traces{Target: to}
}

// A request to an overloaded collector is retried after the time that it requests. A refusal is
// not retried, and its message is the error.
func TestOnlyTemporaryErrorsAreRetried(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := exporter(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if err := e.ExportSpans(t.Context(), spans); err != nil || calls.Load() != 2 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	calls.Store(0)
	e = exporter(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		http.Error(w, "no such tenant", http.StatusBadRequest)
	})
	if err := e.ExportSpans(t.Context(), spans); err == nil || !strings.Contains(err.Error(), "no such tenant") || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	if err := e.ExportSpans(t.Context(), []trace.ReadOnlySpan{}); err != nil || calls.Load() != 1 {
		t.Errorf("nothing was sent: %v", err)
	}
}

func TestTargetsFromTheStandardVariables(t *testing.T) {
	for _, v := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"} {
		t.Setenv(v, "")
	}
	if _, ok, err := otlp.TargetOf("", "traces"); ok || err != nil {
		t.Errorf("none: %v %v", ok, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/base/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, b=c")
	to, ok, err := otlp.TargetOf("", "metrics")
	if err != nil || !ok || to.URL != "http://c:4318/base/v1/metrics" || to.Headers["authorization"] != "Bearer x" ||
		to.Headers["b"] != "c" {
		t.Errorf("%+v %v %v", to, ok, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/own")
	if to, _, err := otlp.TargetOf("", "traces"); err != nil || to.URL != "https://t/own" {
		t.Errorf("%+v %v", to, err)
	}
	if to, _, err := otlp.TargetOf("http://mine:1", "traces"); err != nil || to.URL != "http://mine:1/v1/traces" {
		t.Errorf("the configuration goes first: %+v %v", to, err)
	}
	for _, bad := range []string{"c:4318", "ftp://c", "http://"} {
		if _, ok, err := otlp.TargetOf(bad, "traces"); err == nil || ok {
			t.Errorf("%q is taken", bad)
		}
	}
}
