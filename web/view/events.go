package view

// Events is a page of a run's journal.
type Events struct {
	Audit Link // the same run in the audit log
	Kinds []Link
	Rows  []EventRow
	Pages RowPages
}
