package run

import "github.com/kairosd/kairosd/internal/domain"

// BulkAction is an action that is available as a bulk operation.
type BulkAction struct {
	Action      domain.Action
	Danger      bool
	NeedsReason bool
	Canary      bool // offers to act on one run first
}

// BulkActions are all actions of bulk operations, in the order of the pages.
var BulkActions = []BulkAction{
	{Action: domain.ActionResume, Canary: true},
	{Action: domain.ActionRerun, Canary: true},
	{Action: domain.ActionCancel, Danger: true, NeedsReason: true},
	{Action: domain.ActionDelete, Danger: true, NeedsReason: true},
	{Action: domain.ActionRelease},
	{Action: domain.ActionAcknowledge},
	{Action: domain.ActionLabel},
}
