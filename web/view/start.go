package view

// StartPage is the form that starts a run.
type StartPage struct {
	Shell
	Plan, Version string
	Post, Idem    string
	Fields        []Field
	Input         string
	Error         string
	Problems      []string
	CLI           string
}
