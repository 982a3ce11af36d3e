package kit

import "github.com/a-h/templ"

// RowPages shows which rows of a long table are on a page, and links to the others.
type RowPages struct {
	Shown string // empty: all of them
	Links []Link
	// Swaps makes its links replace a part of the page that they lead to.
	Swaps bool
}

func (p RowPages) get(href string) templ.Attributes {
	if !p.Swaps {
		return nil
	}
	return Get(href)
}
