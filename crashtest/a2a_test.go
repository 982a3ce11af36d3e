package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
)

const (
	greetPlan = `id: greet
expose: [a2a]
input: {type: object, required: [name], properties: {name: {type: string}}}
nodes:
  ask: {type: approval, input: {message: "Greet?"}}
  greeting: {type: set, needs: [ask], input: "Hello ${input.name}"}
`
	callPlan = "id: call\nnodes:\n  call: {type: agent, agent: partner, input: {name: Ada}}\n"
)

// pair is two daemons: the agents of the caller are plans of the partner.
type pair struct {
	t               *testing.T
	bin, dir        string
	partner, caller *daemon
}

// newPair starts the partner, and the caller with a failpoint.
func newPair(ctx context.Context, t *testing.T, settings, point string) *pair {
	t.Helper()
	p := &pair{t: t, bin: build(t), dir: t.TempDir()}
	p.partner = p.start("partner", "", "")
	if _, _, _, problems, err := p.partner.api.SavePlan(ctx, []byte(greetPlan), planner.FormatYAML, "api", ""); err != nil {
		t.Fatal(err, problems)
	}
	token, _, err := p.partner.api.CreateToken(ctx, domain.Actor{}, "caller", domain.RoleOperator, []string{"a2a:greet"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	p.caller = p.start("caller", fmt.Sprintf("agents: [{id: partner, a2a: {url: %q, token_file: %q, %s}}]\n", p.partner.url,
		filepath.Join(p.dir, "token"), settings), point)
	return p
}

// start starts a daemon with a configuration, or with the one that it has.
func (p *pair) start(name, settings, point string) *daemon {
	p.t.Helper()
	data, config := filepath.Join(p.dir, name, "data"), filepath.Join(p.dir, name, "kairosd.yaml")
	if err := os.MkdirAll(data, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if _, err := os.Stat(config); err != nil {
		if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	var env []string
	if point != "" {
		env = append(env, failpoint.Env+"=kill="+point)
	}
	return start(p.t, p.bin, data, config, env...)
}

// call starts the plan of the caller.
func (p *pair) call(ctx context.Context) string {
	p.t.Helper()
	_, v, _, problems, err := p.caller.api.SavePlan(ctx, []byte(callPlan), planner.FormatYAML, "api", "")
	if err != nil {
		p.t.Fatal(err, problems)
	}
	run, err := p.caller.api.Start(ctx, domain.StartRequest{Plan: v.PlanID, Hash: v.Hash, Key: "once"})
	if err != nil {
		p.t.Fatal(err)
	}
	return run.ID
}

// tasks returns the runs of the partner when the newest one has a status.
func (p *pair) tasks(ctx context.Context, status domain.RunStatus) []domain.Run {
	p.t.Helper()
	for {
		list, err := p.partner.api.Runs(ctx, domain.RunFilter{PlanKey: "greet", Page: domain.Page{Limit: 10}})
		if err != nil {
			p.t.Fatal(err)
		}
		if len(list.Items) > 0 && list.Items[0].Status == status {
			return list.Items
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("the partner has no run with status %s: %+v", status, list.Items)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// approve approves all requests of the partner.
func (p *pair) approve(ctx context.Context) {
	p.t.Helper()
	list, err := p.partner.api.Approvals(ctx, domain.ApprovalFilter{Page: domain.Page{Limit: 10}})
	if err != nil || len(list.Items) == 0 {
		p.t.Fatalf("%d requests, %v", len(list.Items), err)
	}
	for _, a := range list.Items {
		if _, err := p.partner.api.Decide(ctx, domain.DecideRequest{Approval: a.ID, Approve: true}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// ends waits for the end of a run of the caller.
func (p *pair) ends(ctx context.Context, run string, status domain.RunStatus) domain.Run {
	p.t.Helper()
	if err := follow(ctx, p.caller.api, run, func(r domain.Run) bool { return r.Status.Final() }); err != nil {
		p.t.Fatal(err)
	}
	r, err := p.caller.api.FindRun(ctx, run)
	if err != nil || r.Status != status {
		p.t.Fatalf("%s %s %v, want %s", r.Status, r.Headline, err, status)
	}
	return r
}

// An agent of a daemon is a plan of another daemon. Wherever the caller is killed, it finds its task again, and the partner
// has one run: before the message is sent, before the task is recorded, and while the step waits for it.
func TestKillAroundATaskOfAnotherServer(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"substep.before:1", "substep.after:1", "wait"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			at := strings.TrimPrefix(point, "wait")
			p := newPair(ctx, t, "deduplicates: true", at)
			run := p.call(ctx)
			if at == "" {
				p.tasks(ctx, domain.RunWaiting)
				if err := follow(ctx, p.caller.api, run, func(r domain.Run) bool { return r.Status == domain.RunRunning }); err != nil {
					t.Fatal(err)
				}
				p.caller.kill(t)
			} else if err := p.caller.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the caller did not end at %s: %v", point, err)
			}
			p.caller = p.start("caller", "", "")
			p.tasks(ctx, domain.RunWaiting)
			p.approve(ctx)
			if r := p.ends(ctx, run, domain.RunCompleted); string(r.Output) != `"Hello Ada"` {
				t.Errorf("output %s", r.Output)
			}
			if list := p.tasks(ctx, domain.RunCompleted); len(list) != 1 {
				t.Errorf("the partner has %d runs", len(list))
			}
			p.caller.kill(t)
			p.partner.kill(t)
		})
	}
}

// A message whose outcome is unknown is in doubt if the server does not promise to answer it once.
func TestAMessageWithAnUnknownOutcomeIsInDoubt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	p := newPair(ctx, t, "deduplicates: false", "substep.after:1")
	run := p.call(ctx)
	if err := p.caller.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the caller did not end: %v", err)
	}
	p.caller = p.start("caller", "", "")
	if err := follow(ctx, p.caller.api, run, func(r domain.Run) bool { return r.WaitReason == domain.WaitInDoubt }); err != nil {
		t.Fatal(err)
	}
	if list := p.tasks(ctx, domain.RunWaiting); len(list) != 1 {
		t.Errorf("the partner has %d runs", len(list))
	}
}

// A cancellation of the run cancels the task. A task that a person rejects fails the step, and a resume starts another task.
func TestATaskOfAnotherServerIsCancelledAndStartedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	p := newPair(ctx, t, "deduplicates: true", "")
	run := p.call(ctx)
	p.tasks(ctx, domain.RunWaiting)
	if _, err := p.caller.api.Act(ctx, domain.ActionRequest{Run: run, Action: domain.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	p.ends(ctx, run, domain.RunCancelled)
	if list := p.tasks(ctx, domain.RunCancelled); len(list) != 1 {
		t.Errorf("the partner has %d runs", len(list))
	}
	resume := func() {
		t.Helper()
		pre, err := p.caller.api.Preview(ctx, domain.ActionRequest{Run: run, Action: domain.ActionResume})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.caller.api.Act(ctx, domain.ActionRequest{Run: run, Action: domain.ActionResume, Rev: pre.Rev,
			Digest: pre.Digest}); err != nil {
			t.Fatal(err)
		}
	}
	resume() // it finds the cancelled task, and fails
	p.ends(ctx, run, domain.RunFailed)
	resume()
	p.tasks(ctx, domain.RunWaiting)
	p.approve(ctx)
	p.ends(ctx, run, domain.RunCompleted)
	if list := p.tasks(ctx, domain.RunCompleted); len(list) != 2 {
		t.Errorf("the partner has %d runs", len(list))
	}
}
