package approval

import "github.com/kairosd/kairosd/web/kit"

// Card is a question for a person.
type Card struct {
	Origin
	Decision
	Answering
	Evidence
	TwoPeople
	ID, Href, Message string
	OnRun             bool // shown on the page of its run
	Current           bool // the decision beside the list
	Since             kit.Time
	Due               string
	HasDeadline       bool
	Action            string
	Assignee          string
	History           string
	Past              []Card
	Similar           []kit.Link // acts on all of its kind
}

// Origin is where a request comes from.
type Origin struct {
	Run, RunHref   string
	Plan, PlanHref string
	Version, Node  string
	StartedBy      string
	// By is who requests; Agent is the agent, if it is one.
	By, Agent string
}

// Decision is what became of a request.
type Decision struct {
	Status    string
	Outcome   kit.Status
	Decided   kit.Time
	DecidedBy string
	Comment   string
	Given     string
}

// Answering is the form that answers a request.
type Answering struct {
	Digest           string
	CSRF, Idem, Keep string
	Fields           []kit.Field
	Typed            string // the reason, as it was typed before
	FormError        string
	Changed          bool // what is shown is not what was answered
	CanAct           bool
	Assign           []kit.Option // to whom it can be given
	// Answers are the buttons, and Given is the answer that a person gave.
	Answers []Answer
	MayAsk  bool
}

// Evidence is what a decision rests on.
type Evidence struct {
	// Tool and Arguments are the call to approve, in full.
	Tool, Arguments string
	Facts           []kit.Fact // the arguments, where they are few and plain
	Label           string     // of the risk or amount
	Why             string     // what a model said of it
	Basis           []kit.Fact // the input of the run and the outputs before, where they are few and plain
	Seen            []kit.Block
	Ahead           []Ahead
	Changes         []kit.DiffLine // of the values against those proposed
	Diff            kit.Link       // of a new version of the plan
}

// TwoPeople is the rule that the starter of a run may not answer.
type TwoPeople struct {
	// Two names the first of the two people that are needed; OwnRun: the reader
	// is, and may not answer.
	Two    string
	OwnRun bool
	// OwnToken: they did so by a token that they made.
	OwnToken bool
}

// Ahead is where an answer leads.
type Ahead struct {
	Answer, Text   string
	Steps, Effects []string
}

// Answer is an answer that an approval takes.
type Answer struct {
	ID, Label       string
	Rejects, Chosen bool   // Chosen: it is the one that is most likely wanted
	Key             string // of the keyboard; empty: none
}

// Confirmation is what was just decided: Sum counts several.
type Confirmation struct {
	Sum     string
	Decided []Decided
}

// Decided is a request with its outcome. Problem is why it was not decided.
type Decided struct {
	Outcome      kit.Status
	Request, Run kit.Link
	Problem      string
}
