package web

import (
	"strings"
	"unicode"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// place is a word of the navigation. A page belongs to one by the section that it
// gives to shell.
//
// A place with an operation is shown to those who may use it.
type place struct {
	section, href, word string
	op                  app.Operation
}

// places is the main navigation, in its order.
var places = []place{
	{"home", "/", locale.Mark("Home"), ""},
	{"runs", "/runs", locale.Mark("Runs"), ""},
	{"plans", "/plans", locale.Mark("Plans"), ""},
	{"approvals", "/approvals", locale.Mark("Approvals"), ""},
	{"handoffs", "/handoffs", locale.Mark("Handoffs"), ""},
	{"agents", "/agents", locale.Mark("Agents"), ""},
	{"audit", "/audit", locale.Mark("Audit"), ""},
	{"system", "/system", locale.Mark("System"), ""},
}

// ownPlaces live behind the initials of whoever reads: what is set, and who they are.
var ownPlaces = []place{
	{"me", "/me", locale.Mark("You"), ""},
	{"settings", "/settings/users", locale.Mark("Settings"), app.ListUsers},
}

// nav is a navigation as a page shows it.
func (r *request) nav(places []place, section string, pending int64) []view.Link {
	out := make([]view.Link, 0, len(places))
	for _, p := range places {
		if p.op != "" && !r.may(p.op) {
			continue
		}
		l := view.Link{Text: r.t(p.word), Href: p.href, Current: p.section == section}
		if p.section == "approvals" && pending > 0 {
			l.Count = r.number(pending)
		}
		out = append(out, l)
	}
	return out
}

// lists are where an error page leads: home, and the list that the address belongs to.
func (r *request) lists() []view.Link {
	section := "runs"
	if first, _, _ := strings.Cut(strings.TrimPrefix(r.c.Request().URL.Path, "/"), "/"); first != "" {
		section = first
	}
	var home, list view.Link
	for _, l := range append(r.nav(places, section, 0), r.nav(ownPlaces, section, 0)...) {
		switch {
		case l.Href == "/":
			home = view.Link{Text: l.Text, Href: l.Href}
		case l.Current || l.Href == "/runs" && list.Href == "":
			list = view.Link{Text: l.Text, Href: l.Href}
		}
	}
	return []view.Link{home, list}
}

// initials are two letters that stand for a name: of its first two words, or the
// first two of its only one.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) })
	switch len(words) {
	case 0:
		return "?"
	case 1:
		letters := []rune(words[0])
		return strings.ToUpper(string(letters[:min(2, len(letters))]))
	}
	return strings.ToUpper(string([]rune(words[0])[:1]) + string([]rune(words[1])[:1]))
}
