package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// refunds is a bank, whose ledger survives the daemon: how often each refund was sent, by its path and key.
type refunds struct {
	mu    sync.Mutex
	sent  map[string]map[string]int
	order []string // of the first call to each path
}

func (b *refunds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the caller was killed during the request
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent[r.URL.Path] == nil {
		b.sent[r.URL.Path] = map[string]int{}
		b.order = append(b.order, r.URL.Path)
	}
	b.sent[r.URL.Path][r.Header.Get("Idempotency-Key")]++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id": %q}`, strings.ReplaceAll(strings.Trim(r.URL.Path, "/"), "/", "-"))
}

// was reports whether a call with a path reached the bank.
func (b *refunds) was(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sent[path]) > 0
}

// A daemon is killed in the middle of an undo. After the restart, the undo continues, or a person starts it
// again if it was not accepted. Each payment is refunded exactly once, the newest first.
func TestKillDuringAnUndo(t *testing.T) {
	t.Parallel()
	bin := build(t)
	points := []string{"accept.before:1", "accept.after:1", "intent.durable:1", "exec.before:2", "exec.after:1", "exec.after:2",
		"exec.after:3"}
	if testing.Short() {
		points = points[:4]
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			killUndo(ctx, t, bin, point)
		})
	}
}

func killUndo(ctx context.Context, t *testing.T, bin, point string) {
	bank := &refunds{sent: map[string]map[string]int{}}
	server := httptest.NewServer(bank)
	defer server.Close()
	inst := newInstance(t, bin, filepath.Join(proof.Dir(t), "undo"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(inst.dir, "kairos.yaml"), []byte("tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n"), 0o600))
	must(inst.open(""))
	text := "id: trip\nnodes:\n"
	for _, s := range []struct{ id, effect string }{{"one", ""}, {"two", ", effect: idempotent"}, {"three", ""}} {
		text += "  " + s.id + ":\n    type: http\n    input: {method: POST, url: " + server.URL + "/pay/" + s.id + "}\n" +
			"    undo: {tool: http, input: {method: POST, url: \"" + server.URL + "/refund/${last.body.id}\"}" + s.effect + "}\n"
	}
	text += "  four: {type: fail, input: {message: no}}\n" +
		"edges: [{from: one, to: two}, {from: two, to: three}, {from: three, to: four}]\n"
	_, _, _, problems, err := inst.api.SavePlan(ctx, []byte(text), planner.FormatYAML, "", "")
	if err != nil {
		t.Fatal(err, problems)
	}
	run, err := inst.api.Start(ctx, domain.StartRequest{Plan: "trip"})
	must(err)
	must(inst.until(ctx, run.ID, domain.RunFailed))
	must(inst.end())

	must(inst.open("kill=" + point))
	alive, died := context.WithCancel(ctx) // the client requests events again until it ends
	var exit error
	go func() {
		exit = inst.cmd.Wait()
		died()
	}()
	if id, err := startUndo(alive, inst, run.ID); err == nil {
		_ = inst.until(alive, id, domain.RunCompleted) // it is killed meanwhile
	}
	<-alive.Done()
	if ctx.Err() != nil || exit == nil {
		t.Fatalf("the daemon did not die at %s: %v", point, context.Cause(ctx))
	}
	must(inst.api.Close())

	must(inst.open(""))
	d, err := inst.api.View(ctx, run.ID)
	must(err)
	id := ""
	if len(d.Undos) > 0 {
		id = d.Undos[0].ID
	} else if id, err = startUndo(ctx, inst, run.ID); err != nil {
		t.Fatal(err)
	}
	must(finishUndo(ctx, inst, bank, id))
	if d, err = inst.api.View(ctx, run.ID); err != nil || len(d.Undos) != 1 {
		t.Fatalf("%d undo runs, %v", len(d.Undos), err)
	}
	bank.mu.Lock()
	defer bank.mu.Unlock()
	want := "/pay/one /pay/two /pay/three /refund/pay-three /refund/pay-two /refund/pay-one"
	if got := strings.Join(bank.order, " "); got != want {
		t.Errorf("calls: %s, want %s", got, want)
	}
	for path, keys := range maps.All(bank.sent) {
		for key, n := range keys {
			if len(keys) != 1 || key == "" || n != 1 && path != "/refund/pay-two" {
				t.Errorf("%s was sent %v", path, keys)
			}
		}
	}
	must(inst.end())
	must(inst.verify(ctx))
}

// startUndo undoes a run as its preview shows, and returns the undo run.
func startUndo(ctx context.Context, inst *instance, run string) (string, error) {
	req := domain.ActionRequest{Run: run, Action: domain.ActionUndo}
	p, err := inst.api.Preview(ctx, req)
	if err != nil {
		return "", err
	}
	if !p.Allowed || len(p.Undo) != 3 {
		return "", fmt.Errorf("the preview lists %d calls: %s", len(p.Undo), p.Refusal)
	}
	req.Digest = p.Digest
	undo, err := inst.api.Act(ctx, req)
	return undo.ID, err
}

// finishUndo follows an undo run to its end. A person resolves a call in doubt as the ledger shows.
func finishUndo(ctx context.Context, inst *instance, bank *refunds, id string) error {
	for _, err := range inst.api.Events(ctx, "", "0") {
		if err != nil {
			return err
		}
		d, err := inst.api.Detail(ctx, id)
		switch {
		case err != nil:
			return err
		case d.Run.Status == domain.RunCompleted:
			return nil
		case d.Run.Status.Final():
			return fmt.Errorf("the undo is %s: %w", d.Run.Status, errors.New(d.Run.Headline))
		}
		for _, w := range d.Waits {
			if w.Reason != domain.WaitInDoubt {
				continue
			}
			attempt := 0
			for _, e := range d.Journal {
				if e.Node == w.Node {
					attempt = max(attempt, e.Attempt)
				}
			}
			action := "retry"
			if bank.was("/refund/pay-" + w.Node) {
				action = "happened"
			}
			_, err := inst.api.Resolve(ctx, domain.ResolveRequest{Run: id, Node: w.Node, Visit: w.Visit, Item: w.Item, Attempt: attempt,
				Action: action, Reason: "the ledger of the bank"})
			if err != nil && domain.CodeOf(err) != domain.CodeConflict && domain.CodeOf(err) != domain.CodeStale {
				return err
			}
		}
	}
	return context.Cause(ctx)
}
