package client_test

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// everyStep is a plan with a step of each outcome: completed, skipped, failed and handled, and one that waits
// for a person.
const everyStep = `id: every
nodes:
  list: {type: set, input: [1, 2]}
  each: {type: set, needs: [list], foreach: output.list, input: "${item}"}
  flaky: {type: flaky, needs: [list], input: 1, retry: {max_attempts: 2, backoff: [1ms]}, on_error: continue}
  skipped: {type: set, needs: [list], when: "last.gone == 1", input: 1}
  ask: {type: approval, needs: [each, flaky], input: {message: "Go on?"}}
  nap: {type: wait, needs: [ask], input: {for: 1h}}
`

// Every event that is sent matches its own schema of the description, by the name of its type.
func TestEveryEventMatchesItsSchema(t *testing.T) {
	t.Parallel()
	d := start(t)
	author := d.as(t, domain.RoleAuthor)
	ctx := t.Context()
	token, _, err := d.auth.CreateToken(ctx, root, "events", domain.RoleViewer, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, plan := range []string{everyStep, wiredPlan} {
		_, _, _, _, err := author.SavePlan(ctx, []byte(plan), "", "", "")
		do(err)
	}
	d.fail.Store(true)
	run, err := author.Start(ctx, domain.StartRequest{Plan: "every", Labels: map[string]string{"a": "b"}})
	do(err)
	waiting := settled(t, author, run.ID)
	act := func(id string, actions ...domain.Action) {
		t.Helper()
		for _, a := range actions {
			r := domain.ActionRequest{Run: id, Action: a, Reason: "a test"}
			if a == domain.ActionLimits {
				r.Limits = domain.Limits{MaxSteps: 100}
			}
			_, err := author.Act(ctx, r)
			do(err)
		}
	}
	act(run.ID, domain.ActionPause, domain.ActionUnpause, domain.ActionLimits)
	_, err = author.Decide(ctx, domain.DecideRequest{Approval: waiting.Waits[0].Approval, Approve: true, Comment: "yes"})
	do(err)
	until(t, author, run.ID, domain.WaitTimer)
	act(run.ID, domain.ActionCancel)
	settled(t, author, run.ID)
	act(run.ID, domain.ActionResume)
	until(t, author, run.ID, domain.WaitTimer)
	act(run.ID, domain.ActionCancel)
	settled(t, author, run.ID)
	act(run.ID, domain.ActionDelete)
	steps, err := author.Start(ctx, domain.StartRequest{Plan: "wired", Input: domain.RawJSON(`"hello"`)})
	do(err)
	settled(t, author, steps.ID)
	_, err = author.AddNote(ctx, steps.ID, "a note")
	do(err)
	do(author.PausePlan(ctx, "every", true, ""))
	do(author.KeepView(ctx, domain.SavedView{Name: "mine", Query: "status:failed"}, false))

	var texts []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(d.get(t, token, "/events?after=0", "text/event-stream").Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		texts = append(texts, text)
		typ := decoded(t, text)["type"].(string)
		if seen[typ] = true; typ == "view_save" {
			break
		}
	}
	described(t, d, token, texts)
	for _, want := range []string{"run_created", "run_status", "run_paused", "run_unpaused", "run_limits_changed", "run_limits",
		"run_cancelling", "run_resumed",
		"node_started", "node_completed", "node_failed", "node_retrying", "node_skipped", "node_waiting", "node_cancelled",
		"approval_requested", "approval_decided", "plan_generated", "plan_completed", "plan_pause", "run_delete", "run_note", "view_save",
	} {
		if !seen[want] {
			t.Errorf("no event of the type %s", want)
		}
	}
	known := map[string]bool{}
	for _, e := range domain.EventTypes {
		known[e.Name] = true
	}
	for typ := range seen {
		action := dotted.Replace(typ)
		isAction := slices.ContainsFunc(domain.AuditActions, func(a string) bool { return dotted.Replace(a) == action })
		if !known[typ] && !isAction {
			t.Errorf("%s is neither a type of its own nor an action of the audit log", typ)
		}
	}
}

// dotted makes names of actions and types of events comparable.
var dotted = strings.NewReplacer("_", ".", "-", ".")

// until follows the events of a run until it waits for a reason.
func until(t *testing.T, c *client.Client, id string, reason domain.WaitReason) {
	t.Helper()
	for range c.Events(t.Context(), id, "") {
		if r, err := c.View(t.Context(), id); err != nil {
			t.Fatal(err)
		} else if r.WaitReason == reason {
			return
		}
	}
	t.Fatalf("the run does not wait for %s", reason)
}
