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
}

// DraftStep is a step of a draft.
type DraftStep struct {
	ID, Does, Effect string
	After            []string
	Unsafe           bool
}
