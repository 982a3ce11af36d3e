package view

// HandoffsPage is who gave what to whom, in all runs.
type HandoffsPage struct {
	Shell
	Query, Error, Suggestion string
	Ranges, Views            []Link
	Loops                    bool
	Among                    string
	Matrix                   *HandoffMatrix
	Rows                     []HandoffLine
	Rows2                    []HandoffLoop
	Newer, Older             string
}

// HandoffMatrix counts handoffs from x to; Left are agents that have no room.
type HandoffMatrix struct {
	Agents []string
	Rows   []HandoffMatrixRow
	Left   int
}

// HandoffMatrixRow is what one agent gave to others.
type HandoffMatrixRow struct {
	From  string
	Cells []HandoffCell
}

// HandoffCell is a number of handoffs and the share of those that failed.
type HandoffCell struct {
	Text, Failed, Href string
	Shade              int
}

// HandoffLine is a handoff of some run.
type HandoffLine struct {
	At                        Time
	From, To, Plan, Run, Step Link
	Reason, Context, Size     string
	Href                      string // its own page
	Status                    Status
}

// HandoffLoop is a run in which work went back and forth.
type HandoffLoop struct {
	Run                 Link
	Plan, Agents, Times string
	Last                Time
}
