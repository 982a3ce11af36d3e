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

// WaitsForEvent reports whether the node waits for an event, or may do so because its input is known
// only when it runs.
func (n *ProgramNode) WaitsForEvent() bool {
	if n.Type != TypeWait || n.Input == nil {
		return false
	}
	in, ok := n.Input.Source.(map[string]any)
	return !ok || in["event"] != nil
}
