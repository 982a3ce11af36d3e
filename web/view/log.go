package view

// Log is what the steps of a run have logged.
type Log struct {
	Run      string // address of the run's page
	Chunks   [][]LogLine
	Shown    string // which lines of how many
	Pages    []Link
	Levels   []Link
	Step     string
	Find     string
	Level    string
	File     string // address of the whole as text
	Filtered bool
	Other    []Field // parameters that stay
}

// LogLine is one line of a node's log.
type LogLine struct {
	Number, Level, Step, Text, Class string
	Href                             string
	At                               Time
}
