// Package tool holds the built-in tools and the set through which plans and
// agents call them: arguments are parsed and validated against the tool's
// schema, permissions are looked up, and effects are told per call.
//
//	set, err := tool.Builtin(tool.Config{Files: tool.FilesConfig{Roots: []string{"./data"}}}, nil)
//	out, err := set.Call(ctx, "calculator", agent.ToolCall{Args: map[string]any{"expression": "0.1 + 0.2"}})
//
// A [Box] offers these and the tools of MCP servers to people: with what they may do,
// how their calls went, and the actions on them.
package tool
