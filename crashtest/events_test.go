package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
)

// received lists the stored events of runs, in order, until the last one of a run.
func received(ctx context.Context, api *client.Client, run string) (list []string, err error) {
	for e, err := range api.Events(ctx, run, "") {
		if err != nil {
			return list, err
		}
		if e.Ephemeral || e.Run == "" {
			continue
		}
		text, err := json.Marshal(e)
		if err != nil {
			return list, err
		}
		if list = append(list, string(text)); e.Type == "plan_completed" {
			return list, nil
		}
	}
	return list, context.Cause(ctx)
}

// A listener that reconnects after a kill has received exactly the events of a replay, over both
// runs of the daemon.
func TestEventsAcrossAKill(t *testing.T) {
	t.Parallel()
	points := []string{"substep.before:3", "intent.before:1", "substep.after:4"}
	if testing.Short() {
		points = points[:1]
	}
	const plan = `
id: heard
steps:
  - {id: read, tool: set, params: {text: hello}}
  - {id: ask, agentId: front, task: how much is 6*7?}
  - {id: note, tool: log, params: {text: "${output.ask}"}}
`
	for _, spec := range points {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			server := httptest.NewServer(&office{asked: map[string]int{}})
			defer server.Close()
			dir := t.TempDir()
			data, config := filepath.Join(dir, "data"), filepath.Join(dir, "kairosd.yaml")
			if err := os.WriteFile(config, fmt.Appendf(nil, `
providers: {fake: {type: openai, base_url: %q, model: m}}
agents:
  - {id: front, system_prompt: You are front., tools: [handoff]}
  - {id: sums, system_prompt: You are sums., tools: [calculator], capabilities: [arithmetic]}
`, server.URL+"/v1"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			bin := build(t)
			d := start(t, bin, data, config, failpoint.Env+"=kill="+spec)
			_, v, _, problems, err := d.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "api", "")
			if err != nil {
				t.Fatal(err, problems)
			}
			once := domain.StartRequest{
				Plan:    v.PlanID,
				Hash:    v.Hash,
				Input:   domain.RawJSON(`"go"`),
				Key:     "once",
				StartAt: time.Now().Add(time.Second),
			}
			run, err := d.api.Start(ctx, once)
			if err != nil {
				t.Fatal(err)
			}
			type list struct {
				events []string
				err    error
			}
			listener := make(chan list, 1)
			go func() { // the client reconnects automatically after the restart
				events, err := received(ctx, d.api, run.ID)
				listener <- list{events, err}
			}()
			if err := d.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the daemon did not die at %s: %v", spec, err)
			}
			again := start(t, bin, data, config)
			if run, err = again.api.Wait(ctx, run.ID); err != nil || run.Status != domain.RunCompleted {
				t.Fatalf("%s %+v %v", run.Status, run.Error, err)
			}
			replayed, err := received(ctx, again.api, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			live := <-listener
			if d := cmp.Diff(live.events, replayed); d != "" || live.err != nil {
				t.Errorf("the replay differs from what the listener heard (%v):\n%s", live.err, d)
			}
			if text := strings.Join(replayed, "\n"); strings.Count(text, `"type":"plan_step_completed"`) != 3 {
				t.Errorf("%s", text)
			}
			if err := d.api.Close(); err != nil {
				t.Error(err)
			}
			again.kill(t)
		})
	}
}
