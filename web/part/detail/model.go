// Package detail renders the details of an item in a pane next to a list, or on a page: its name,
// facts, and values.
package detail

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// Detail contains the details of an item.
type Detail struct {
	Name, Sub string
	Status    kit.Status
	Page      string // address of the item's own page, or empty on that page
	// Key identifies the item. Items with different keys are different elements for htmx, so that a
	// form or a log of one item is never merged into another.
	Key    string
	Facts  []kit.Fact
	Began  kit.Time
	Blocks []kit.Block
	// Beside is the path of the page that shows the detail in a pane, or empty on the item's own
	// page.
	Beside string
}

// Get returns htmx attributes for a link that stays on the page Beside, or nil.
func (d Detail) Get(href string) templ.Attributes {
	if d.Beside == "" || !strings.HasPrefix(href, d.Beside+"?") {
		return nil
	}
	return kit.HXGet(href)
}
