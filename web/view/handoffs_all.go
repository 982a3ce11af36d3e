package view

// HandoffsPage is who gave what to whom, in all runs.
type HandoffsPage struct {
	Shell
	Query, Error, Suggestion string
	Ranges, Views            []Link
	Loops                    bool
	Among                    string
	Rows                     []HandoffLine
	Rows2                    []HandoffLoop
	Newer, Older             string
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
