package planner

import "github.com/kairosd/kairosd/planner/walk"

// Graph is a plan of nodes and of the edges between them. The zero value of an optional field means
// "not given".
type Graph struct {
	ID          string
	Name        string
	Description string
	// Start is the ID of the first node. If it is empty, the only node without incoming edges is
	// the start.
	Start string
	Nodes map[string]Node
	Edges []Edge
	// Finally are nodes that run when all others have ended, whatever the outcome is.
	Finally map[string]Node

	// InputSchema is the JSON Schema of the run's input (document key `input`).
	InputSchema any
	Defaults    Defaults
	Limits      walk.Limits
	RunSettings
	// OnFailure decides what an unhandled failure does to branches that do not depend on the failed
	// node: "stop" (default) or "continue_branches".
	OnFailure string
	// Strict decides about a node that has edges if none of them matches: true fails the run, false ends
	// the branch. Nil: an [Executor] ends the branch, and [Document.Program] fails the run.
	Strict   *bool
	Metadata map[string]any
	// Values are constants that references see as ${value.NAME}.
	Values map[string]any
	// Result is the template of the run's output. Nil: the nodes without successors give it.
	Result any
	// Profiles are the profiles of the document, as written. They do not change the graph; see [WithProfile].
	Profiles map[string]any
	// Each is set in a plan that kairosd made of a block: the input of its runs is {item, index, input}.
	Each bool

	// order holds node IDs in file order. IDs that are missing from it, as in graphs built in Go,
	// follow in lexical order.
	order, finallyOrder []string
	// anonymous is the id that was derived from the content of a document
	// without one.
	anonymous string
}

// Node is one unit of work, a step in the dashboard. ID defaults to its key in [Graph.Nodes].
type Node struct {
	ID   string
	Type string
	// Tool names the tool of a node of type "tool".
	Tool string
	// Agent names the agent of a node of type "agent" or "llm".
	Agent string
	// Plan is the plan that a node of type "plan" runs, as key or key@version.
	Plan string
	// Plans lists the plans that Plan may name if it contains references.
	Plans []string
	// Do is a block: the nodes that run in place of a call. Such a node has no type. Of the graph, only
	// Start, Nodes, Edges, Finally, and Result are set.
	Do *Graph
	// Input is any JSON value. Strings may contain ${…} references. Nil means "not given": the node
	// receives the last output.
	Input    any
	Metadata map[string]string

	Retry   *Retry
	Timeout walk.Duration
	OnError string
	// ErrorRules refine OnError by the code of the failure. A node has one of the two.
	ErrorRules []ErrorRule
	// OnReject decides what a rejection of a node of type "approval" does: "fail" (default), or
	// "continue" with {approved: false, …} as its output.
	OnReject string
	Effect   walk.Effect
	Needs    []string
	// Race is like Needs: the node runs as soon as the first of these has completed, and the others are
	// cancelled. A node has one of the two.
	Race []string
	// After is the rule by which the node runs once all of Needs have ended, with a condition in When
	// (document: when: {after: RULE, if: CONDITION}). Empty: [walk.WhenSuccess].
	After walk.When
	// When is a rule or a condition. A node without Needs and incoming edges may have a condition, too.
	When string
	// Foreach is the list that the node runs over, in one of the forms of [walk.ParseList]: a text, a
	// list, or an object of lists.
	Foreach     any
	MaxParallel int
	MaxVisits   int
	NodeOptions
	// OutputSchema is the JSON Schema of structured output, for an agent or a model.
	OutputSchema any
	// Undo is the call that undoes the node after it completed, or nil. It has only Type (which may be
	// empty if Tool, Agent, or Plan is set), Tool, Agent, Plan, Input, Metadata, Retry, Timeout, and Effect.
	Undo *Node
}

// NodeOptions are settings that few nodes have.
type NodeOptions struct {
	// Ends is "ok" if the branch may end here when none of the edges matches.
	Ends string
	// Queue is the queue of the workers that execute the node on Temporal. Empty: any worker.
	Queue string
}

// Edge leads from one node to another if its condition holds. [walk.Condition] defines the language
// of conditions. An edge with an empty condition is a fallback: it is taken if no other edge
// matches.
type Edge struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Condition string `json:"condition,omitempty"`
}

// Defaults apply to nodes that do not set the field.
type Defaults struct {
	Retry   *Retry
	Timeout walk.Duration
	OnError string
	// ErrorRules name no steps, because edges from all steps would lead there.
	ErrorRules []ErrorRule
}

// Retry decides how often a failed node is attempted again, and how long to wait before each
// attempt.
type Retry struct {
	// MaxAttempts counts all attempts, including the first. It is at least 1.
	MaxAttempts int
	Backoff     walk.Backoff
}
