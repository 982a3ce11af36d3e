package crashtest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
)

// The provider counts its calls independently. Wherever a kill interrupts a call, a budget counts each call that the
// provider received, and counts one without a row with its reservation: after the reservation is durable, after the call,
// and in the transaction of its row.
func TestKillAroundABudget(t *testing.T) {
	t.Parallel()
	for point, calls := range map[string]int{"budget.held:3": 5, "substep.after:5": 6, "budget.charged:3": 6} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			m := &model{calls: map[int]int{}, turns: 5}
			server := httptest.NewServer(m)
			defer server.Close()
			dir := t.TempDir()
			data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairosd.yaml")
			if err := os.WriteFile(config, fmt.Appendf(nil, "providers: {fake: {type: openai, base_url: %q, model: m}}\n"+
				"agents: [{id: counter, provider: fake, tools: [calculator], max_tokens: 1000}]\n", server.URL+"/v1"),
				0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			bin := build(t)
			d := start(t, bin, data, config, failpoint.Env+"=kill="+point)
			const hard = 20_000
			if _, err := d.api.CreateBudget(ctx, apitypes.BudgetCreate{Key: "all", Unit: domain.UnitTokens, Hard: hard,
				Period: "month"}); err != nil {
				t.Fatal(err)
			}
			_, v, _, problems, err := d.api.SavePlan(ctx, []byte("nodes: {ask: {type: agent, agent: counter, input: count}}\n"),
				planner.FormatYAML, "api", "")
			if err != nil {
				t.Fatal(err, problems)
			}
			run, err := d.api.Start(ctx, domain.StartRequest{Plan: v.PlanID, Hash: v.Hash, Key: "once"})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the daemon did not end at %s: %v", point, err)
			}
			if err := d.api.Close(); err != nil {
				t.Error(err)
			}
			d = start(t, bin, data, config)
			r, err := d.api.Wait(ctx, run.ID)
			if err != nil || r.Status != domain.RunCompleted {
				t.Fatalf("%s %s %v", r.Status, r.Headline, err)
			}
			b, err := d.api.Budget(ctx, "all")
			if err != nil {
				t.Fatal(err)
			}
			received := 0
			m.mu.Lock()
			for _, n := range m.calls {
				received += n
			}
			m.mu.Unlock()
			w := b.Window
			if received != calls || w.Used-w.Estimated != 75 || w.Used < 15*float64(received) || w.Used > hard || w.Estimated <= 1000 ||
				b.Reserved != 0 {
				t.Errorf("the provider received %d calls; window %+v, reserved %v", received, w, b.Reserved)
			}
			d.kill(t)
		})
	}
}
