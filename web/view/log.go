package view

// LogLine is one line of a node's log.
type LogLine struct {
	Number, Level, Step, Text string
	At                        Time
}
