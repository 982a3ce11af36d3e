package preview

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		req domain.ActionRequest
		ok  bool
	}{
		"plain resume":           {domain.ActionRequest{Action: domain.ActionResume}, true},
		"unknown action":         {domain.ActionRequest{Action: "dance"}, false},
		"fork at a position":     {domain.ActionRequest{Action: domain.ActionFork, At: 3}, true},
		"cancel at a position":   {domain.ActionRequest{Action: domain.ActionCancel, At: 3}, false},
		"negative position":      {domain.ActionRequest{Action: domain.ActionFork, At: -1}, false},
		"newest version":         {domain.ActionRequest{Action: domain.ActionRerun, Version: -1}, true},
		"resume of one step":     {domain.ActionRequest{Action: domain.ActionResume, Only: "a"}, true},
		"rerun of one step":      {domain.ActionRequest{Action: domain.ActionRerun, Only: "a"}, false},
		"too many attempts":      {domain.ActionRequest{Action: domain.ActionResume, Attempts: maxResumeAttempts + 1}, false},
		"too short a timeout":    {domain.ActionRequest{Action: domain.ActionResume, Timeout: time.Microsecond}, false},
		"limits without a limit": {domain.ActionRequest{Action: domain.ActionLimits}, false},
		"limit set and raised": {domain.ActionRequest{Action: domain.ActionLimits, Limits: domain.Limits{MaxSteps: 1},
			Raise: domain.Limits{MaxSteps: 1}}, false},
		"limit raised by negative": {domain.ActionRequest{Action: domain.ActionLimits, Raise: domain.Limits{MaxSteps: -1}}, false},
		"limit raised":             {domain.ActionRequest{Action: domain.ActionLimits, Raise: domain.Limits{MaxSteps: 1}}, true},
	} {
		if err := CheckRequest(tt.req); (err == nil) != tt.ok || err != nil && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// view folds the given rows as the journal of a run.
func view(t *testing.T, plan string, status domain.RunStatus, rows ...domain.Entry) *View {
	t.Helper()
	doc, problems := planner.Parse([]byte(plan), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i].Seq = int64(i) + 1
	}
	s, err := runstate.Fold(p, runstate.Facts{Run: "r", KeepHistory: true}, rows)
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{Now: func() time.Time { return time.Unix(1000, 0) }, Executes: func(string) bool { return false },
		Stepped: func(*walk.ProgramNode) bool { return false },
		Effect:  func(_ *runstate.Compiled, n *walk.ProgramNode, _ any) walk.Effect { return n.Effect }}
	return &View{Env: env, Run: domain.Run{ID: "r", Status: status, LastSeq: s.Seq}, Program: runstate.NewCompiled(p,
		domain.Version{}), Journal: rows, State: s}
}

const twoSteps = `{nodes: {a: {type: set, input: 1}, b: {type: set, input: 2, needs: [a]}}}`

func result(node string, status domain.NodeStatus) domain.Entry {
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: runstate.NoItem, Attempt: 1, Final: true,
		Status: status, Output: domain.RawJSON("1")}
}

// A resume keeps completed steps and runs the others again.
func TestResumeKeepsWhatCompleted(t *testing.T) {
	t.Parallel()
	failed := result("b", domain.NodeFailed)
	failed.Output, failed.Failure = nil, &domain.Failure{Code: walk.CodeFailed, Message: "no", Node: "b"}
	v := view(t, twoSteps, domain.RunFailed, result("a", domain.NodeCompleted), failed)
	p, reset, _, err := v.Resume(domain.ActionRequest{Run: "r", Action: domain.ActionResume})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Allowed || len(p.Keep) != 1 || p.Keep[0].Node != "a" || len(p.Again) != 1 || p.Again[0].Node != "b" {
		t.Errorf("keep %+v, again %+v", p.Keep, p.Again)
	}
	if len(reset.Reopened) != 1 || reset.Reopened[0].Node != "b" {
		t.Errorf("reopened %+v", reset.Reopened)
	}
}

// The preview of an impossible action contains the reason. Other errors remain errors.
func TestRefused(t *testing.T) {
	t.Parallel()
	v := view(t, twoSteps, domain.RunCompleted, result("a", domain.NodeCompleted), result("b", domain.NodeCompleted))
	_, _, _, err := v.Resume(domain.ActionRequest{Run: "r", Action: domain.ActionResume})
	p, ok := v.Refused(domain.ActionResume, err)
	if !ok || p.Allowed || p.Refusal.IsZero() || p.Suggestion.IsZero() || p.Digest == "" {
		t.Errorf("got %+v, %v", p, ok)
	}
	if _, ok := v.Refused(domain.ActionResume, domain.Errorf(domain.CodeInvalid, "x")); ok {
		t.Error("an invalid request is an error")
	}
	if _, ok := v.Refused(domain.ActionResume, nil); ok {
		t.Error("no error is no refusal")
	}
}
