package events

import "github.com/kairosd/kairosd/web/kit"

// Events is a page of a run's events.
type Events struct {
	Audit kit.Link // events of the run in the audit log
	Kinds []kit.Link
	Rows  []kit.EventRow
	Pages kit.RowPages
}
