package planning_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/planning"
)

// The acceptance criteria of the planner supervisor in [004], under their original names.
func TestPlannerSupervisorAcceptance(t *testing.T) {
	t.Parallel()
	t.Run("Simple queries bypass planning (< 200ms)", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { // the clock advances only while all goroutines wait
			s := &scriptedReply{}
			began := time.Now()
			d, err := decide(t, s, "What is the status of order 123?", "")
			if took := time.Since(began); err != nil || d.Plan != nil || d.Agent == "" || len(s.heard) != 0 || took > 200*time.Millisecond {
				t.Errorf("%+v %v after %s and %d calls of the model", d, err, took, len(s.heard))
			}
		})
	})
	t.Run("Complex queries generate valid plans", func(t *testing.T) {
		t.Parallel()
		d, err := decide(t, &scriptedReply{answers: []string{good}}, "Compare invoices and contracts", "")
		if err != nil || d.Plan == nil || len(planning.CheckPlan(d.Plan, nil)) != 0 {
			t.Errorf("%+v %v", d, err)
		}
	})
	t.Run("Plans have 1-8 steps maximum", func(t *testing.T) {
		t.Parallel()
		for n, ok := range map[int]bool{0: false, 1: true, 8: true, 9: false} {
			answer := `{"summary": "a long enough summary", "requiresMultiStep": true, "reasoning": "", "steps": [` +
				strings.TrimSuffix(strings.Repeat(`{"agentId": "docs", "task": "again and again"},`, n), ",") + `]}`
			if d, err := decide(t, &scriptedReply{answers: []string{answer}}, "Compare everything", ""); (err == nil) != ok ||
				ok && len(d.Plan.Steps) != n {
				t.Errorf("%d steps: %v", n, err)
			}
		}
	})
	t.Run("Each step has valid agentId from registry", func(t *testing.T) {
		t.Parallel()
		for id, ok := range map[string]bool{"docs": true, "nobody": false, "supervisor": false, "hidden": false} {
			answer := fmt.Sprintf(
				`{"summary": "a long enough summary", "requiresMultiStep": true, "reasoning": "", "steps": [{"agentId": %q, `+
					`"task": "look at it"}]}`,
				id,
			)
			if _, err := decide(t, &scriptedReply{answers: []string{answer}}, "Compare everything", ""); (err == nil) != ok {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
	t.Run("Directed mode bypasses supervisor", func(t *testing.T) {
		t.Parallel()
		s := &scriptedReply{}
		if d, err := decide(t, s, "Compare everything and then summarize", "docs"); err != nil || d.Plan != nil || d.Agent != "docs" ||
			len(s.heard) != 0 {
			t.Errorf("%+v %v", d, err)
		}
	})
	t.Run("LLM errors are handled gracefully", func(t *testing.T) {
		t.Parallel()
		dead := errors.New("the line is dead")
		if d, err := decide(t, &scriptedReply{err: dead}, "Compare everything", ""); !errors.Is(err, dead) || d.Plan != nil {
			t.Errorf("%+v %v", d, err)
		}
	})
	t.Run("Plan output matches Zod schema", func(t *testing.T) {
		t.Parallel()
		step := map[string]any{"agentId": "docs", "task": "look at it", "expectedOutput": "data", "reasoning": "it can"}
		for name, c := range map[string]struct {
			change func(answer, step map[string]any)
			ok     bool
		}{
			"whole":            {func(_, _ map[string]any) {}, true},
			"short summary":    {func(a, _ map[string]any) { a["summary"] = "too short" }, false},
			"long summary":     {func(a, _ map[string]any) { a["summary"] = strings.Repeat("x", 501) }, false},
			"short task":       {func(_, s map[string]any) { s["task"] = "look" }, false},
			"long task":        {func(_, s map[string]any) { s["task"] = strings.Repeat("x", 501) }, false},
			"unknown output":   {func(_, s map[string]any) { s["expectedOutput"] = "song" }, false},
			"long reasoning":   {func(_, s map[string]any) { s["reasoning"] = strings.Repeat("x", 201) }, false},
			"longer reasoning": {func(a, _ map[string]any) { a["reasoning"] = strings.Repeat("x", 501) }, false},
			"no reasoning":     {func(_, s map[string]any) { delete(s, "reasoning") }, true},
		} {
			one := map[string]any{}
			for k, v := range step {
				one[k] = v
			}
			answer := map[string]any{"summary": "a long enough summary", "requiresMultiStep": true, "reasoning": "", "steps": []any{one}}
			c.change(answer, one)
			raw, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decide(t, &scriptedReply{answers: []string{string(raw)}}, "Compare everything", ""); (err == nil) != c.ok {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
