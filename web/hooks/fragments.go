package hooks

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// fragments returns the parts of the pages that are requested alone.
func (s *section) fragments() []ui.Fragment {
	of := func(page, id string, op app.Operation, build func(c *ui.Context) (templ.Component, error)) ui.Fragment {
		return ui.Fragment{Page: page, ID: id, Operation: op, Topics: []string{"runs"}, Build: build}
	}
	return []ui.Fragment{
		{Page: "/events/hooks/new", ID: plan.ProfileID, Operation: app.CreateHook, Build: s.profileOf},
		{Page: "/events/hooks/:hook/edit", ID: plan.ProfileID, Operation: app.UpdateHook, Build: s.profileOf},
		of("/events/hooks", "hooks", app.ListHooks, func(c *ui.Context) (templ.Component, error) {
			p, err := s.listPage(c)
			return hooks(p), err
		}),
		of("/events/hooks/:hook", "hook", app.GetHook, func(c *ui.Context) (templ.Component, error) {
			x, err := s.find(c)
			if err != nil {
				return nil, err
			}
			p, err := s.head(c, x)
			return hookHead(p), err
		}),
		of("/events/hooks/:hook", "hook-deliveries", app.GetHook, func(c *ui.Context) (templ.Component, error) {
			x, err := s.find(c)
			if err != nil {
				return nil, err
			}
			v, err := s.deliveries(c, x)
			return liveDeliveries(v), err
		}),
	}
}
