package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// The example response in [001], with its function written as an expression.
const executionPlan = `{
  "id": "plan-001",
  "description": "Generate professional blog post about AI ethics",
  "steps": [
    {"id": "step-1", "order": 1, "skillId": "generate_content", "params": {"topic": "AI ethics", "tone": "professional", "length": "medium"},
     "retry": {"maxAttempts": 3, "backoffMs": [1000, 2000, 4000]}},
    {"id": "step-2", "order": 2, "skillId": "analyze_seo", "params": {"contentSource": "step-1.result.content"}, "dependencies": ["step-1"], "condition": {"type": "success"}},
    {"id": "step-3", "order": 3, "skillId": "moderate_content", "params": {"contentSource": "step-1.result.content"}, "dependencies": ["step-1"]},
    {"id": "step-4", "order": 4, "skillId": "summarize_content", "params": {"contentSource": "step-1.result.content", "maxLength": 150}, "dependencies": ["step-1", "step-3"],
     "condition": {"type": "custom", "expr": "output[\"step-3\"].approved == true"}}
  ],
  "estimatedDuration": 15000,
  "estimatedCost": 2500,
  "metadata": {"createdBy": "planner", "createdAt": "2026-02-24T00:00:00Z", "confidence": 0.92}
}`

// The example response in [001] is a plan that runs.
func TestOutputExample(t *testing.T) {
	t.Parallel()
	for name, approved := range map[string]bool{"Ejemplo de Output": true, "the moderator refuses": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			answer := "false"
			if approved {
				answer = "true"
			}
			s.file("answers.yaml", "answers:\n"+
				"  - {system: You write, contains: AI ethics, json: {content: Machines should be kind.}}\n"+
				"  - {system: You write, contains: \"150\", text: Be kind.}\n"+
				"  - {system: You moderate, contains: Machines should be kind, json: {approved: "+answer+"}}\n"+
				"  - {system: You rank, contains: Machines should be kind, text: well found}\n")
			config := s.file("kairos.yaml", `
providers: {script: {type: scripted, file: answers.yaml}}
agents: [{id: writer, system_prompt: You write.}, {id: moderator, system_prompt: You moderate.}, {id: seo, system_prompt: You rank.}]
skills:
  - {id: generate_content, agent: writer}
  - {id: analyze_seo, agent: seo}
  - {id: moderate_content, agent: moderator}
  - {id: summarize_content, agent: writer}
`)
			stdout, _ := s.expect(0, "run", "--config", config, "--plan", s.file("plan.json", executionPlan), "--json")
			var got struct {
				Status  string
				Path    []string
				Outputs map[string]any
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Status != "completed" {
				t.Fatalf("%v\n%s", err, stdout)
			}
			_, summarised := got.Outputs["step-4"]
			if summarised != approved || got.Outputs["step-2"] != "well found" || approved && got.Outputs["step-4"] != "Be kind." {
				t.Errorf("%v %v", got.Path, got.Outputs)
			}
			if approved && !strings.HasSuffix(strings.Join(got.Path, " "), "step-4") && got.Path[0] != "step-1" {
				t.Errorf("path %v", got.Path)
			}
		})
	}
}
