// Package detail shows one thing in full, beside a list or as a page of its own: its name,
// facts, and values.
package detail

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// Detail is one thing in full.
type Detail struct {
	Name, Sub string
	Status    kit.Status
	Page      string // its own page; empty: it is shown there
	// Key names what is shown in the page: something else is another element, so that a
	// form or a log of it never becomes a part of this.
	Key    string
	Facts  []kit.Fact
	Began  kit.Time
	Blocks []kit.Block
	// Beside is the path of the page in whose pane it stands; empty: it is a page itself.
	Beside string
}

// Get makes a link within the page beside which it stands a request of htmx.
func (d Detail) Get(href string) templ.Attributes {
	if d.Beside == "" || !strings.HasPrefix(href, d.Beside+"?") {
		return nil
	}
	return kit.Get(href)
}
