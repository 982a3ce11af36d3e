package metric

import (
	"context"
	"errors"
	"time"

	prombridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kairosd/kairosd/internal/metric/otlp"
)

// Telemetry configures where traces and metrics are sent over OTLP (HTTP, JSON). Both are off
// without an endpoint. Without a setting here, the standard variables apply:
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, and their forms for traces and metrics.
type Telemetry struct {
	// Endpoint is the URL of a collector, such as http://127.0.0.1:4318.
	Endpoint string `yaml:"otlp_endpoint"`
	// Every is the interval at which metrics are sent. The default is 60 s.
	Every time.Duration `yaml:"every"`
	// Traces and Metrics, if false, disable one of the signals.
	Traces  *bool `yaml:"traces"`
	Metrics *bool `yaml:"metrics"`
}

func resourceOf(version string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", "kairosd"), attribute.String("service.version", version))
}

// Export starts to send metrics. stop sends the rest within the time of its context. An unreachable
// collector is retried, and never delays a run.
func (r *Recorder) Export(ctx context.Context, t Telemetry) (stop func(context.Context) error, err error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { r.o.Logger.Warn("send traces and metrics", "err", err) }))
	var stops []func(context.Context) error
	stop = func(ctx context.Context) error {
		var errs []error
		for _, f := range stops {
			errs = append(errs, f(ctx))
		}
		return errors.Join(errs...)
	}
	wanted := func(b *bool) bool { return b == nil || *b }
	to, ok, err := otlp.TargetOf(t.Endpoint, "traces")
	if err != nil {
		return nil, err
	}
	if ok && wanted(t.Traces) {
		stops = append(stops, r.trace(otlp.Traces{Target: to}))
	}
	if to, ok, err = otlp.TargetOf(t.Endpoint, "metrics"); err != nil {
		return nil, errors.Join(err, stop(ctx))
	}
	if ok && wanted(t.Metrics) {
		o := []sdkmetric.PeriodicReaderOption{sdkmetric.WithProducer(prombridge.NewMetricProducer(prombridge.WithGatherer(r.registry)))}
		if t.Every > 0 {
			o = append(o, sdkmetric.WithInterval(t.Every))
		}
		provider := sdkmetric.NewMeterProvider(
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(otlp.Metrics{Target: to}, o...)),
			sdkmetric.WithResource(resourceOf(r.o.Version)),
		)
		stops = append(stops, provider.Shutdown)
	}
	return stop, nil
}

// trace sends spans to an exporter. Call it before the first commit.
func (r *Recorder) trace(exporter sdktrace.SpanExporter, batch ...sdktrace.BatchSpanProcessorOption) (stop func(context.Context) error) {
	t, provider := newTracer(r, exporter, batch...)
	r.tracer = t
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { t.run(ctx); close(done) }()
	return func(ctx context.Context) error {
		cancel()
		<-done
		return provider.Shutdown(ctx)
	}
}
