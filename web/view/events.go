package view

// Events is a page of a run's journal.
type Events struct {
	Audit Link // the same run in the audit log
	Kinds []Link
	Rows  []EventRow
	Pages RowPages
}

// EventRow is one journal row or audit event.
type EventRow struct {
	Seq, What, Where, Who, Text string
	Href                        string // of what it is about
	At                          Time
	Status                      Status
}
