package kit

// Field is an input of a form that is generated from a JSON Schema.
type Field struct {
	Name, Label, Type, Value, Hint string
	Required                       bool
	Options                        []string
	Rows                           int
	// ID identifies the field in the page, for links from the list of errors. Wrong is its error
	// message.
	ID, Error string
}
