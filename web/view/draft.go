package view

// AskPage takes an intent; with Error it says why there is no plan.
type AskPage struct {
	Shell
	Intent, Idem string
	Agents       []Option
	Error        string
	Suggestion   string
	Rules        []string
	Answer       string // the last answer of a model that could not be used
	// MaxSteps and Budget bound the plan.
	MaxSteps, Budget string
}

// DraftPage is a plan that was made of an intent and not started.
type DraftPage struct {
	Shell
	Name, Key, Version string
	Intent, Idem, Post string
	PlanHref, EditHref string
	Agents             []Option
	Facts              []Fact
	Steps              []DraftStep
	Unsafe             int
	CanStart           bool
	Graph              *Graph
	Hash               string
	Draft, Archived    bool // it waits to be accepted; it was discarded
	CanDiscard         bool
	Assumed, Unusable  []string
	Problems           []ProblemRow
	Lines              [][]SourceSpan
	// Before is the draft that this one was refined from, with what changed.
	Before  *Link
	Changed string
	Diff    []DiffLine
}

// DraftStep is a step of a draft.
type DraftStep struct {
	ID, Does, Effect string
	Why              string
	After            []string
	Unsafe           bool
}
