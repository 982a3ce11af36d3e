package otlp

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Metrics sends metrics. It implements the SDK's Exporter.
type Metrics struct{ Target Target }

// Temporality returns cumulative, because all counters are cumulative.
func (Metrics) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation returns the SDK's default.
func (Metrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export sends collected metrics.
func (t Metrics) Export(ctx context.Context, r *metricdata.ResourceMetrics) error {
	var scopes list
	for _, s := range r.ScopeMetrics {
		var metrics list
		for _, m := range s.Metrics {
			if data := dataOf(m.Data); data != nil {
				data["name"], data["description"], data["unit"] = m.Name, m.Description, m.Unit
				metrics = append(metrics, data)
			}
		}
		if len(metrics) > 0 {
			scopes = append(scopes, message{"scope": message{"name": s.Scope.Name}, "metrics": metrics})
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	return t.Target.post(ctx, message{"resourceMetrics": list{message{"resource": resourceOf(r.Resource), "scopeMetrics": scopes}}})
}

// ForceFlush does nothing.
func (Metrics) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing.
func (Metrics) Shutdown(context.Context) error { return nil }

const cumulative = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE

// dataOf returns the data of a metric. It returns nil for kinds that kairosd does not use.
func dataOf(data metricdata.Aggregation) message {
	switch d := data.(type) {
	case metricdata.Gauge[float64]:
		return message{"gauge": message{"dataPoints": numbers(d.DataPoints)}}
	case metricdata.Gauge[int64]:
		return message{"gauge": message{"dataPoints": numbers(d.DataPoints)}}
	case metricdata.Sum[float64]:
		return message{"sum": message{"aggregationTemporality": cumulative, "isMonotonic": d.IsMonotonic,
			"dataPoints": numbers(d.DataPoints)}}
	case metricdata.Sum[int64]:
		return message{"sum": message{"aggregationTemporality": cumulative, "isMonotonic": d.IsMonotonic,
			"dataPoints": numbers(d.DataPoints)}}
	case metricdata.Histogram[float64]:
		points := make(list, 0, len(d.DataPoints))
		for _, p := range d.DataPoints {
			counts, bounds := make(list, 0, len(p.BucketCounts)), make(list, 0, len(p.Bounds))
			for _, n := range p.BucketCounts {
				counts = append(counts, count(n))
			}
			for _, b := range p.Bounds {
				bounds = append(bounds, double(b))
			}
			points = append(points, message{"attributes": attributes(p.Attributes.ToSlice()),
				"startTimeUnixNano": nanos(p.StartTime), "timeUnixNano": nanos(p.Time),
				"count": count(p.Count), "sum": double(p.Sum), "bucketCounts": counts, "explicitBounds": bounds})
		}
		return message{"histogram": message{"aggregationTemporality": cumulative, "dataPoints": points}}
	case metricdata.Summary:
		points := make(list, 0, len(d.DataPoints))
		for _, p := range d.DataPoints {
			quantiles := make(list, 0, len(p.QuantileValues))
			for _, q := range p.QuantileValues {
				quantiles = append(quantiles, message{"quantile": double(q.Quantile), "value": double(q.Value)})
			}
			points = append(points, message{"attributes": attributes(p.Attributes.ToSlice()),
				"startTimeUnixNano": nanos(p.StartTime), "timeUnixNano": nanos(p.Time),
				"count": count(p.Count), "sum": double(p.Sum), "quantileValues": quantiles})
		}
		return message{"summary": message{"dataPoints": points}}
	}
	return nil
}

func numbers[N int64 | float64](points []metricdata.DataPoint[N]) list {
	out := make(list, 0, len(points))
	for _, p := range points {
		out = append(
			out,
			message{
				"attributes":        attributes(p.Attributes.ToSlice()),
				"startTimeUnixNano": nanos(p.StartTime),
				"timeUnixNano":      nanos(p.Time),
				"asDouble":          double(float64(p.Value)),
			},
		)
	}
	return out
}
