package walk

import (
	"cmp"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Semantics numbers the meaning of a compiled program. Plan versions and
// journals carry it, so that a journal is never folded by rules other than
// those it was written under.
const Semantics = 1

// Kind distinguishes the two document shapes.
type Kind string

const (
	KindGraph Kind = "graph"
	KindSteps Kind = "steps"
)

// Program is what both document shapes compile to: nodes in file order, each
// with its activation rule. A Program is immutable and safe for concurrent use.
type Program struct {
	ID, Name, Description string
	Kind                  Kind
	// Hash is the version hash: lower-case hex SHA-256 of the canonical form.
	Hash        string
	Nodes       []ProgramNode
	Index       map[string]int // node id → position in Nodes
	Roots       []int          // nodes that start automatically, in file order
	InputSchema any
	Limits      Limits
	// Metadata is that of a step plan, but for what the planner has words for.
	Metadata map[string]any
	// Priority of runs that are started without one: -10, 0 or 10.
	Priority int
	// ContinueBranches is on_failure: continue_branches.
	ContinueBranches bool
	Strict           bool
	// UsesNeeds reports that some node is activated by needs.
	UsesNeeds bool
	// Sequential marks a step plan without dependencies: steps run one after
	// the other in order.
	Sequential bool

	// Owner and Kept are what the analysis of the graph found out for the walk.
	Owner []int  // token source that reaches a node over edges, -1: none
	Kept  []bool // outputs that may be read after their node's settlement
}

// ProgramNode is one compiled node.
type ProgramNode struct {
	ID    string
	Index int
	// Type is the type after aliases are resolved ("init" is "noop"); a node
	// whose document type is a tool's name has Type "tool" and Tool set when
	// compiled against a catalog with the tool.
	Type     string
	TypeName string // the type as written
	Tool     string
	Agent    string
	Plan     string
	Metadata map[string]string

	// Input is the compiled input; nil when the node has none and gets `last`.
	Input  *Template
	Output NodeOutput

	// Incoming counts edges that lead here; a node has edges in, or needs.
	Incoming int
	Out      []ProgramEdge // in file order
	Needs    []int
	// Dependents are the nodes that need this one, in file order.
	Dependents []int
	// When decides whether a node with needs runs: WhenSuccess, WhenFailure,
	// WhenAlways, or WhenCondition (then WhenCond is set).
	When     When
	WhenCond *Condition
	// WhenUnknown states what a condition does whose expression has no value: UnknownFail
	// (also "") or UnknownSkip.
	WhenUnknown string

	Foreach     *Reference
	MaxParallel int // of a foreach; default 8
	MaxVisits   int // default 1
	OnCycle     bool

	Attempts
	// Effect is that of the document; empty: the type's or tool's own.
	Effect Effect

	StepFacts
}

// NodeOutput is the output that is expected of a node.
type NodeOutput struct {
	Schema any // JSON Schema; nil: any output
	// ForGate is set if a gate needs this Schema: an output that does not match it stays,
	// and the gate is closed.
	ForGate bool
	// Product is the only member of Schema where that is the text that the step's skill
	// produces: an answer in prose becomes it.
	Product string
}

// Attempts are the limits of a node's attempts, and the consequences of a failure.
type Attempts struct {
	MaxAttempts int // ≥ 1
	Backoff     Backoff
	Timeout     time.Duration // 0: none
	OnError     OnError
	OnReject    OnReject // of a node of type approval
}

// StepFacts are the facts of a step plan for context messages, events, and estimates.
type StepFacts struct {
	Skill          string // that the step names; empty: none
	Task           string
	ExpectedOutput string
	Order          int
}

// ProgramEdge is one compiled edge.
type ProgramEdge struct {
	To       int
	Position int // index in the document's edge list
	Text     string
	Cond     *Condition
}

// Limits bound a run. Zero means "no limit set by the plan".
type Limits struct {
	MaxSteps    int
	MaxDuration Duration
	MaxTokens   int64
	MaxCost     float64
}

// When is the outcome of its needs a node runs.
type When string

const (
	WhenSuccess   When = "success"
	WhenFailure   When = "failure"
	WhenAlways    When = "always"
	WhenCondition When = "condition"
)

// What a condition does whose expression has no value.
const (
	UnknownFail = "fail"
	UnknownSkip = "skip"
)

// OnError states what an unhandled failure of a node does.
type OnError string

const (
	OnErrorFail     OnError = "fail"
	OnErrorSkip     OnError = "skip"
	OnErrorContinue OnError = "continue"
	OnErrorReplan   OnError = "replan"
)

// OnReject states what a rejection of a node of type approval does.
type OnReject string

const (
	OnRejectFail     OnReject = "fail"
	OnRejectContinue OnReject = "continue"
)

// Effect is what running a node may do to other systems.
type Effect string

const (
	EffectPure       Effect = "pure"       // no effect, same result
	EffectRead       Effect = "read"       // no effect, result may differ
	EffectIdempotent Effect = "idempotent" // repeating with the same key is harmless
	EffectUnsafe     Effect = "unsafe"     // never repeated without a person
	EffectControl    Effect = "control"    // wait, approval, plan: a durable row
)

// Stricter reports whether e demands at least as much care as f:
// pure < read < idempotent < unsafe.
func (e Effect) Stricter(f Effect) bool { return effectRank(e) >= effectRank(f) }

func effectRank(e Effect) int {
	switch e {
	case EffectPure:
		return 1
	case EffectRead:
		return 2
	case EffectIdempotent, EffectControl:
		return 3
	case EffectUnsafe:
		return 4
	}
	return 0
}

// Summary is the description of the plan, else its name.
func (p *Program) Summary() string { return cmp.Or(p.Description, p.Name) }

// Text is an output of the node as people and models read it: its product, where it has
// one, else [jsonvalue.Text].
func (n *ProgramNode) Text(output any) string {
	if m, ok := output.(map[string]any); ok && n.Output.Product != "" && len(m) == 1 {
		if text, ok := m[n.Output.Product].(string); ok {
			return text
		}
	}
	return jsonvalue.Text(output)
}
