package conversation

import (
	"encoding/json"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// recorded returns the response in the form of the journal.
func recorded(r llm.Response) any {
	v := map[string]any{"text": r.Text}
	if r.Model != "" {
		v["model"] = r.Model
	}
	if r.Finish != "" {
		v["finish"] = r.Finish
	}
	if len(r.Calls) > 0 {
		calls := make([]any, len(r.Calls))
		for i, c := range r.Calls {
			calls[i] = map[string]any{"id": c.ID, "tool": c.Tool, "arguments": c.Arguments}
		}
		v["calls"] = calls
	}
	return v
}

// responseOf decodes the form of recorded. Fields with other types are empty.
func responseOf(v any) llm.Response {
	var r struct {
		Text          string
		Model, Finish string
		Calls         []llm.Call
	}
	b, err := jsonvalue.Encode(v)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return llm.Response{}
	}
	return llm.Response{Text: r.Text, Model: r.Model, Finish: r.Finish, Calls: r.Calls}
}
