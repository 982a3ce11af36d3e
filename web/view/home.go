package view

// HomePage is what is wrong, what needs somebody, what runs.
type HomePage struct {
	Shell
	Groups      []GroupRow
	Failed      string
	More        string
	Attention   []RunRow
	MoreWaiting string
	Approvals   []ApprovalView
	Running     []RunRow
	Counts      []Fact
	Empty       bool
	Topic       string
	// What happened since the reader's last visit.
	Left     Time
	Since    []Link
	Acts     []EventRow
	MoreActs string
	// The last 24 hours, per plan.
	Strips      []StripRow
	StripFrom   Time
	MoreStrips  string
	Acked       []AckRow
	AckedHead   string
	LastFailure string
}

// StripRow is a plan's last 24 hours.
type StripRow struct {
	Plan   Link
	Cells  []Cell
	OK     string
	Failed Link
	Label  string
}

// AckRow is a failure that somebody took note of.
type AckRow struct {
	What, Plan, Who, Note, Runs string
	Href, Back                  string
	At                          Time
}

// AckPage asks before failures are acknowledged, or that is taken back.
type AckPage struct {
	Shell
	Heading, Says, Button, Post string
	Plan, Node, Code            string
	Idem, Error                 string
	Back                        bool
}
