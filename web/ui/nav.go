package ui

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// navItem is an entry of the navigation. It is current on pages that pass its section to Shell. If
// op is set, only users who may use the operation see the entry.
type navItem struct {
	section, href, word, icon string
	op                        app.Operation
}

// places is the main navigation, in order.
var places = []navItem{
	{"home", "/", locale.Mark("Home"), "i-home", ""},
	{"runs", "/runs", locale.Mark("Runs"), "i-runs", ""},
	{"approvals", "/approvals", locale.Mark("Inbox"), "i-inbox", ""},
	{"plans", "/plans", locale.Mark("Plans"), "i-plan", ""},
	{"agents", "/agents", locale.Mark("Agents"), "i-agent", ""},
	{"handoffs", "/handoffs", locale.Mark("Handoffs"), "i-handoff", ""},
	{"audit", "/audit", locale.Mark("Audit"), "i-log", ""},
	{"system", "/system", locale.Mark("System"), "i-system", ""},
}

// phoneNavItems is the navigation on phones: the first entries of the main navigation, and the
// search.
var phoneNavItems = append(slices.Clone(places[:4]), navItem{"find", "/find", locale.Mark("Jump"), "i-search", ""})

// accountNavItems is the account menu.
var accountNavItems = []navItem{
	{"me", "/me", locale.Mark("You"), "i-user", ""},
	{"settings", "/settings/users", locale.Mark("Settings"), "i-system", app.ListUsers},
}

// nav returns the entries of a navigation that the user may open.
func nav(c *Context, places []navItem, section string, pending int64) []kit.Link {
	out := make([]kit.Link, 0, len(places))
	for _, p := range places {
		if p.op != "" && !c.May(p.op) {
			continue
		}
		l := kit.Link{Text: c.T(p.word), Href: p.href, Icon: p.icon, Current: p.section == section}
		if p.section == "approvals" && pending > 0 {
			l.Count = c.Number(pending)
		}
		out = append(out, l)
	}
	return out
}

// Lists returns the links of an error page: home, the list that the address belongs to, and the
// documentation.
func (c *Context) Lists() []kit.Link {
	section := "runs"
	if first, _, _ := strings.Cut(strings.TrimPrefix(c.Echo.Request().URL.Path, "/"), "/"); first != "" {
		section = first
	}
	var home, list kit.Link
	for _, l := range append(nav(c, places, section, 0), nav(c, accountNavItems, section, 0)...) {
		switch {
		case l.Href == "/":
			home = kit.Link{Text: l.Text, Href: l.Href}
		case l.Current || l.Href == "/runs" && list.Href == "":
			list = kit.Link{Text: l.Text, Href: l.Href}
		}
	}
	return []kit.Link{home, list, {Text: c.T("Documentation"), Href: "/docs"}}
}
