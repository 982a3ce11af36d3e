package kit

import "github.com/a-h/templ"

// RowPages describes the pages of a long table.
type RowPages struct {
	Shown string // range of the displayed rows; empty if the table has one page
	Links []Link
	// Swaps makes the links replace a part of the page.
	Swaps bool
}

func (p RowPages) get(href string) templ.Attributes {
	if !p.Swaps {
		return nil
	}
	return HXGet(href)
}
