// Package otlp sends spans and metrics of the OpenTelemetry SDK to a collector, in the JSON
// encoding of OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp, and the JSON
// mapping of its messages). The SDK's own exporters depend on gRPC, which would make the binary
// half as large again.
package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Target is the destination of one signal.
type Target struct {
	URL     string
	Headers map[string]string
}

// TargetOf returns the destination of a signal ("traces" or "metrics"): the given endpoint, or that
// of the standard variables. It returns false if there is none.
func TargetOf(endpoint, signal string) (Target, bool, error) {
	t := Target{Headers: map[string]string{}}
	upper := strings.ToUpper(signal)
	base, path := cmp.Or(endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")), "v1/"+signal
	if own := os.Getenv("OTEL_EXPORTER_OTLP_" + upper + "_ENDPOINT"); endpoint == "" && own != "" {
		base, path = own, "" // a complete URL
	}
	if base == "" {
		return t, false, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return t, false, fmt.Errorf("invalid collector address %q; example: http://127.0.0.1:4318", base)
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	t.URL = u.String()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_" + upper + "_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			k, v, ok := strings.Cut(pair, "=")
			if !ok {
				continue
			}
			if text, err := url.PathUnescape(strings.TrimSpace(v)); err == nil {
				t.Headers[strings.TrimSpace(k)] = text
			}
		}
	}
	return t, true, nil
}

const (
	tries    = 3
	firstGap = time.Second
	maxGap   = 30 * time.Second
)

var client = &http.Client{Timeout: 10 * time.Second}

// post sends a message, and retries when the collector reports a temporary failure.
func (t Target) post(ctx context.Context, message any) error {
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if err := json.NewEncoder(z).Encode(message); err != nil {
		return fmt.Errorf("encode for the collector: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("encode for the collector: %w", err)
	}
	var last error
	for gap := firstGap; ; gap *= 2 {
		again, after, err := t.once(ctx, body.Bytes())
		if err == nil {
			return nil
		}
		if last = err; !again || gap >= firstGap<<(tries-1) {
			return last
		}
		wait := time.NewTimer(min(max(gap, after), maxGap))
		select {
		case <-ctx.Done():
			wait.Stop()
			return last
		case <-wait.C:
		}
	}
}

func (t Target) once(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	for k, v := range t.Headers {
		req.Header.Set(k, v)
	}
	res, err := client.Do(req)
	if err != nil {
		return true, 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	switch {
	case err != nil:
		return true, 0, err
	case res.StatusCode < 300:
		return false, 0, nil
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 502 && res.StatusCode <= 504:
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
			after = time.Duration(s) * time.Second
		}
		again = true
	}
	return again, after, fmt.Errorf("the collector at %s returned %s: %s", t.URL, res.Status, bytes.TrimSpace(text))
}

// The used parts of the OTLP messages. In JSON, 64-bit integers are text, ids are hexadecimal, and
// enumerations are numbers.
type (
	message map[string]any
	list    []any
)

func resourceOf(r *resource.Resource) message {
	return message{"attributes": attributes(r.Attributes())}
}

func attributes(in []attribute.KeyValue) list {
	out := make(list, 0, len(in))
	for _, kv := range in {
		out = append(out, message{"key": string(kv.Key), "value": value(kv.Value)})
	}
	return out
}

func value(v attribute.Value) message {
	switch v.Type() {
	case attribute.BOOL:
		return message{"boolValue": v.AsBool()}
	case attribute.INT64:
		return message{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return message{"doubleValue": double(v.AsFloat64())}
	}
	return message{"stringValue": v.String()}
}

// double is a number, or its name if JSON cannot represent it.
func double(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}

func nanos(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func count(n uint64) string { return strconv.FormatUint(n, 10) }
