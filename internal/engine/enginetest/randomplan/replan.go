package randomplan

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Planner makes new versions of composite plans. Steps that may fail become calls, unless they have settled, so that the result
// does not depend on speed.
type Planner struct{}

// Replan returns the new version. For some steps, a person must accept it, or there is none.
func (Planner) Replan(_ context.Context, r domain.ReplanRequest) (domain.Replanned, error) {
	out := domain.Replanned{Reason: r.Node + " failed", Usage: domain.Usage{InputTokens: 3}}
	switch r.Node {
	case "n1":
		out.Unsafe = []string{"n1"}
	case "n3":
		return out, errors.New("there is no other way")
	}
	v, err := jsonvalue.Decode(r.Version.Source)
	if err != nil {
		return out, err
	}
	doc, _ := v.(map[string]any)
	nodes, _ := doc["nodes"].(map[string]any)
	for _, s := range r.Settled {
		delete(nodes, s.Node) // restored below
	}
	for _, n := range nodes {
		if n, _ := n.(map[string]any); n["on_error"] == "replan" {
			n["type"] = "call"
			delete(n, "on_error")
		}
	}
	all, err := jsonvalue.Decode(r.Version.Source)
	if err != nil {
		return out, err
	}
	before, _ := all.(map[string]any)["nodes"].(map[string]any)
	for _, s := range r.Settled {
		nodes[s.Node] = before[s.Node]
	}
	doc["id"] = r.Version.PlanKey
	out.Source, err = json.Marshal(doc)
	return out, err
}
