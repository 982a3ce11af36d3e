package approval

import "github.com/kairosd/kairosd/web/kit"

// Card is an approval request.
type Card struct {
	Origin
	Decision
	Answering
	Evidence
	TwoPeople
	ID, Href, Message string
	OnRun             bool // shown on the page of its run
	Current           bool // the request next to the list
	Since             kit.Time
	Due               string
	HasDeadline       bool
	Action            string
	Assignee          string
	History           string
	Past              []Card
	Similar           []kit.Link // bulk actions on similar requests
}

// Origin describes the source of a request.
type Origin struct {
	Run, RunHref   string
	Plan, PlanHref string
	Version, Node  string
	StartedBy      string
	// By is the name of the requester. Agent is set if it is an agent.
	By, Agent string
}

// Decision is the outcome of a request.
type Decision struct {
	Status    string
	Outcome   kit.Status
	Decided   kit.Time
	DecidedBy string
	Comment   string
	Given     string
}

// Answering is the form that decides a request.
type Answering struct {
	Digest           string
	CSRF, Idem, Keep string
	Fields           []kit.Field
	Typed            string // comment that was submitted with an error
	FormError        string
	Changed          bool // the request changed after the form was submitted
	CanAct           bool
	Assign           []kit.Option // possible assignees
	// Answers are the buttons. MayAsk offers to request changes.
	Answers []Answer
	MayAsk  bool
}

// Evidence is the information for a decision.
type Evidence struct {
	// Tool and Arguments are the complete tool call to approve.
	Tool, Arguments string
	Facts           []kit.Fact // arguments, if they are few and plain
	Label           string     // risk or amount
	Why             string     // explanation of the model
	Basis           []kit.Fact // input of the run and previous outputs, if they are few and plain
	Seen            []kit.Block
	Predicted       []PredictedEffect
	Changes         []kit.DiffLine // diff between the proposed and the approved values
	Diff            kit.Link       // diff of a new version of the plan
}

// TwoPeople describes the rule that the person who started a run may not decide its requests.
type TwoPeople struct {
	// Two is the name of the person who started the run. OwnRun means that it is the user, who may
	// not decide.
	Two    string
	OwnRun bool
	// OwnToken means that the user's token started the run.
	OwnToken bool
}

// PredictedEffect is the predicted effect of an answer.
type PredictedEffect struct {
	Answer, Text   string
	Steps, Effects []string
}

// Answer is a possible answer to an approval request.
type Answer struct {
	ID, Label       string
	Rejects, Chosen bool   // Chosen marks the default
	Key             string // keyboard shortcut, or empty
}

// Confirmation contains the decisions that were just made. Sum summarizes several decisions.
type Confirmation struct {
	Sum     string
	Decided []Decided
}

// Decided is a request with its outcome. Problem is the reason why it was not decided.
type Decided struct {
	Outcome      kit.Status
	Request, Run kit.Link
	Problem      string
}
