package otlp

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Traces sends spans. It implements the SDK's SpanExporter.
type Traces struct{ Target Target }

// ExportSpans sends spans of one resource.
func (t Traces) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	out := make(list, 0, len(spans))
	for _, s := range spans {
		out = append(out, spanOf(s))
	}
	first := spans[0]
	return t.Target.post(ctx, message{"resourceSpans": list{message{
		"resource":   resourceOf(first.Resource()),
		"scopeSpans": list{message{"scope": message{"name": first.InstrumentationScope().Name}, "spans": out}},
	}}})
}

// Shutdown does nothing.
func (Traces) Shutdown(context.Context) error { return nil }

func spanOf(s sdktrace.ReadOnlySpan) message {
	id := s.SpanContext()
	const internal = 1 // SPAN_KIND_INTERNAL
	m := message{"traceId": id.TraceID().String(), "spanId": id.SpanID().String(), "name": s.Name(), "kind": internal,
		"startTimeUnixNano": nanos(s.StartTime()), "endTimeUnixNano": nanos(s.EndTime()), "attributes": attributes(s.Attributes())}
	if p := s.Parent(); p.HasSpanID() {
		m["parentSpanId"] = p.SpanID().String()
	}
	const statusOK, statusError = 1, 2
	switch s.Status().Code {
	case codes.Error:
		m["status"] = message{"code": statusError, "message": s.Status().Description}
	case codes.Ok:
		m["status"] = message{"code": statusOK}
	}
	return m
}
