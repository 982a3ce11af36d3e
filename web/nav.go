package web

import (
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// place is a word of the main navigation. A page belongs to one by the section
// that it gives to shell.
type place struct{ section, href, word string }

// places is the main navigation, in its order (UI 3.1).
var places = []place{
	{"home", "/", locale.Mark("Home")},
	{"runs", "/runs", locale.Mark("Runs")},
	{"plans", "/plans", locale.Mark("Plans")},
	{"approvals", "/approvals", locale.Mark("Approvals")},
	{"audit", "/audit", locale.Mark("Audit")},
	{"system", "/system", locale.Mark("System")},
}

// nav is the navigation as a page shows it.
func (r *request) nav(section string, pending int64) []view.Link {
	out := make([]view.Link, 0, len(places))
	for _, p := range places {
		l := view.Link{Text: r.t(p.word), Href: p.href, Current: p.section == section}
		if p.section == "approvals" && pending > 0 {
			l.Count = r.number(pending)
		}
		out = append(out, l)
	}
	return out
}
