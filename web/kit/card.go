package kit

import "cmp"

// CardHead is the header of a card.
type CardHead struct {
	ID, Title, Remark string
	// Choices are the alternative views of the card, one of which is current. Label is their
	// accessible name.
	Choices []Link
	Label   string
}

// Tag is a short label. Class is a role, "m" for code, or empty.
type Tag struct{ Text, Class string }

// EmptyState describes what a page will show, and offers the next step.
type EmptyState struct {
	Text string
	Next Link
}

// SplitButton is the primary action of a page with its variants.
type SplitButton struct {
	Main Link
	// Label is the accessible name of the button that opens the menu, and ID the id of the menu.
	Label, ID string
	More      []Link
}

// CrumbsOf returns a breadcrumb trail of links.
func CrumbsOf(path ...Link) Crumbs { return Crumbs{Path: path} }

// Crumbs is a breadcrumb trail.
type Crumbs struct {
	Path []Link
	// Siblings is text at the end of the row. Next is a link after it.
	Siblings string
	Next     Link
}

func (t Tag) class() string { return cmp.Or(t.Class, "plain") }
