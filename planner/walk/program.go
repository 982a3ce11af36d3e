package walk

import (
	"cmp"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Semantics is the version of the meaning of compiled programs. Plan versions and journals store
// it, so that a journal is only replayed with the rules under which it was written.
const Semantics = 2

// SemanticsStrict is the first [Semantics] under which a run fails where no edge matches, unless the document
// has strict: false. Before, the branch ended.
const SemanticsStrict = 2

// Kind distinguishes the two kinds of documents.
type Kind string

const (
	KindGraph Kind = "graph"
	KindSteps Kind = "steps"
)

// Program is a compiled document: nodes in file order, each with the rule that activates it. A
// Program is immutable and safe for concurrent use.
type Program struct {
	ID, Name, Description string
	Kind                  Kind
	// Hash is the version hash: the lowercase hex SHA-256 of the canonical form.
	Hash        string
	Profile     string // the profile whose settings it has, or empty
	Nodes       []ProgramNode
	Index       map[string]int // node ID → position in Nodes
	Roots       []int          // nodes that start automatically, in file order
	Finally     []int          // nodes that start when all others have ended, in file order
	InputSchema any
	Limits      Limits
	Start       Start // what the plan sets for its runs
	// Metadata is the metadata of a step plan, without the keys that package planner interprets.
	Metadata map[string]any
	// Priority is the priority of runs that are started without one.
	Priority int
	// ContinueBranches is set by on_failure: continue_branches.
	ContinueBranches bool
	// Strict fails the run if a node has edges of which none matches.
	Strict bool
	// Values are the constants that references see as value.
	Values map[string]any
	// Result is the template of the run's output. If it is nil, the nodes without successors give it.
	Result *Template
	// Each is set by each: true. The input of a run then holds an item of a list; see [ItemInput].
	Each bool
	// Callback reports whether the input of a node contains the callback address of the run.
	Callback bool
	// UsesNeeds reports whether branches are independent: some node is activated by needs, or the plan
	// has several roots.
	UsesNeeds bool
	// Sequential is set for a step plan without dependencies, whose steps run one after the other.
	Sequential bool

	// Owner and Kept are results of the analysis of the graph that the walk needs.
	Owner []int  // by node: the source whose token reaches it over edges, or -1
	Kept  []bool // by node: whether its output may be read later
}

// ProgramNode is a compiled node.
type ProgramNode struct {
	ID    string
	Index int
	// Type is the type after aliases are resolved: "init" becomes "noop". If the type in the
	// document is the name of a tool in the catalog, Type is "tool" and Tool is set.
	Type     string
	TypeName string // the type as written in the document
	Tool     string
	Agent    string
	SubPlan
	Metadata map[string]string

	// Input is the compiled input. It is nil if the node has none and receives `last`.
	Input  *Template
	Output NodeOutput

	// Incoming is the number of edges that lead to the node. A node has incoming edges or needs,
	// not both.
	Incoming int
	Out      []ProgramEdge // in file order
	// EndsOK is set by ends: ok. The branch ends if no edge matches, also in a strict program.
	EndsOK bool
	Join

	// Finally is set for the nodes that run after all others.
	Finally bool

	Foreach     *List // nil: the node runs once
	MaxParallel int   // in a foreach; default 8
	MaxVisits   int   // default 1
	OnCycle     bool

	Attempts
	// Effect is the side-effect class in the document. If it is empty, the class of the type or the
	// tool applies.
	Effect Effect
	// Undo is the call that undoes the node, or nil. Only the fields of its action are set: its type,
	// input, metadata, attempts, and side-effect class.
	Undo *ProgramNode

	StepFacts
}

// SubPlan is what a node of type plan runs in a child run: a plan, or a block.
type SubPlan struct {
	Plan string // as key or key@version
	// Computed gives the name of the plan when the node starts: one of Plans. It is nil if Plan is the name.
	Computed *Template
	Plans    []string
	// Block holds the steps of a node with do:.
	Block *Block
}

// Join is the rule that starts a node when other nodes have ended.
type Join struct {
	Needs []int
	// Dependents are the nodes that need this one, in file order.
	Dependents []int
	// When is the rule by which a node with needs runs. If WhenCond is set, it must hold too.
	When     When
	WhenCond *Condition
	// WhenUnknown decides what a condition does if its expression reads an unusable value:
	// UnknownFail (default, also "") or UnknownSkip.
	WhenUnknown string
}

// NodeOutput describes the expected output of a node.
type NodeOutput struct {
	Schema any // JSON Schema; nil means any output
	// ForGate is set if a quality gate requires Schema. An output that does not match is then kept,
	// and the gate is closed.
	ForGate bool
	// Product is the only member of Schema, if it is a text that the step's skill produces. An
	// answer in prose becomes that member.
	Product string
}

// Attempts defines how often a node is attempted, and what a failure does.
type Attempts struct {
	MaxAttempts int // at least 1
	Backoff     Backoff
	Timeout     time.Duration // of one attempt; 0 means no limit
	OnError     OnError
	// Rules refine retries and OnError by the code of the failure.
	Rules    []ErrorRule
	OnReject OnReject // if the node has type approval
	Queue    string   // of the workers that execute attempts on Temporal; empty: any worker
}

// StepFacts holds the facts of a step in a step plan for messages to agents, for events, and for
// estimates.
type StepFacts struct {
	Skill          string // empty if the step names none
	Task           string
	ExpectedOutput string
	Order          int
}

// ProgramEdge is a compiled edge.
type ProgramEdge struct {
	To       int  // position of the node, or End
	Position int  // index in the document's list of edges; for an edge of a rule, after all of them
	Rule     bool // made from a rule of on_error
	Text     string
	Cond     *Condition
}

// Limits are the limits that a plan sets for its runs. Zero means that the plan sets no limit.
type Limits struct {
	MaxSteps    int
	MaxDuration Duration
	MaxTokens   int64
	MaxCost     float64
}

// When is the rule by which a node with needs runs, once all of them have settled.
type When string

const (
	WhenSuccess    When = "success"     // all completed
	WhenAnySuccess When = "any_success" // at least one completed
	WhenNoneFailed When = "none_failed" // none failed or was cancelled; some may be skipped
	WhenFailure    When = "failure"     // at least one failed
	WhenAlways     When = "always"      // in any case
	WhenFirst      When = "first"       // as soon as one completed: a race
)

// AfterFailure reports whether a node with this rule may start although the run is failing.
func (w When) AfterFailure() bool { return w == WhenFailure || w == WhenAlways }

// Values of [ProgramNode.WhenUnknown].
const (
	UnknownFail = "fail"
	UnknownSkip = "skip"
)

// OnError decides what an unhandled failure of a node does.
type OnError string

const (
	OnErrorFail     OnError = "fail"
	OnErrorSkip     OnError = "skip"
	OnErrorContinue OnError = "continue"
	OnErrorReplan   OnError = "replan"
)

// OnReject decides what a rejection of a node of type approval does.
type OnReject string

const (
	OnRejectFail     OnReject = "fail"
	OnRejectContinue OnReject = "continue"
)

// Effect is a side-effect class: what a node may do to other systems.
type Effect string

const (
	EffectPure       Effect = "pure"       // no effect, and the same result each time
	EffectRead       Effect = "read"       // no effect, but the result may differ
	EffectIdempotent Effect = "idempotent" // repeating it with the same key has no further effect
	EffectUnsafe     Effect = "unsafe"     // kairosd never repeats it without a decision of a person
	EffectControl    Effect = "control"    // wait, approval, plan: kept in durable rows
)

// Stricter reports whether e demands at least as much care as f, in the order pure, read,
// idempotent, unsafe.
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

// Summary returns the description of the plan, or its name if it has none.
func (p *Program) Summary() string { return cmp.Or(p.Description, p.Name) }

// Text formats an output of the node for people and models: its product if it has one, else
// [jsonvalue.Text].
func (n *ProgramNode) Text(output any) string {
	if m, ok := output.(map[string]any); ok && n.Output.Product != "" && len(m) == 1 {
		if text, ok := m[n.Output.Product].(string); ok {
			return text
		}
	}
	return jsonvalue.Text(output)
}
