package crashtest

import (
	"context"
	"fmt"
	"net/url"
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

// build creates a run in each status, and the other objects of operations.
func (inst *instance) build(ctx context.Context, called chan struct{}) (s objects, err error) {
	s = objects{}
	if err := inst.open(""); err != nil {
		return nil, err
	}
	run := func(name, plan string, until func(domain.Run) bool) error {
		r, err := inst.api.Start(ctx, domain.StartRequest{Plan: plan, Input: domain.RawJSON(`{"of": "` + name + `"}`), Session: "the session"})
		if err != nil {
			return err
		}
		s[name] = r.ID
		return follow(ctx, inst.api, r.ID, until)
	}
	waits := func(reason domain.WaitReason) func(domain.Run) bool {
		return func(r domain.Run) bool { return r.WaitReason == reason }
	}
	is := func(status domain.RunStatus) func(domain.Run) bool {
		return func(r domain.Run) bool { return r.Status == status }
	}
	nap := waits(domain.WaitTimer)
	for _, err := range []error{
		run("asks", "asks", waits(domain.WaitApproval)), run("naps", "naps", nap), run("paused", "naps", nap),
		run("fails", "fails", is(domain.RunFailed)),
		run("doubts", "doubts", waits(domain.WaitInDoubt)), run("tries", "tries", waits(domain.WaitRetry)),
		run("kept", "keeps", is(domain.RunCompleted)),
		run("kept 2", "keeps", is(domain.RunCompleted)),
	} {
		if err != nil {
			return nil, err
		}
	}
	if _, err := inst.api.Act(ctx, domain.ActionRequest{Run: s["paused"], Action: domain.ActionPause}); err != nil {
		return nil, err
	}
	list, err := inst.api.Approvals(ctx, domain.ApprovalFilter{})
	if err != nil || len(list.Items) != 1 {
		return nil, fmt.Errorf("%d approvals: %w", len(list.Items), err)
	}
	s["approval"] = list.Items[0].ID
	_, token, err := inst.api.CreateToken(ctx, actor, "old", domain.RoleViewer, nil, 0)
	if err != nil {
		return nil, err
	}
	s["token"] = token.ID
	if _, err := inst.api.CreateUser(ctx, actor, "marta", "a long enough password", domain.RoleOperator); err != nil {
		return nil, err
	}
	asked, err := inst.api.Ask(ctx, domain.AskRequest{Query: "collect the sums and then collect them again", PlanOnly: true})
	if err != nil {
		return nil, err
	}
	s["draft"] = asked.Plan.Key
	if proof.Large() > 0 { // a quick test has no time for three kills
		if err := run("kills", "kills", is(domain.RunRunning)); err != nil {
			return nil, err
		}
		for range 3 {
			select {
			case <-called:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := inst.end(); err != nil {
				return nil, err
			}
			if err := inst.open(""); err != nil {
				return nil, err
			}
		}
		if err := follow(ctx, inst.api, s["kills"], waits(domain.WaitQuarantined)); err != nil {
			return nil, err
		}
	}
	return s, inst.end()
}

// A daemon is killed at every durable step of every operation: a start, actions on runs, a
// decision, a note, an account, a login, a backup. After the restart, the operation is complete and
// has one audit record, or it has no effect and no record. The same request with its key then
// completes it once (A44, G1, G10, G12).
func TestKillInEveryAction(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	server, called := outside(t)
	config := "tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n" +
		"skills: [{id: collect, keywords: {en: [collect]}, tool: set, defaults: {sum: 42}}]\nretention: {keep: 1}\n"
	made := 0
	var mu sync.Mutex
	fresh := func(from string) (*instance, error) {
		mu.Lock()
		made++
		inst := &instance{bin: bin, dir: filepath.Join(in, fmt.Sprint(made))}
		mu.Unlock()
		if from == "" {
			if err := os.MkdirAll(inst.data(), 0o700); err != nil {
				return nil, err
			}
			return inst, os.WriteFile(filepath.Join(inst.dir, "kairos.yaml"), []byte(config), 0o600)
		}
		return inst, os.CopyFS(inst.dir, os.DirFS(from))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	base, err := fresh("")
	if err != nil {
		t.Fatal(err)
	}
	new, err := fresh("") // without a user
	if err != nil {
		t.Fatal(err)
	}
	if err := base.open(""); err != nil {
		t.Fatal(err)
	}
	for _, src := range objectPlans {
		if _, _, _, problems, err := base.api.SavePlan(ctx, []byte(strings.ReplaceAll(src, "URL", server.URL)), planner.FormatYAML,
			"", ""); err != nil {
			t.Fatal(err, problems)
		}
	}
	if err := base.end(); err != nil {
		t.Fatal(err)
	}
	s, err := base.build(ctx, called)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"kairosd.sock", "setup.token"} {
		if err := os.Remove(filepath.Join(base.data(), f)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	kills := 0
	var wg sync.WaitGroup
	queue := make(chan operation)
	for range 3 {
		wg.Go(func() {
			for d := range queue {
				from := base.dir
				if d.action == "setup" {
					from = new.dir
				}
				all := []point{{"commit.after", 1}}
				if d.keyed() && !d.once {
					all[0].k = 2 // the first one keeps the key
				}
				if proof.Large() > 0 {
					if all, err = tracedAction(ctx, fresh, from, d); err != nil {
						t.Errorf("%s: %v", d.name, err)
						continue
					}
				}
				for _, p := range all {
					inst, err := fresh(from)
					killed := false
					if err == nil {
						killed, err = inst.outcome(ctx, &d, p)
					}
					if err != nil {
						text, _ := os.ReadFile(filepath.Join(inst.dir, "log"))
						t.Errorf("%s, %s: %v\n%s", d.name, p, err, text)
						if inst.cmd != nil {
							_ = inst.end() // it may be gone
						}
						break
					}
					if killed {
						mu.Lock()
						kills++
						mu.Unlock()
					}
					if err := os.RemoveAll(inst.dir); err != nil {
						t.Error(err)
					}
				}
				t.Logf("%s: %d points", d.name, len(all))
			}
		})
	}
	tried := 0
	for _, d := range actions(s) {
		if proof.Large() > 0 || quickActions[d.name] {
			queue <- d
			tried++
		}
	}
	close(queue)
	wg.Wait()
	if kills < tried {
		t.Errorf("%d kills in %d acts: the points are not reached", kills, tried)
	}
	proof.Figure(t, "crash points", kills)
}

// tracedAction lists the failpoints of an uninterrupted operation.
func tracedAction(ctx context.Context, fresh func(string) (*instance, error), from string, d operation) ([]point, error) {
	inst, err := fresh(from)
	if err != nil {
		return nil, err
	}
	trace := filepath.Join(inst.dir, "trace")
	if err := inst.open("from=" + inst.now() + ";trace=" + trace); err != nil {
		return nil, err
	}
	before, err := inst.records(ctx, &d)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(inst.now(), nil, 0o600); err != nil {
		return nil, err
	}
	status, text, err := inst.send(ctx, &d)
	if err != nil || status >= 400 || status == 0 {
		return nil, fmt.Errorf("without a kill, it returned %d: %s, %w", status, text, err)
	}
	if done, err := inst.judge(ctx, &d, before); err != nil || !done {
		return nil, fmt.Errorf("effect without a kill: %v, %w", done, err)
	}
	if err := inst.end(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		return nil, err
	}
	var all []point
	hits := map[string]int{}
	for name := range strings.FieldsSeq(string(b)) {
		hits[name]++
		all = append(all, point{name, hits[name]})
	}
	return all, os.RemoveAll(inst.dir)
}

// form encodes the fields of a page's form.
func form(pairs ...string) string {
	v := url.Values{"csrf": {"anonymous"}}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}
