package plannertest

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/planner/walk"
)

// Races generates graphs in which steps race each other. The result of a race depends on the order of arrival,
// so Plans has none.
func Races() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		m := map[string]any{}
		graph(t, m)
		nodes := m["nodes"].(map[string]any)
		before := len(nodes)
		for i := range rapid.IntRange(1, 2).Draw(t, "races") {
			var steps []any
			for j := range rapid.IntRange(2, 3).Draw(t, "steps of a race") {
				id := fmt.Sprintf("r%d%d", i, j)
				n := map[string]any{"type": rapid.SampledFrom([]string{"work", "work", "approval"}).Draw(t, "type")}
				if n["type"] == "approval" {
					n["input"] = map[string]any{"message": "continue?"}
				}
				if rapid.Bool().Draw(t, "a step of a race has needs") {
					n["needs"] = []any{rapid.SampledFrom([]string{name(0), name(before - 1)}).Draw(t, "need")}
					n["when"] = rapid.SampledFrom([]any{"success", "always", "any_success"}).Draw(t, "when")
				}
				nodes[id], steps = n, append(steps, id)
			}
			first := fmt.Sprintf("r%d", i)
			nodes[first] = map[string]any{"type": "work", "race": steps}
			if rapid.Bool().Draw(t, "after a race") {
				status := func(i int) string { return "${status." + steps[i].(string) + "}" }
				nodes[first+"n"] = map[string]any{"type": "work", "needs": []any{first},
					"input": map[string]any{"first": status(0), "second": status(1)},
					"when":  rapid.SampledFrom([]any{"success", "failure", "always"}).Draw(t, "when")}
			}
		}
		delete(m, "start")
		if rapid.Bool().Draw(t, "branches") {
			m["on_failure"] = "continue_branches"
		}
		b, err := json.Marshal(m)
		if err != nil {
			panic(err) // made of strings, numbers, lists and maps
		}
		return string(b)
	})
}

// race is the step whose race a step takes part in, or -1.
func (r *Reference) race(i int) int {
	for _, j := range r.needing(i) {
		if r.p.Nodes[j].When == walk.WhenFirst {
			return j
		}
	}
	return -1
}

// first is the step of a race that completed first, or -1.
func (r *Reference) first(race int) int {
	completed := func(j int) bool {
		return slices.Contains(r.p.Nodes[race].Needs, j) && r.nodes[j].settled && r.nodes[j].status == walk.Completed
	}
	for _, e := range r.log {
		if !e.start && e.Status == walk.Completed && completed(e.Node) {
			return e.Node
		}
	}
	if i := slices.IndexFunc(r.p.Nodes[race].Needs, completed); i >= 0 { // the one that is being settled
		return r.p.Nodes[race].Needs[i]
	}
	return -1
}

// lost reports whether another step of the race has completed.
func (r *Reference) lost(i int) bool {
	race := r.race(i)
	return race >= 0 && r.first(race) >= 0 && !(r.nodes[i].settled && r.nodes[i].status == walk.Completed)
}

// continues reports whether another step of the race may complete.
func (r *Reference) continues(i int) bool {
	race := r.race(i)
	return race >= 0 && slices.ContainsFunc(r.p.Nodes[race].Needs, func(j int) bool { return j != i && !r.nodes[j].settled })
}

// lastFailure is the last failure in a race that none of its steps has won, or nil if one of them has failed the run.
func (r *Reference) lastFailure(race int) *walk.Failure {
	if r.p.Nodes[race].When != walk.WhenFirst {
		return nil
	}
	var last *walk.Failure
	for _, e := range r.log {
		if !e.start && e.Status == walk.Failed && slices.Contains(r.p.Nodes[race].Needs, e.Node) && r.nodes[e.Node].settled &&
			r.nodes[e.Node].status == walk.Failed {
			last = at(e.Failure, r.p.Nodes[e.Node].ID)
		}
	}
	for _, j := range r.p.Nodes[race].Needs {
		if r.nodes[j].status == walk.Failed && r.nodes[j].unhandled {
			return nil
		}
	}
	return last
}
