package domain

import (
	"encoding/json"
	"time"
)

// ReplanRequest is a request for a new version of a plan, because a node with `on_error: replan`
// failed.
type ReplanRequest struct {
	Run Run
	// Version is the version that the run follows, with its source.
	Version Version
	// Node is the node that failed with Failure after all its attempts.
	Node    string
	Failure Failure
	// Settled holds the settled nodes in order. The new version must keep them unchanged.
	Settled []ReplanStep
	// Open holds other nodes that wait. The new version must keep them too.
	Open []string
}

// ReplanStep is a settled node.
type ReplanStep struct {
	Node, Task, Agent string
	Status            NodeStatus
	Output            RawJSON
}

// Replanned is a new version of a plan.
type Replanned struct {
	Source []byte // a JSON document with the ID of the plan
	Reason string
	// Unsafe lists the new non-idempotent nodes. A person must accept them before the run follows
	// the version.
	Unsafe []string
	Usage  Usage
}

// Replan records that a run switched to another version of its plan.
type Replan struct {
	Seq int64 `json:"seq"`
	// From and To are version numbers.
	From int `json:"from"`
	To   int `json:"to"`
	// Node is the failed node.
	Node   string    `json:"node"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"` // the supervisor, or the person who accepted the version
	At     time.Time `json:"createdAt"`
	// Proposed versions are followed once a person accepts them.
	Proposed bool `json:"proposed,omitempty"`
}

// StepsEndedBy returns the steps that a replan row ended: the failed one, and those that the new
// version does not continue.
func StepsEndedBy(e *Entry) (failed string, dropped []string) {
	var r struct {
		Node    string
		Dropped []string
	}
	if e.Kind != EntryReplan || json.Unmarshal(e.Decision, &r) != nil {
		return "", nil
	}
	return r.Node, r.Dropped
}

// ReplansOf returns the replans of a run. The last one may be a version that waits for acceptance.
func ReplansOf(d RunDetail) []Replan {
	var out []Replan
	var proposed *Replan
	for i := range d.Journal {
		e := &d.Journal[i]
		var p struct {
			Before, Version int
			Node            string
			Tail            *struct {
				Version int
				Reason  string
			}
		}
		switch e.Kind {
		case EntryReplan:
			if json.Unmarshal(e.Decision, &p) == nil { // a row that cannot be decoded is reported when the journal is replayed
				out = append(out, Replan{Seq: e.Seq, From: p.Before, To: p.Version, Node: p.Node, Reason: e.Reason, By: e.Actor, At: e.At})
			}
			proposed = nil
		case EntryWait:
			if e.Decision != nil && json.Unmarshal(e.Decision, &p) == nil && p.Tail != nil {
				proposed = &Replan{
					Seq:      e.Seq,
					From:     d.Run.Version,
					To:       p.Tail.Version,
					Node:     e.Node,
					Reason:   p.Tail.Reason,
					At:       e.At,
					Proposed: true,
				}
			}
		case EntryResult, EntryResolve:
			if e.Final && proposed != nil && proposed.Node == e.Node {
				proposed = nil
			}
		}
	}
	if proposed != nil {
		out = append(out, *proposed)
	}
	return out
}
