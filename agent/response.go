package agent

import (
	"encoding/json"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// value is the response as a journal keeps it.
func (r Response) value() any {
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

// responseOf reads back what value wrote; fields of another shape are empty.
func responseOf(v any) Response {
	var r struct {
		Text          string
		Model, Finish string
		Calls         []Call
	}
	b, err := jsonvalue.Encode(v)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return Response{}
	}
	return Response{Text: r.Text, Model: r.Model, Finish: r.Finish, Calls: r.Calls}
}
