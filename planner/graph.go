package planner

import "github.com/kairosd/kairosd/planner/walk"

// Graph is an explicit plan: nodes, and the edges that lead from one to the
// next. The zero value of every optional field means "not given".
type Graph struct {
	ID          string
	Name        string
	Description string
	// Start is the id of the first node. If empty, the only node without
	// incoming edges is the start.
	Start string
	Nodes map[string]Node
	Edges []Edge

	// InputSchema is the JSON Schema of the run's input (document key `input`).
	InputSchema any
	Defaults    Defaults
	Limits      walk.Limits
	// OnFailure says what an unhandled failure does to branches that do not
	// depend on the failed node: "stop" (default) or "continue_branches".
	OnFailure string
	// Strict makes a node with edges, none of which matches, a failure.
	Strict   bool
	Metadata map[string]any

	// order holds node ids as they stand in the file; ids that are missing
	// from it (graphs built in Go) follow in lexical order.
	order []string
	// anonymous is the id that was derived from the content of a document
	// without one.
	anonymous string
}

// Node is one unit of work. ID defaults to its key in [Graph.Nodes].
type Node struct {
	ID   string
	Type string
	// Tool names the tool of a node of type "tool".
	Tool string
	// Agent names the agent of a node of type "agent" or "llm".
	Agent string
	// Plan names the plan, as key or key@version, of a node of type "plan".
	Plan string
	// Input is any JSON value; strings may hold ${…} references. Nil means
	// "not given": the node then gets the last output.
	Input    any
	Metadata map[string]string

	Retry   *Retry
	Timeout walk.Duration
	OnError string
	// OnReject says what a rejection of a node of type "approval" does: "fail"
	// (default), or "continue" with {approved: false, …} as its output.
	OnReject    string
	Effect      walk.Effect
	Needs       []string
	When        string
	Foreach     string
	MaxParallel int
	MaxVisits   int
	// OutputSchema asks an agent or model for structured output.
	OutputSchema any
}

// Edge leads from one node to another when its condition holds. See
// [walk.Condition] for the language of conditions; an empty one is a fallback.
type Edge struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Condition string `json:"condition,omitempty"`
}

// Defaults apply to every node that does not say otherwise.
type Defaults struct {
	Retry   *Retry
	Timeout walk.Duration
	OnError string
}

// Retry says how often and after which waits a failed node is tried again.
type Retry struct {
	// MaxAttempts counts all attempts, the first included; at least 1.
	MaxAttempts int
	Backoff     walk.Backoff
}
