package metric

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	prombridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Telemetry says where traces and metrics are sent over OTLP (HTTP, protobuf).
// Both are off while it names no endpoint. The standard variables
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS and their forms for
// traces and metrics hold where the configuration is silent.
type Telemetry struct {
	// Endpoint is the URL of a collector, as http://127.0.0.1:4318.
	Endpoint string `yaml:"otlp_endpoint"`
	// Every is how often metrics are sent; default 60 s.
	Every time.Duration `yaml:"every"`
	// Traces and Metrics switch one of them off.
	Traces  *bool `yaml:"traces"`
	Metrics *bool `yaml:"metrics"`
}

func resourceOf(version string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", "kairosd"), attribute.String("service.version", version))
}

// given reports whether a signal has somewhere to go.
func (t Telemetry) given(wanted *bool, signal string) bool {
	if wanted != nil && !*wanted {
		return false
	}
	return t.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// Export starts sending what is measured. stop sends the rest, within the time
// its context has. A collector that is away is tried again, and never slows a run.
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
	if t.given(t.Traces, "TRACES") {
		var o []otlptracehttp.Option
		if t.Endpoint != "" {
			o = append(o, otlptracehttp.WithEndpointURL(t.Endpoint+"/v1/traces"))
		}
		exporter, err := otlptracehttp.New(ctx, o...)
		if err != nil {
			return nil, fmt.Errorf("export traces to %s: %w", t.Endpoint, err)
		}
		stops = append(stops, r.trace(exporter))
	}
	if t.given(t.Metrics, "METRICS") {
		var o []otlpmetrichttp.Option
		if t.Endpoint != "" {
			o = append(o, otlpmetrichttp.WithEndpointURL(t.Endpoint+"/v1/metrics"))
		}
		exporter, err := otlpmetrichttp.New(ctx, o...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("export metrics to %s: %w", t.Endpoint, err), stop(ctx))
		}
		ro := []sdkmetric.PeriodicReaderOption{sdkmetric.WithProducer(prombridge.NewMetricProducer(prombridge.WithGatherer(r.registry)))}
		if t.Every > 0 {
			ro = append(ro, sdkmetric.WithInterval(t.Every))
		}
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, ro...)), sdkmetric.WithResource(resourceOf(r.o.Version)))
		stops = append(stops, provider.Shutdown)
	}
	return stop, nil
}

// trace sends spans to an exporter. It is called before the first commit.
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
