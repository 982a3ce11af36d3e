package planner

import (
	"context"
	"time"
)

// Audit statuses.
const (
	AuditStarted   = "started"
	AuditCompleted = "completed"
	AuditFailed    = "failed"
)

// AuditEvent records that a node started, completed, or failed.
type AuditEvent struct {
	GraphID    string
	RunID      string
	NodeID     string
	NodeType   string
	Status     string
	Output     any
	Error      string
	StartedAt  time.Time
	FinishedAt time.Time // zero if the node has only started
}

// AuditStore keeps audit events. An error of Record ends the execution.
type AuditStore interface {
	Record(ctx context.Context, event AuditEvent) error
}
