package view

// StepHit is an attempt of a step in a list across runs.
type StepHit struct {
	Node, Href     string
	Status         Status
	Plan, PlanHref string
	Version        string
	Run, RunHref   string
	Attempt, Took  string
	Code, Message  string
	At             Time
}

// StepsPage is the search of steps across runs.
type StepsPage struct {
	Shell
	Query, Sort       string
	Chips             []Link
	Error, Suggestion string
	Rows              []StepHit
	Count, Older      string
	ByTook, ByRun     string
}
