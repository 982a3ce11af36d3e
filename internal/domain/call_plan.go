package domain

import (
	"encoding/json"
	"fmt"
	"strings"
)

// CallPlan returns a plan in JSON that calls a tool with the input of the run, for a call that a
// person makes.
func CallPlan(tool string) ([]byte, error) {
	b, err := json.Marshal(map[string]any{
		"id": "try-" + strings.ReplaceAll(tool, ".", "-"), "name": "Try " + tool,
		"description": fmt.Sprintf("Calls %s with the input of the run.", tool),
		"nodes":       map[string]any{"call": map[string]any{"type": "tool", "tool": tool, "input": "${input}"}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	return b, nil
}
