package kit

// RowPages says which rows of a long table are on a page, and leads to the others.
type RowPages struct {
	Shown string // empty: all of them
	Links []Link
}
