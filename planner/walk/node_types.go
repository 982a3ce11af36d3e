package walk

// Built-in node types.
const (
	TypeTool      = "tool"
	TypeAgent     = "agent"
	TypeLLM       = "llm"
	TypeDecision  = "decision"
	TypeNoop      = "noop"
	TypeLog       = "log"
	TypeRouter    = "router"
	TypeTools     = "tools"
	TypeGenerator = "generator"
	TypeSet       = "set"
	TypeWait      = "wait"
	TypeApproval  = "approval"
	TypePlan      = "plan"
	TypeFail      = "fail"
)
