package view

// Note is what a person wrote about a run.
type Note struct {
	Who, Text string
	At        Time
}

// NotePage asks for a note.
type NotePage struct {
	Shell
	Run, RunHref string
	Text         string // as it was typed
	Idem, Error  string
	Notes        []Note // there already
}
