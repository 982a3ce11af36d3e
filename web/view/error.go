package view

// ErrorPage says what happened and what still works.
type ErrorPage struct {
	Shell
	Code       int
	Headline   string
	Message    string
	Suggestion string
	ID         string
	Links      []Link
	Similar    []Link // what may have been meant
}
