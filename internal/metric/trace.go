package metric

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/kairosd/kairosd/internal/domain"
)

// Attributes of the GenAI semantic conventions, which are still in development
// and no longer part of the SDK:
// https://opentelemetry.io/docs/specs/semconv/gen-ai/
const (
	genOperation    = "gen_ai.operation.name"
	genAgent        = "gen_ai.agent.name"
	genModel        = "gen_ai.response.model"
	genTool         = "gen_ai.tool.name"
	genInputTokens  = "gen_ai.usage.input_tokens"
	genOutputTokens = "gen_ai.usage.output_tokens"
)

// tracer creates spans from committed rows: run → node → model or tool call. Ids are derived from
// the run and the row. Therefore a run that survived a crash, or ran in several daemons, is one
// trace, and a span that is sent twice is the same span.
type tracer struct {
	r       *Recorder
	otel    trace.Tracer
	rows    chan []domain.AuditEvent
	dropped prometheus.Counter
}

// traceQueue is the maximum number of commits that wait for their spans.
const traceQueue = 1024

func newTracer(
	r *Recorder,
	exporter sdktrace.SpanExporter,
	batch ...sdktrace.BatchSpanProcessorOption,
) (*tracer, *sdktrace.TracerProvider) {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, batch...),
		sdktrace.WithIDGenerator(derivedIDs{}),
		sdktrace.WithResource(resourceOf(r.o.Version)),
	)
	t := &tracer{r: r, otel: provider.Tracer("github.com/kairosd/kairosd"), rows: make(chan []domain.AuditEvent, traceQueue),
		dropped: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "kairos_trace_commits_dropped_total",
				Help: "Commits without spans, because too many were waiting.",
			},
		)}
	r.registry.MustRegister(t.dropped)
	return t, provider
}

// offer queues a commit if there is space. A slow collector loses spans, but never delays a
// checkpoint.
func (t *tracer) offer(events []domain.AuditEvent) {
	var mine []domain.AuditEvent
	for i := range events {
		if ev := &events[i]; ev.Run != "" && (len(ev.Entries) > 0 || ev.Action == "run.status") {
			mine = append(mine, *ev)
		}
	}
	if len(mine) == 0 {
		return
	}
	select {
	case t.rows <- mine:
	default:
		t.dropped.Inc()
	}
}

// run creates spans until the context ends, and then for the queued commits.
func (t *tracer) run(ctx context.Context) {
	for {
		select {
		case events := <-t.rows:
			t.spans(events)
		case <-ctx.Done():
			for {
				select {
				case events := <-t.rows:
					t.spans(events)
				default:
					return
				}
			}
		}
	}
}

func (t *tracer) spans(events []domain.AuditEvent) {
	for i := range events {
		ev := &events[i]
		for j := range ev.Entries {
			switch e := &ev.Entries[j]; e.Kind {
			case domain.EntryResult:
				t.node(ev.Run, e)
			case domain.EntrySubstep:
				t.call(ev.Run, e)
			}
		}
		if ev.Action == "run.status" {
			t.ended(ev)
		}
	}
}

// node returns the span of an attempt.
func (t *tracer) node(run string, e *domain.Entry) {
	if e.StartedAt.IsZero() || e.Status == domain.NodePending {
		return // it never ran, or will run again
	}
	ctx := withIDs(under(run, rootOf(run)), run, spanOf(run, e.Node, e.Visit, e.Item, e.Attempt, 0))
	attrs := []attribute.KeyValue{
		attribute.String("kairos.run.id", run),
		attribute.String("kairos.node.id", e.Node),
		attribute.String("kairos.node.status", string(e.Status)),
		attribute.Int("kairos.visit", e.Visit),
		attribute.Int("kairos.attempt", e.Attempt),
	}
	if e.Item >= 0 {
		attrs = append(attrs, attribute.Int("kairos.item", e.Item))
	}
	if e.Agent != "" {
		attrs = append(attrs, attribute.String(genOperation, "invoke_agent"), attribute.String(genAgent, e.Agent))
	}
	t.emit(ctx, "node "+e.Node, e, append(attrs, usage(e.Usage)...))
}

// call returns the span of a model call or tool call inside an attempt.
func (t *tracer) call(run string, e *domain.Entry) {
	kind := callOf(e)
	attrs := []attribute.KeyValue{
		attribute.String("kairos.run.id", run),
		attribute.String("kairos.node.id", e.Node),
		attribute.Int("kairos.substep", e.Substep),
	}
	name := cmp.Or(kind, "step")
	switch tool, is := strings.CutPrefix(kind, "tool:"); {
	case kind == "model":
		name = "chat"
		attrs = append(attrs, attribute.String(genOperation, "chat"))
		var answer struct{ Model string }
		if json.Unmarshal(e.Output, &answer) == nil && answer.Model != "" {
			name += " " + answer.Model
			attrs = append(attrs, attribute.String(genModel, answer.Model))
		}
	case is:
		name = "execute_tool " + tool
		attrs = append(attrs, attribute.String(genOperation, "execute_tool"), attribute.String(genTool, tool))
	}
	ctx := withIDs(
		under(run, spanOf(run, e.Node, e.Visit, e.Item, e.Attempt, 0)),
		run,
		spanOf(run, e.Node, e.Visit, e.Item, e.Attempt, e.Substep),
	)
	t.emit(ctx, name, e, append(attrs, usage(e.Usage)...))
}

func (t *tracer) emit(ctx context.Context, name string, e *domain.Entry, attrs []attribute.KeyValue) {
	start := e.StartedAt
	if start.IsZero() {
		start = e.At
	}
	_, span := t.otel.Start(ctx, name, trace.WithTimestamp(start), trace.WithAttributes(attrs...))
	fail(span, e.Failure)
	span.End(trace.WithTimestamp(e.At))
}

// ended creates the span of a whole run when it is final. A run that is resumed and ends again
// sends its span again.
func (t *tracer) ended(ev *domain.AuditEvent) {
	var d struct {
		Status domain.RunStatus `json:"status"`
	}
	if json.Unmarshal(ev.Detail, &d) != nil || !d.Status.Final() {
		return
	}
	s := t.r.from()
	if s.Run == nil {
		return
	}
	r, err := s.Run(context.Background(), ev.Run)
	if err != nil {
		t.r.o.Logger.Error("read a run for its trace", "run_id", ev.Run, "err", err)
		return
	}
	ctx := withIDs(context.Background(), ev.Run, rootOf(ev.Run))
	attrs := []attribute.KeyValue{
		attribute.String("kairos.run.id", r.ID),
		attribute.String("kairos.plan", r.PlanKey),
		attribute.Int("kairos.plan.version", r.Version),
		attribute.String("kairos.run.status", string(r.Status)),
		attribute.Int("kairos.run.crashes", r.Crashes),
	}
	_, span := t.otel.Start(
		ctx,
		"run "+r.PlanKey,
		trace.WithNewRoot(),
		trace.WithTimestamp(r.CreatedAt),
		trace.WithAttributes(append(attrs, usage(r.Usage)...)...),
	)
	if r.Error != nil {
		span.SetStatus(codes.Error, r.Error.Message)
	}
	span.End(trace.WithTimestamp(ev.At))
}

func usage(u domain.Usage) []attribute.KeyValue {
	if u.Zero() {
		return nil
	}
	return []attribute.KeyValue{
		attribute.Int64(genInputTokens, u.InputTokens),
		attribute.Int64(genOutputTokens, u.OutputTokens),
		attribute.Float64("kairos.cost", u.Cost),
	}
}

func fail(span trace.Span, f *domain.Failure) {
	if f == nil {
		return
	}
	span.SetStatus(codes.Error, f.Message)
	span.SetAttributes(attribute.String("error.type", f.Code))
}

// traceOf and rootOf derive the trace ID of a run and the ID of its root span.
func traceOf(run string) trace.TraceID { return domain.TraceOf(run) }

func rootOf(run string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("run\x00" + run))
	copy(id[:], sum[:])
	return id
}

func spanOf(run, node string, visit, item, attempt, substep int) (id trace.SpanID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "span\x00%s\x00%s\x00%d\x00%d\x00%d\x00%d", run, node, visit, item, attempt, substep))
	copy(id[:], sum[:])
	return id
}

// under makes spans children of another span of the run.
func under(run string, parent trace.SpanID) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(),
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceOf(run), SpanID: parent, TraceFlags: trace.FlagsSampled, Remote: true}))
}

type idsKey struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

func withIDs(ctx context.Context, run string, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, ids{traceOf(run), span})
}

// derivedIDs returns the ids in the context of a span.
type derivedIDs struct{}

func (derivedIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	i, _ := ctx.Value(idsKey{}).(ids)
	return i.trace, i.span
}

func (derivedIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	i, _ := ctx.Value(idsKey{}).(ids)
	return i.span
}
