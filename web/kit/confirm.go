package kit

// ConfirmPage asks for confirmation of an action, and for a reason if NeedsReason is set.
type ConfirmPage struct {
	Shell
	Crumbs                                 Crumbs
	Heading, Text, Post, Back, Idem, Error string
	Action                                 string // hidden form value that names the action
	Facts                                  []Fact
	Danger, NeedsReason                    bool
	// Alternative is a hidden value of the form.
	Alternative string
	// Host is a hidden value of the form.
	Host string
	// Problems are the problems of the plan to accept. Lists are further details to review. Checks
	// are the labels of checkboxes that must all be checked.
	Problems []ProblemRow
	Lists    []ConfirmList
	Checks   []string
}

// ConfirmList is a titled list of details to review before an action.
type ConfirmList struct {
	Title string
	Items []string
}

// List adds a list, unless items is empty.
func (p *ConfirmPage) List(title string, items []string) {
	if len(items) > 0 {
		p.Lists = append(p.Lists, ConfirmList{title, items})
	}
}

// ProblemRow is one problem of a plan.
type ProblemRow struct {
	Severity, Code, Where, Node, Message, Suggestion string
	Line                                             int // 0 if unknown
}
