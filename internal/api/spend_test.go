package api_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/planner/walk"
)

// Spend is returned by plan, agent, model, and label, per period, in pages, and as CSV.
func TestSpend(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if a := s.ask(t, "viewer", "GET /spend", ""); a.status != 200 || len(a.json["items"].([]any)) != 0 {
		t.Fatalf("without calls: %d %s", a.status, a.text)
	}
	s.world.Engine.Registry.Handle("call", walk.EffectRead, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		in := c.Input.(map[string]any)
		cost, err := in["cost"].(json.Number).Float64()
		return engine.Result{Output: map[string]any{"model": in["model"]}, Agent: in["agent"].(string),
			Usage: domain.Usage{InputTokens: 10, OutputTokens: 5, Cost: cost}}, err
	})
	for _, plan := range []string{
		"{id: alpha, labels: {team: ops, env: prod}, nodes: {a: {type: call, input: {agent: clerk, model: large, cost: 3}}, " +
			"b: {type: call, needs: [a], input: {agent: writer, model: small, cost: 1}}}}",
		"{id: beta, nodes: {a: {type: call, input: {agent: clerk, model: small, cost: 1.5}}}}",
	} {
		s.world.Engine.Settle(s.world.Engine.Run(plan, "").ID)
	}
	names := func(query, field string) string {
		a := s.ask(t, "viewer", "GET /spend"+query, "")
		if a.status != 200 {
			t.Fatalf("%s: %d %s", query, a.status, a.text)
		}
		var out []string
		for _, item := range a.json["items"].([]any) {
			name, _ := item.(map[string]any)[field].(string)
			out = append(out, name)
		}
		return strings.Join(out, " ")
	}
	for query, want := range map[string][2]string{
		"":                                {"plan", "alpha beta"},
		"?by=agent":                       {"agent", "clerk writer"},
		"?by=model&since=24h":             {"model", "large small"},
		"?by=plan,model":                  {"model", "large small small"},
		"?by=plan&limit=1":                {"plan", "alpha"},
		"?by=plan&filter=plan:beta":       {"plan", "beta"},
		"?by=agent&period=day":            {"agent", "clerk writer"},
		"?since=2190-01-01T00:00:00Z":     {"plan", ""},
		"?by=agent&since=24h&format=json": {"agent", "clerk writer"},
		"?by=plan&period=month":           {"plan", "alpha beta"},
		"?by=plan&since=400d":             {"plan", "alpha beta"},
		"?by=label":                       {"label", "env=prod team=ops"},
		"?by=label&label=team":            {"label", "team=ops "},
		"?by=label,plan&label=team":       {"plan", "alpha beta"},
		"?by=label&label=color":           {"label", ""},
	} {
		if got := names(query, want[0]); got != want[1] {
			t.Errorf("%s: %q, want %q", query, got, want[1])
		}
	}
	for _, a := range []answer{
		s.ask(t, "viewer", "GET /spend?by=model&format=csv", ""),
		s.ask(t, "viewer", "GET /spend?by=model", "", "Accept: text/csv"),
	} {
		rows, err := csv.NewReader(strings.NewReader(a.text)).ReadAll()
		if err != nil || len(rows) != 3 || strings.Join(rows[0], " ") != "from model calls input_tokens output_tokens cost" ||
			strings.Join(rows[1][1:], " ") != "large 1 10 5 3.000000" || a.header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("%d %v %s: %v\n%s", a.status, err, a.header.Get("Content-Type"), rows, a.text)
		}
	}
	for _, query := range []string{"?by=run", "?label=team", "?period=week", "?since=yesterday", "?format=xml"} {
		if a := s.ask(t, "viewer", "GET /spend"+query, ""); a.status != 400 && a.status != 422 {
			t.Errorf("%s: %d %s", query, a.status, a.text)
		}
	}
}
