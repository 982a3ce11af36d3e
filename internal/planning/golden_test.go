package planning_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/planner"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The prompts of the planning model are exact: role, examples, the request, the problems of an
// unusable answer, and a plan that cannot continue. After a change of a prompt, run with -update
// and review the difference.
func TestPromptsMatchTheGoldenFiles(t *testing.T) {
	t.Parallel()
	bad := `{"summary": "short", "requiresMultiStep": true, "reasoning": "", "steps": [{"agentId": "nobody", "task": "go"}]}`
	sequence := &planner.StepPlan{
		ID:          "p",
		Description: "Compare invoices with contracts",
		Steps: []planner.Step{{ID: "a", Order: 1, AgentID: "billing", Task: "List the invoices"},
			{
				ID:      "b",
				Order:   2,
				AgentID: "docs",
				Task:    "Find the contracts",
				OnError: "replan",
			}, {ID: "c", Order: 3, AgentID: "docs", Task: "Write it down"}},
	}
	for name, ask := range map[string]func(s *scriptedReply) error{
		"plan": func(s *scriptedReply) error {
			_, err := decide(t, s, "Compare our invoices with the contracts", "")
			return err
		},
		"replan": func(s *scriptedReply) error {
			r := asked(t, sequence, "b", "a")
			r.Run.Input = nil
			_, err := replanner(t, s).Replan(t.Context(), r)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scriptedReply{answers: []string{bad, good}}
			if err := ask(s); err != nil {
				t.Fatal(err)
			}
			if len(s.heard) != 2 {
				t.Fatalf("asked %d times", len(s.heard))
			}
			var b strings.Builder
			q := s.heard[1]
			fmt.Fprintf(&b, "at most %d tokens, temperature %v, structured: %v\n", q.MaxTokens, *q.Temperature, q.Schema != nil)
			for _, m := range q.Messages {
				fmt.Fprintf(&b, "\n--- %s\n%s\n", m.Role, strings.TrimRight(m.Text, "\n"))
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
