package kit

// ConfirmPage asks before something is done, for a reason.
type ConfirmPage struct {
	Shell
	Crumb                                  Link
	Heading, Text, Post, Back, Idem, Error string
	Do                                     string // sent along: what was read is what is done
	Facts                                  []Fact
	Danger, NeedsReason                    bool
	// Alternative is sent along.
	Alternative string
	// Host is sent along.
	Host string
	// Problems are the problems of a plan to accept; Lists are what else to read first; Checks are boxes to
	// tick.
	Problems []ProblemRow
	Lists    []ConfirmList
	Checks   []string
}

// ConfirmList is something to read before an act.
type ConfirmList struct {
	Title string
	Items []string
}

// List adds what else there is to read, if there is anything.
func (p *ConfirmPage) List(title string, items []string) {
	if len(items) > 0 {
		p.Lists = append(p.Lists, ConfirmList{title, items})
	}
}

// ProblemRow is one thing wrong with a plan.
type ProblemRow struct {
	Severity, Code, Where, Node, Message, Suggestion string
	Line                                             int // 0: none
}
