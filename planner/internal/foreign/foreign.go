// Package foreign holds the words of other plan languages. Its tables map them to advice in the words of this
// language. They never make such a plan valid.
package foreign

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/message"
)

// keys holds advice by the object that contains the key, and by the key.
var keys = map[string]map[string]message.Message{
	"plan": {
		"version":          message.New("remove it: kairosd numbers the versions of a stored plan"),
		"state":            message.New("remove it: all outputs are stored; read them as ${output.<node>}"),
		"data_files":       message.New("remove it: pass data as input of the run, or read files with the tool read_file"),
		"checkpointer":     message.New("remove it: all runs have checkpoints"),
		"tools":            message.New("remove it: configure tools on the server, and name them with tool:"),
		"prompts_dir":      message.New("remove it: write prompts into input:, and system prompts into the configuration of the agent"),
		"prompts_relative": message.New("remove it: write prompts into input:, and system prompts into the configuration of the agent"),
		"loop_limits":      message.New("write max_visits: on the first step of the loop"),
		"config":           message.New("use defaults: and limits:"),
		"exports":          message.New("remove it: all outputs are stored; read them as ${output.<node>}"),
		"plan_name":        message.New("write %s", "name:"),
		"tasks":            message.New("write %s", "steps:"),
		"inputs":           message.New("write input: with a JSON Schema"),
		"notes":            message.New("write a comment, or metadata:"),
		"env":              message.New("write %s", "values:"),
		"entry_point":      message.New("write %s", "start:"),
		"entrypoint":       message.New("write %s", "start:"),
	},
	"defaults": {
		"provider":    message.New("remove it: the provider of an agent is part of the configuration"),
		"temperature": message.New("remove it: the temperature of an agent is part of the configuration"),
		"model":       message.New("remove it: the model of an agent is part of the configuration"),
	},
	"node": {
		"prompt":         message.New("write the text of the prompt as input:"),
		"variables":      message.New("write the values into input:, as ${input.<key>} or ${output.<node>.<path>}"),
		"state_key":      message.New("remove it: read the output as ${output.<node>}"),
		"over":           message.New("write foreach: with the list, for example foreach: output.generate.ideas"),
		"as":             message.New("remove it: the element of a foreach is ${item}"),
		"collect":        message.New("remove it: a foreach outputs the list of its outputs"),
		"node":           message.New("write the keys of the inner step on this one, next to foreach:"),
		"max_items":      message.New("remove it: limit the list where it is created"),
		"graph":          message.New("write type: plan and plan: <id>"),
		"mode":           message.New("remove it"),
		"input_mapping":  message.New("write input: with ${output.<node>.<path>} for each value"),
		"output_mapping": message.New("remove it: read the output as ${output.<node>.<path>}"),
		"resume_key":     message.New("remove it: read the answer as ${output.<node>.values}"),
		"message":        message.New("write type: approval and input: {message: …}"),
		"routes":         message.New("write an edge with a condition for each route"),
		"default_route":  message.New("write an edge with condition: default"),
		"requires":       message.New("write %s", "needs: [<node>, …]"),
		"depends_on":     message.New("write %s", "needs: [<node>, …]"),
		"dependsOn":      message.New("write %s", "needs: [<node>, …]"),
		"dependencies":   message.New("write %s", "needs: [<node>, …]"),
		"skip_if_exists": message.New("write a condition on the edge that leads here"),
		"temperature":    message.New("set it in the configuration of the agent"),
		"provider":       message.New("set it in the configuration of the agent"),
		"model":          message.New("set it in the configuration of the agent"),
		"tools":          message.New("set them in the configuration of the agent"),
		"system_prompt":  message.New("set it in the configuration of the agent"),
		"max_iterations": message.New("set it in the configuration of the agent"),
		"max_retries":    message.New("write %s", "retry: {max_attempts: …}"),
		"retries":        message.New("write %s", "retry: {max_attempts: …}"),
		"on_failure":     message.New("write %s", "on_error:"),
		"args":           message.New("write %s", "input:"),
		"params":         message.New("write %s", "input:"),
		"parameters":     message.New("write %s", "input:"),
		"name":           message.New("name the step by its key under nodes:"),
		"description":    message.New("write it as a comment, or under metadata:"),
		"notes":          message.New("write it as a comment, or under metadata:"),
		"depends":        message.New("write %s", "needs: [<node>, …]"),
		"run":            message.New("write type: exec with input: {command: /usr/bin/make, args: […]}"),
		"command":        message.New("write type: exec with input: {command: /usr/bin/make, args: […]}"),
		"script":         message.New("write type: exec with input: {command: /usr/bin/make, args: […]}"),
		"with":           message.New("write %s", "input:"),
		"if":             message.New("write the condition on the edge that leads here, or when: next to needs:"),
		"condition":      message.New("write it on the edge that leads here, or as when: next to needs:"),
	},
	"step": {
		"stepId":           message.New("write %s", "id:"),
		"stepIndex":        message.New("write %s", "order:"),
		"source":           message.New("write %s", "dependencies: [<step>, …]"),
		"depends_on":       message.New("write %s", "dependencies: [<step>, …]"),
		"depends":          message.New("write %s", "dependencies: [<step>, …]"),
		"name":             message.New("write %s", "id:"),
		"run":              message.New("write tool: exec with params: {command: /usr/bin/make, args: […]}"),
		"command":          message.New("write tool: exec with params: {command: /usr/bin/make, args: […]}"),
		"script":           message.New("write tool: exec with params: {command: /usr/bin/make, args: […]}"),
		"dependsOn":        message.New("write %s", "dependencies: [<step>, …]"),
		"needs":            message.New("write %s", "dependencies: [<step>, …]"),
		"agent":            message.New("write %s", "agentId:"),
		"type":             message.New("write tool: with the tool or built-in type"),
		"input":            message.New("write %s", "params:"),
		"tool_to_use":      message.New("write %s", "tool:"),
		"tool_parameters":  message.New("write %s", "params:"),
		"expected_outcome": message.New("write %s", "expectedOutput:"),
		"description":      message.New("write %s", "task:"),
	},
	"edge": {
		"source": message.New("write %s", "from:"),
		"target": message.New("write %s", "to:"),
		"when":   message.New("write %s", "condition:"),
		"if":     message.New("write %s", "condition:"),
		"type":   message.New("remove it: a condition makes an edge conditional"),
		"label":  message.New("remove it"),
		"id":     message.New("remove it: edges have no id"),
	},
}

// Key returns advice for a key of another plan language, or a zero message.
func Key(what, key string) message.Message {
	if what == "block" && slices.Contains(blockSettings, key) {
		return message.New("write it on the step, next to do:")
	}
	return keys[what][key]
}

// blockSettings are keys of the step around a block.
var blockSettings = []string{"foreach", "max_parallel", "input", "timeout", "retry", "on_error", "needs", "when", "undo"}

// End returns advice for the names that other systems give to the start and the end of a
// graph, if no node has that name.
func End(id string, isFrom bool) message.Message {
	switch strings.ToLower(strings.Trim(id, "_")) {
	case "start":
		if isFrom {
			return message.New("remove this edge, and write start: with the step that it leads to")
		}
		return message.New("write start: with the first step instead")
	case "end":
		return message.New("write to: $end, or remove this edge: a run ends after a step without edges")
	}
	return message.Message{}
}

// Type returns advice for a node type of another system, or a zero message.
func Type(name string) message.Message { return types[name] }

// types holds advice for node types of other systems.
var types = map[string]message.Message{
	"map":          message.New("write the type of the inner step, and foreach: with the list"),
	"interrupt":    message.New("to wait for a person, write type: approval and input: {message: …}"),
	"human":        message.New("to wait for a person, write type: approval and input: {message: …}"),
	"subgraph":     message.New("to run another plan, write type: plan and plan: <id>"),
	"python":       message.New("offer the function as a tool, for example by an MCP server, and write type: tool and tool: <name>"),
	"tool_call":    message.New("write type: tool and tool: <name>"),
	"passthrough":  message.New("write type: set with input:, or type: noop"),
	"delay":        message.New("write type: wait and input: {for: 10m}"),
	"http_request": message.New("write type: http with input: {method, url}"),
	"prompt":       message.New("write %s", "type: llm"),
	"conditional":  message.New("write type: decision, and a condition on each of its edges"),
	"start":        message.New("write %s", "type: noop"),
	"end":          message.New("write %s", "type: noop"),
	"direct_tool":  message.New("write type: tool and tool: <name>"),
	"parallel":     message.New("use needs: to run steps in parallel"),
}
