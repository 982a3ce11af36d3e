package view

// ApprovalView is a question for a person.
type ApprovalView struct {
	ID, Href, Message string
	Run, RunHref      string
	OnRun             bool // shown on the page of its run
	Plan, Node        string
	Since             Time
	Due               string
	Digest            string
	Status            string
	DecidedBy         string
	Comment           string
	Action            string
	CSRF, Idem        string
	Fields            []Field
	FormError         string
	// Tool and Arguments are the call that is asked about, in full.
	Tool, Arguments string
	Facts           []Fact // the arguments, where they are few and plain
	StartedBy       string
}

// ApprovalsPage is the inbox.
type ApprovalsPage struct {
	Shell
	Doubts       []RunRow
	States       []Link
	Items        []ApprovalView
	Newer, Older string
	Topic        string
}

// ApprovalPage is one decision.
type ApprovalPage struct {
	Shell
	Approval ApprovalView
}
