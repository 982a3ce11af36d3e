package handler_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
)

// execute stores a plan, runs it with a real engine and database until it ends or waits, and
// returns the run and its result.
func execute(t *testing.T, c tool.Config, plan, input string) domain.Run {
	t.Helper()
	set, err := tool.Builtin(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Store: storetest.Open(t), Registry: handler.New(set)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.Open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	author := domain.Actor{Name: "ana", Role: domain.RoleAuthor, Source: "cli"}
	_, version, _, problems, err := e.SavePlan(ctx, author, []byte(plan), planner.FormatYAML, "api", "")
	if err != nil {
		t.Fatalf("%v: %v", err, problems)
	}
	run, err := e.Start(ctx, author, domain.StartRequest{Hash: version.Hash, Input: domain.RawJSON(input)})
	if err != nil {
		t.Fatal(err)
	}
	run, err = e.WaitFor(ctx, run.ID, func(r domain.Run) bool {
		return r.Status.Final() || r.Status == domain.RunWaiting && r.WaitReason == domain.WaitInDoubt
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A plan answers "Cual fue el total de ventas en Q4 por region?" from a real file.
func TestRunAnswersAQuestionFromAFile(t *testing.T) {
	t.Parallel()
	run := execute(t, tool.Config{Files: tool.FilesConfig{Roots: []string{"../tool/testdata"}}}, `
nodes:
  sales: {type: csv, input: {file: sales.csv, filter: {quarter: "${input.quarter}"}, group_by: [region], aggregate: {total: sum(net_sales)}, sort: [-total]}}
  costs: {type: csv, input: {file: costs.csv, aggregate: {total: sum(amount)}}}
  regions: {type: json, needs: [sales], input: {value: "${output.sales.rows}", path: "$[*].total"}}
  result:
    type: calculator
    needs: [regions, costs]
    input: {expression: "a + b + c - costs", values: {a: "${output.regions.0}", b: "${output.regions.1}", c: "${output.regions.2}", costs: "${output.costs.rows.0.total}"}}
  answer: {type: set, needs: [sales, result], input: "${output.sales.rows.0.region} leads with ${output.sales.rows.0.total}; ${output.result} remain"}
`, `{"quarter": "Q4"}`)
	if run.Status != domain.RunCompleted {
		t.Fatalf("%s: %+v", run.Status, run.Error)
	}
	if got, want := string(run.Output), `"NA leads with 569000; 1289520 remain"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A read that fails temporarily is retried, a definite error takes the error edge, and a payment in
// doubt waits for a person.
func TestRunAgainstAServer(t *testing.T) {
	t.Parallel()
	var reads, pays atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/flaky" && reads.Add(1) < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/flaky":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id": 12345678901234567890}`)
		case r.URL.Path == "/pay":
			pays.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/refuse":
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(s.Close)
	c := tool.Config{HTTP: tool.HTTPConfig{AllowPrivate: []string{"127.0.0.1"}}}
	run := execute(t, c, fmt.Sprintf(`
nodes:
  get: {type: http, input: {url: "%[1]s/flaky"}, retry: {max_attempts: 3, backoff: [1ms]}}
  post: {type: http, input: {url: "%[1]s/refuse", body: {id: "${last.body.id}"}}, retry: {max_attempts: 3, backoff: [1ms]}}
  mend: {type: set, input: {code: "${last.code}", id: "${output.get.body.id}"}}
edges: [{from: get, to: post}, {from: post, to: mend, condition: failed}]
`, s.URL), "null")
	if got, want := string(run.Output), `{"code":"http_422","id":12345678901234567890}`; run.Status != domain.RunCompleted || got != want {
		t.Errorf("%s with %s (%+v), want %s", run.Status, got, run.Error, want)
	}
	run = execute(t, c, fmt.Sprintf(`
nodes:
  pay: {type: http, input: {url: "%s/pay", body: {amount: 10}}, retry: {max_attempts: 5, backoff: [1ms]}}
`, s.URL), "null")
	if run.Status != domain.RunWaiting || run.WaitReason != domain.WaitInDoubt || pays.Load() != 1 {
		t.Errorf("%s (%s) after %d payments, want one in doubt", run.Status, run.WaitReason, pays.Load())
	}
}
