package view

// ApprovalView is a question for a person.
type ApprovalView struct {
	ID, Href, Message string
	Run, RunHref      string
	OnRun             bool // shown on the page of its run
	Current           bool // the decision beside the list
	Plan, PlanHref    string
	Version, Node     string
	Since             Time
	Due               string
	Digest            string
	Status            string
	Outcome           Status
	Decided           Time
	DecidedBy         string
	Comment           string
	Action            string
	CSRF, Idem, Keep  string
	Fields            []Field
	Typed             string // the reason, as it was typed before
	FormError         string
	Changed           bool // what is shown is not what was answered
	CanAct            bool
	// Tool and Arguments are the call that is asked about, in full.
	Tool, Arguments string
	Facts           []Fact // the arguments, where they are few and plain
	StartedBy       string
	// Two says that two people are needed, and who is the first; OwnRun: the reader
	// is, and may not answer.
	Two    string
	OwnRun bool
	// OwnToken: they did so by a token that they made.
	OwnToken bool
	// By says who asks; Agent is the agent, if it is one.
	By, Agent string
	Label     string // of the risk or amount
	Assignee  string
	Assign    []Option // to whom it can be given
	// Answers are the buttons, and Given is the answer that a person gave.
	Answers []AnswerButton
	Given   string
	MayAsk  bool
	Why     string // what a model said of it
	Seen    []Block
	Ahead   []Ahead
	History string
	Past    []ApprovalView
	Changes []DiffLine // of the values against those proposed
	Diff    Link       // of a new version of the plan
	Alike   []Link     // acts on all of its kind
}

// Ahead is where an answer leads.
type Ahead struct {
	Answer, Says   string
	Steps, Effects []string
}

// ApprovalsPage is the inbox with a decision beside it.
type ApprovalsPage struct {
	Shell
	// Doubts are runs with a call of which nobody knows whether it happened, Over those
	// that used all they may; where there are more, an address of them all.
	Doubts, Over         []RunRow
	MoreDoubts, MoreOver string
	// Plan, Agent, Show and Status are what the list is narrowed to; Plans and Agents
	// what it may be narrowed to further.
	Plan, Agent, Show, Status string
	Plans, Agents             []string
	States, Terms             []Link
	Items                     []ApprovalView
	Newer, Older              string
	Topic, List               string
	Empty, Others             string
	Chosen                    bool // the decision was asked for: a small screen shows it alone
	Decision                  *ApprovalView
}

// ApprovalsBulkPage lists what one answer would decide.
type ApprovalsBulkPage struct {
	Shell
	Heading, Verb, Plan, Node, Answer string
	Items                             []ApprovalView
	Idem, Error, Reason               string
	Refused                           []string
	Danger                            bool
}

// AnswerButton is an answer that an approval takes.
type AnswerButton struct {
	ID, Label       string
	Rejects, Chosen bool   // Chosen: it is the one that is most likely wanted
	Key             string // of the keyboard; empty: none
}
