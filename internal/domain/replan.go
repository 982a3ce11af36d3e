package domain

import (
	"encoding/json"
	"time"
)

// ReplanRequest asks for a new tail of a plan: a node of a run has failed under
// `on_error: replan`.
type ReplanRequest struct {
	Run Run
	// Version is what the run follows, with its source.
	Version Version
	// Node has failed, after all its attempts, with Failure.
	Node    string
	Failure Failure
	// Settled are the nodes that are done, in the order in which they settled;
	// the new version keeps them as they are.
	Settled []ReplanStep
	// Open are other nodes that wait for something; the new version keeps them
	// too.
	Open []string
}

// ReplanStep is a node that is done.
type ReplanStep struct {
	Node, Task, Agent string
	Status            NodeStatus
	Output            RawJSON
}

// Replanned is the new version of a plan.
type Replanned struct {
	Source []byte // a JSON document with the id of the old one
	Reason string
	// Unsafe are the new nodes that a person has to accept before the run
	// follows the version.
	Unsafe []string
	Usage  Usage
}

// Replan is one time that a run was planned again: from then on it followed
// another version.
type Replan struct {
	Seq int64 `json:"seq"`
	// From and To are numbers of versions of the run's plan.
	From int `json:"from"`
	To   int `json:"to"`
	// Node had failed.
	Node   string    `json:"node"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"` // who made the run follow it: the supervisor, or who accepted it
	At     time.Time `json:"createdAt"`
	// Proposed versions are not followed before a person accepts them.
	Proposed bool `json:"proposed,omitempty"`
}

// StepsEndedBy names the steps that a replan row ended: the one that had failed, and
// those that the new version of the plan does not continue.
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

// ReplansOf lists the times that a run was planned again, and at last the version
// that it would follow if a person accepted it.
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
			if json.Unmarshal(e.Decision, &p) == nil { // else a fold states what it is
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
