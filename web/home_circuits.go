package web

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// runsSearched bounds how many unfinished runs are looked through for what they call.
const runsSearched = 200

// missed are the tools with an open circuit that plans of unfinished runs call, by
// themselves or through an agent.
func (r *request) missed() ([]domain.ToolInfo, error) {
	list, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(t domain.ToolInfo) bool { return !slices.ContainsFunc(t.Circuits, domain.Circuit.Refuses) })
	if len(list) == 0 {
		return nil, nil
	}
	agents, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return nil, err
	}
	runs, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting}, Page: domain.Page{Limit: runsSearched}})
	if err != nil {
		return nil, err
	}
	called, seen := map[string]bool{}, map[string]bool{}
	for _, run := range runs.Items {
		if seen[run.Hash] {
			continue
		}
		seen[run.Hash] = true
		program, err := r.s.Engine.Program(r.ctx, run.Hash)
		if err != nil {
			continue // it names what this installation no longer has
		}
		for _, n := range program.Nodes {
			called[n.Tool] = true
			for _, a := range agents {
				if n.Agent == a.ID || n.Agent == "" && a.Default && n.Type == walk.TypeAgent {
					for _, name := range a.Tools {
						called[name] = true
					}
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(t domain.ToolInfo) bool { return !called[t.Name] }), nil
}
