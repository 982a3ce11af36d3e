package view

// AuditPage is the audit log.
type AuditPage struct {
	Shell
	Query, Error, Suggestion string
	Ranges                   []Link
	Rows                     []AuditRow
	Count                    string
	Newer, Older             string
	Export                   string
	Kept                     string // what is kept how long
	// Check is the last verification, in a word and in a sentence.
	Check     Status
	Checked   string
	Verify    Link
	CanVerify bool
}

// AuditRow is an event of the audit log; its links narrow the list, About is the
// page of what it is about.
type AuditRow struct {
	Seq, Href        string
	At               Time
	Who, What, About Link
	Result           Status
	Why              string
	From             []Link // door and address
	Corr             Link
}

// AuditEventPage is one event with all that is known of it.
type AuditEventPage struct {
	Shell
	Action       string
	Result       Status
	Facts        []Fact
	Blocks       []Block // what changed, and its detail
	Entries      []EventRow
	Chain        []Fact
	Older, Newer string
}

// AuditVerifyPage says what a verification does, and what the last one found.
type AuditVerifyPage struct {
	Shell
	Idem, Error, Sentence string
	Check                 Status
	Checked               string
	Problems              []string
	UnderWay              bool
}
