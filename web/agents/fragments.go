package agents

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/part/circuit"
	"github.com/kairosd/kairosd/web/ui"
)

// fragments returns the live regions that follow circuit events.
func (s *section) fragments() []ui.Fragment {
	of := func(page, id string, op app.Operation, build func(*ui.Context) (templ.Component, error)) ui.Fragment {
		return ui.Fragment{Page: page, ID: id, Operation: op, Topics: []string{"circuits"}, Build: build}
	}
	circuits := func(l *circuit.List) templ.Component {
		if l == nil {
			return nil
		}
		return circuit.Section(*l)
	}
	return []ui.Fragment{
		of("/agents/providers", "catalog", app.ListProviders, func(c *ui.Context) (templ.Component, error) {
			rows, err := s.providers(c)
			return providersList(rows, catalogBar(c, "providers")), err
		}),
		of("/agents/tools", "catalog", app.ListTools, func(c *ui.Context) (templ.Component, error) {
			list, err := s.App.Tools.List(c, c.Principal.Actor())
			list, err = matching(c, list, err)
			return toolsList(s.tools(c, list), catalogBar(c, "tools")), err
		}),
		of("/agents/providers/:provider", "circuits", app.GetProvider, func(c *ui.Context) (templ.Component, error) {
			v, err := s.provider(c)
			if err != nil {
				return nil, err
			}
			return circuits(s.providerCircuit(c, v)), nil
		}),
		of("/agents/tools/:tool", "circuits", app.GetTool, func(c *ui.Context) (templ.Component, error) {
			t, err := s.tool(c)
			if err != nil {
				return nil, err
			}
			return circuits(s.toolCircuits(c, t)), nil
		}),
	}
}
