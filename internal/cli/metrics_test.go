package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A scraper reads the metrics of a daemon with a token that permits nothing else. Without a token,
// it gets nothing.
func TestMetricsOfADaemon(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	d := serve(t, data)
	run := d.start(t, "id: count\nnodes: {a: {type: set, input: 1}}")
	if _, err := d.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	token, errs, code := runKairosd("token", "create", "--data", data, "--role", "viewer", "--scope", "metrics", "--name", "prometheus")
	if code != 0 {
		t.Fatal(errs)
	}
	ask := func(path, token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if code, _ := ask("/metrics", ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := ask("/api/v1/runs", token); code != http.StatusForbidden {
		t.Errorf("runs with a token for metrics: %d", code)
	}
	for _, path := range []string{"/metrics", "/api/v1/metrics"} {
		code, body := ask(path, token)
		for _, want := range []string{"kairos_runs_created_total 1", `kairos_runs{status="completed"} 1`,
			`kairos_nodes_ended_total{status="completed"} 1`, `kairos_http_requests_total{method="GET",route="none",status="4xx"} 1`} {
			if code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: %d, without %s", path, code, want)
			}
		}
	}
	all, errs, code := runKairosd("token", "create", "--data", data, "--role", "viewer", "--name", "all")
	if code != 0 {
		t.Fatal(errs)
	}
	status, body := ask("/api/v1/system/metrics-history", all)
	var v domain.HealthMetrics
	if err := json.Unmarshal([]byte(body), &v); err != nil || status != http.StatusOK || v.Slots != 64 || v.NodeSlots != 256 ||
		v.Commits.P50 <= 0 ||
		v.Goroutines == 0 {
		t.Errorf("vitals: %d %s, %v", status, body, err)
	}
	i, err := d.Server(t.Context())
	if err != nil || i.Starts != 1 || i.UncleanStarts != 0 {
		t.Errorf("starts: %+v, %v", i, err)
	}
	if d.end(t) != 0 {
		t.Error(d.log)
	}
	if i, err := serve(t, data).Server(t.Context()); err != nil || i.Starts != 2 || i.UncleanStarts != 0 {
		t.Errorf("after a restart: %d starts, %d unclean, %v", i.Starts, i.UncleanStarts, err)
	}
}
