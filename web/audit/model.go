package audit

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/query"
)

// AuditPage is the audit log.
type AuditPage struct {
	kit.Shell
	Bar               query.Bar
	Error, Suggestion string
	Rows              []AuditRow
	Count             string
	Newer, Older      string
	Kept              string // what is kept how long
	// Check is the last verification, in a word and in a sentence.
	Check     kit.Status
	Checked   string
	Verify    kit.Link
	CanVerify bool
}

// AuditRow is an event of the audit log; its links narrow the list, About is the
// page of what it is about.
type AuditRow struct {
	Seq, Href, Icon  string
	At               kit.Time
	Who, What, About kit.Link
	Plan             string // of the run that it is about
	Result           kit.Status
	Why              string
	From             []kit.Link // door and address
	Request          kit.Link
}

// AuditEventPage is one event with all that is known of it.
type AuditEventPage struct {
	kit.Shell
	Action       string
	Result       kit.Status
	Facts        []kit.Fact
	Blocks       []kit.Block // what changed, and its detail
	Entries      []kit.EventRow
	Chain        []kit.Fact
	Older, Newer string
}

// AuditVerifyPage describes a verification, and the result of the last one.
type AuditVerifyPage struct {
	kit.Shell
	Idem, Sentence string
	Check          kit.Status
	Checked        string
	Problems       []string
	UnderWay       bool
}
