package crashtest

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// A delivery that is sent until it is acknowledged starts exactly one run, wherever the daemon is killed:
// in the transaction that stores the delivery with its run, and right after the acknowledgment.
func TestKillAfterADelivery(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	for _, point := range []string{"hook.accepted", "acknowledgment"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			inst := newInstance(t, bin, filepath.Join(in, point))
			inst.hook(ctx, t, "kill="+point+":1")

			status, text := inst.deliver(ctx, t)
			if want := map[string]int{"hook.accepted": 0, "acknowledgment": http.StatusAccepted}[point]; status != want {
				t.Fatalf("got status %d, want %d: %s", status, want, text)
			}
			if err := inst.end(); err != nil {
				t.Fatal(err)
			}
			if err := inst.open(""); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"hook.accepted": `"status":"accepted"`, "acknowledgment": `"status":"duplicate"`}[point]
			if _, text := inst.deliver(ctx, t); !strings.Contains(text, want) {
				t.Errorf("sent again: %s, want %s", text, want)
			}
			list, err := inst.api.Runs(ctx, domain.RunFilter{Labels: map[string]string{"hook": "orders"}, Page: domain.Page{Limit: 10}})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%d runs, %v", len(list.Items), err)
			}
			completed := func(r domain.Run) bool { return r.Status == domain.RunCompleted }
			if err := follow(ctx, inst.api, list.Items[0].ID, completed); err != nil {
				t.Error(err)
			}
			if err := inst.end(); err != nil {
				t.Fatal(err)
			}
			if err := inst.verify(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// hook starts the daemon with a failpoint, and creates a hook that starts a plan.
func (inst *instance) hook(ctx context.Context, t *testing.T, failpoint string) {
	t.Helper()
	secret := filepath.Join(inst.dir, "secret")
	if err := os.WriteFile(secret, []byte("long-and-random"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "secrets: {SHOP: {file: " + secret + ", hooks: true}}\n"
	if err := os.WriteFile(filepath.Join(inst.dir, "kairos.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := inst.open(failpoint); err != nil {
		t.Fatal(err)
	}
	plan := "id: order\nnodes:\n  say: {type: set, input: \"${input.n}\"}\n"
	if _, _, _, problems, err := inst.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err, problems)
	}
	key, scheme, name := "order", domain.HookBearer, "SHOP"
	if _, err := inst.api.CreateHook(ctx, apitypes.HookCreate{Key: "orders", HookEdit: apitypes.HookEdit{Plan: &key, Scheme: &scheme,
		Secret: &name}}); err != nil {
		t.Fatal(err)
	}
}

// deliver sends an event. Without an answer, the status is 0.
func (inst *instance) deliver(ctx context.Context, t *testing.T) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, inst.url+"/hooks/orders", strings.NewReader(`{"n": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer long-and-random")
	r.Header.Set("Idempotency-Key", "evt-1")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}
