package query

import "github.com/kairosd/kairosd/web/ui"

// CatalogNames returns the names of the configured agents, tools, or providers.
func CatalogNames(c *ui.Context, kind string) ([]string, error) {
	var names []string
	switch kind {
	case "agent":
		list, err := c.Site.App.Agents.List(c, c.Principal.Actor())
		for _, a := range list {
			names = append(names, a.ID)
		}
		return names, err
	case "provider":
		list, err := c.Site.App.Providers.List(c, c.Principal.Actor())
		for _, p := range list {
			names = append(names, p.Name)
		}
		return names, err
	}
	list, err := c.Site.App.Tools.List(c, c.Principal.Actor())
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, err
}
