package ui

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// navItem is a word of the navigation. A page belongs to one by the section that it
// gives to shell.
//
// A place with an operation is shown to those who may use it.
type navItem struct {
	section, href, word, icon string
	op                        app.Operation
}

// places is the main navigation, in its order.
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

// phoneNavItems are the tabs of a phone: the first places, and the way to any run or plan.
var phoneNavItems = append(slices.Clone(places[:4]), navItem{"find", "/find", locale.Mark("Jump"), "i-search", ""})

// accountNavItems is the menu behind the reader's initials: settings and account.
var accountNavItems = []navItem{
	{"me", "/me", locale.Mark("You"), "i-user", ""},
	{"settings", "/settings/users", locale.Mark("Settings"), "i-system", app.ListUsers},
}

// nav is a navigation as a page shows it.
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

// Lists are where an error page leads: home, the list that the address belongs to, and the documentation.
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
