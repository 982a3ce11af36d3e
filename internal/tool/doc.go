// Package tool holds the built-in tools and the set through which plans and agents call them. The
// set parses arguments, validates them against the tool's schema, checks permissions, and
// determines the side-effect class of each call.
//
//	set, err := tool.Builtin(tool.Config{Files: tool.FilesConfig{Roots: []string{"./data"}}}, nil)
//	out, err := set.Call(ctx, "calculator", llm.ToolCall{Args: map[string]any{"expression": "0.1 + 0.2"}})
//
// A [Box] shows these tools and those of MCP servers to people, with their permissions, call
// statistics, and actions.
package tool
