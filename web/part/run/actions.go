package run

import "github.com/kairosd/kairosd/internal/domain"

// BulkAction is an action on many runs as pages offer it.
type BulkAction struct {
	Action      domain.Action
	Danger      bool
	NeedsReason bool
	Canary      bool // one run may go first
}

// BulkActions are all actions on many runs, in the order that pages offer them.
var BulkActions = []BulkAction{
	{Action: domain.ActionResume, Canary: true},
	{Action: domain.ActionRerun, Canary: true},
	{Action: domain.ActionCancel, Danger: true, NeedsReason: true},
	{Action: domain.ActionDelete, Danger: true, NeedsReason: true},
	{Action: domain.ActionRelease},
	{Action: domain.ActionAcknowledge},
	{Action: domain.ActionLabel},
}
