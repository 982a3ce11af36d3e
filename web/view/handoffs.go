package view

// HandoffRow is work passing from one agent to another.
type HandoffRow struct {
	At                              Time
	From, To, Step, Reason, Context string
	Href                            string
}
