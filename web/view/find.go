package view

// FindPage is what a text may mean.
type FindPage struct {
	Shell
	Query     string
	Runs      []RunRow
	Kinds     []FindKind
	Headlines Link
}

// FindKind is what was found of one kind.
type FindKind struct {
	Title string
	Hits  []Link
}
