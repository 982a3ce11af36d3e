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
}
