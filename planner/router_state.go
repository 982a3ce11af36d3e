package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/message"
)

// routerState are the members of the state that the nodes of a router graph pass to each other.
var routerState = []string{"messages", "selectedTools", "toolArgs", "toolResults", "response"}

// IsRouterState reports whether the input of a node of a router graph is a state: it has at least
// one member of a state. Any other input is the user's message.
func IsRouterState(m map[string]any) bool {
	return slices.ContainsFunc(routerState, func(name string) bool { _, ok := m[name]; return ok })
}

// CheckRouterState returns the first problem of the state of a router graph, or a zero message.
func CheckRouterState(m map[string]any) message.Message {
	messages, ok := m["messages"].([]any)
	if !ok {
		if _, given := m["messages"]; !given {
			return message.New("messages is missing")
		}
		return message.New("messages is not a list")
	}
	for i, m := range messages {
		if _, ok := m.(map[string]any); !ok {
			return message.New("messages[%d] is not an object with role and content", i)
		}
	}
	if v := m["selectedTools"]; v != nil {
		list, ok := v.([]any)
		if !ok || slices.ContainsFunc(list, func(e any) bool { _, text := e.(string); return !text }) {
			return message.New("selectedTools is not a list of tool names")
		}
	}
	for _, name := range []string{"toolArgs", "toolResults"} {
		if _, ok := m[name].(map[string]any); !ok && m[name] != nil {
			return message.New("%s is not an object", name)
		}
	}
	if _, ok := m["response"].(string); !ok && m["response"] != nil {
		return message.New("response is not a text")
	}
	return message.Message{}
}
