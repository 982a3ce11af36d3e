package view

// AuditPage is the audit log.
type AuditPage struct {
	Shell
	Form         AuditForm
	Rows         []EventRow
	Newer, Older string
}

// AuditForm is what the audit log is filtered by.
type AuditForm struct {
	Actor, Action, Object, Run, Result, Since string
}
