package view

import "github.com/kairosd/kairosd/web/part/graph"

// IntentForm takes what is wanted of a plan.
type IntentForm struct {
	Action, CSRF, Idem, Button string
	Intent, Examples           string
	Agents, Providers, Only    []Option
	// MaxSteps and Budget bound the plan.
	MaxSteps, Budget string
	Approve, Fresh   bool
	Refine           bool // another draft of the same
}

// AskPage takes an intent; Error says why what was typed cannot be used.
type AskPage struct {
	Shell
	Form  IntentForm
	Error string
}

// DraftPage is the making of a plan of an intent, and the plan, which nothing has
// started.
type DraftPage struct {
	Shell
	Name, Key, Version string
	Intent, Idem       string
	// Reason why an agent answers directly; empty: that of the version.
	Reason             string
	PlanHref, EditHref string
	Facts              []Fact
	Steps              []DraftStep
	Unsafe             int
	CanStart           bool
	Graph              *graph.Graph
	Open, Archived     bool // it waits to be accepted; it was discarded
	CanDiscard         bool
	Assumed, Unusable  []string
	Problems           []ProblemRow
	Lines              [][]SourceSpan
	Planning           bool
	ID                 string
	Status             Status
	Revision           string
	Change             string
	Progress           []DraftNote
	Failure            *DraftFailure
	Refused            string
	Form               IntentForm
	// Before is the draft that this one was refined from, with what changed; Later
	// are those that refine it.
	Before  *Link
	Changed string
	Later   []Link
	Diff    []DiffLine
	// Alternatives can be accepted instead of the plan.
	Alternatives []DraftAlternative
}

// DraftAlternative is a plan that can be accepted instead of the proposed one.
type DraftAlternative struct {
	Kind, Name, Tokens, Took, Steps string
}

// DraftNote is one thing that was told of planning.
type DraftNote struct {
	At         Time
	What, Who  string
	Text, Took string
	Problems   []string
	Last       bool
	Start      int64 // ms; the time goes on
}

// DraftFailure is why there is no plan.
type DraftFailure struct {
	Message, Suggestion, Code string
	Rules                     []string
	Answer                    string // the last answer of a model that could not be used
	Providers                 []Option
}

// DraftRow is a draft in a list.
type DraftRow struct {
	Status              Status
	Intent, Href        string
	Revision, Who, Plan string
	Error               string
	At                  Time
}

// DraftStep is a step of a draft.
type DraftStep struct {
	ID, Does, Effect string
	Why              string
	After            []string
	Unsafe, Chosen   bool
}
