package kit

import "cmp"

// CardHead is the head of a card: its title, a remark beside it, and choices at its end.
type CardHead struct {
	ID, Title, Remark string
	// Choices are how the card shows what it shows, of which one is on; Label names them.
	Choices []Link
	Label   string
}

// Tag is a word or code about something; Class is a role, "m" for code, or empty.
type Tag struct{ Text, Class string }

// EmptyState describes what a page will show, and offers the next step.
type EmptyState struct {
	Text string
	Next Link
}

// SplitButton is the primary action of a page with its variants.
type SplitButton struct {
	Main Link
	// Label names the button that opens the variants; ID is that of their menu.
	Label, ID string
	More      []Link
}

// Crumbs are the way to a page, and what follows it.
type Crumbs struct {
	Way []Link
	// Beside is said at the end of the row; Next leads on.
	Beside string
	Next   Link
}

func (t Tag) class() string { return cmp.Or(t.Class, "plain") }
