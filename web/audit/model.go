package audit

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/query"
)

// AuditPage is the model of the audit log.
type AuditPage struct {
	kit.Shell
	Bar               query.Bar
	Error, Suggestion string
	Rows              []AuditRow
	Count             string
	Newer, Older      string
	Kept              string // retention period of the log
	// Check and Checked are the state of the last verification, and a sentence about it.
	Check     kit.Status
	Checked   string
	Verify    kit.Link
	CanVerify bool
}

// AuditRow is an event in the list. Its links filter the list, except About, which links to the
// page of the event's object.
type AuditRow struct {
	Seq, Href, Icon       string
	At                    kit.Time
	Actor, Action, Object kit.Link
	Plan                  string // plan of the run that the event is about
	Result                kit.Status
	Reason                string
	From                  []kit.Link // interface and address
	Request               kit.Link
}

// AuditEventPage is the model of the page of an event.
type AuditEventPage struct {
	kit.Shell
	Action       string
	Result       kit.Status
	Facts        []kit.Fact
	Blocks       []kit.Block // the change, and the detail
	Entries      []kit.EventRow
	Chain        []kit.Fact
	Older, Newer string
}

// AuditVerifyPage is the model of the page about the verification of the chain.
type AuditVerifyPage struct {
	kit.Shell
	Idem, Sentence string
	Check          kit.Status
	Checked        string
	Problems       []string
	UnderWay       bool
}
