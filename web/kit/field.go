package kit

// Field is an input of a form made from a JSON Schema.
type Field struct {
	Name, Label, Type, Value, Hint string
	Required                       bool
	Options                        []string
	Rows                           int
	// ID names the field in the page, for the summary of problems; Wrong is its problem.
	ID, Wrong string
}
