package planner

import "strings"

// People bring plans over from other systems. The tables of this file turn the
// words of those into advice in ours; they never make such a plan valid.

// foreignKeys holds, by what the key stands in, what to write instead.
var foreignKeys = map[string]map[string]string{
	"plan": {
		"version":          "leave it out: versions are counted when the plan is stored",
		"state":            "leave it out: every node's output is kept, and read as ${output.<node>}",
		"data_files":       "leave it out: give data as the run's input, or read files with the tool read_file",
		"checkpointer":     "leave it out: every run is checkpointed",
		"tools":            "leave it out: tools are configured on the server, nodes name them with tool:",
		"prompts_dir":      "leave it out: prompts are written into input:, system prompts into the agent's configuration",
		"prompts_relative": "leave it out: prompts are written into input:, system prompts into the agent's configuration",
		"loop_limits":      "write max_visits: on the node that the loop comes back to",
		"config":           "use defaults: and limits:",
		"exports":          "leave it out: every node's output is kept, and read as ${output.<node>}",
		"plan_name":        "write name:",
		"tasks":            "write steps:",
		"inputs":           "write input: with a JSON Schema",
		"entry_point":      "write start:",
		"entrypoint":       "write start:",
	},
	"defaults": {
		"provider":    "leave it out: agents name their provider in the server's configuration",
		"temperature": "leave it out: agents name their temperature in the server's configuration",
		"model":       "leave it out: agents name their model in the server's configuration",
	},
	"node": {
		"prompt":         "write the text of the prompt as input:",
		"variables":      "put the values into input:, as ${input.<key>} or ${output.<node>.<path>}",
		"state_key":      "leave it out: this node's output is read as ${output.<node>}",
		"over":           "write foreach: with the list, e.g. foreach: output.generate.ideas",
		"as":             "leave it out: inside a foreach the element is ${item}",
		"collect":        "leave it out: a foreach outputs the list of its outputs",
		"node":           "write the keys of the inner node on this one, beside foreach:",
		"max_items":      "leave it out: bound the list where it is made",
		"graph":          "write type: plan and plan: <id of the stored plan>",
		"mode":           "leave it out",
		"input_mapping":  "write input: with ${output.<node>.<path>} for each value",
		"output_mapping": "leave it out: the output is read as ${output.<node>.<path>}",
		"resume_key":     "leave it out: what the person answered is ${output.<node>.values}",
		"message":        "write type: approval and input: {message: …}",
		"routes":         "write an edge with a condition for each route",
		"default_route":  "write an edge with condition: default",
		"requires":       "write needs: [<node>, …]",
		"depends_on":     "write needs: [<node>, …]",
		"dependsOn":      "write needs: [<node>, …]",
		"dependencies":   "write needs: [<node>, …]",
		"skip_if_exists": "write a condition on the edge that leads here",
		"temperature":    "set it on the agent, in the server's configuration",
		"provider":       "set it on the agent, in the server's configuration",
		"model":          "set it on the agent, in the server's configuration",
		"tools":          "set them on the agent, in the server's configuration",
		"system_prompt":  "set it on the agent, in the server's configuration",
		"max_iterations": "set it on the agent, in the server's configuration",
		"max_retries":    "write retry: {max_attempts: …}",
		"retries":        "write retry: {max_attempts: …}",
		"on_failure":     "write on_error:",
		"args":           "write input:",
		"params":         "write input:",
		"parameters":     "write input:",
		"name":           "the node's name is its key under nodes:",
		"description":    "write it as a comment, or under metadata:",
		"if":             "write the condition on the edge that leads here, or when: beside needs:",
		"condition":      "write it on the edge that leads here, or as when: beside needs:",
	},
	"step": {
		"stepId":           "write id:",
		"stepIndex":        "write order:",
		"source":           "write dependencies: [<step>, …]",
		"depends_on":       "write dependencies: [<step>, …]",
		"dependsOn":        "write dependencies: [<step>, …]",
		"needs":            "write dependencies: [<step>, …]",
		"agent":            "write agentId:",
		"type":             "write tool: with the tool or built-in type",
		"input":            "write params:",
		"tool_to_use":      "write tool:",
		"tool_parameters":  "write params:",
		"expected_outcome": "write expectedOutput:",
		"description":      "write task:",
	},
	"edge": {
		"source": "write from:",
		"target": "write to:",
		"when":   "write condition:",
		"if":     "write condition:",
		"type":   "leave it out: an edge with a condition is conditional",
		"label":  "leave it out",
		"id":     "leave it out: edges are known by their order",
	},
}

// foreignKey returns advice for a key of another plan language, or "".
func foreignKey(what, key string) string { return foreignKeys[what][key] }

// foreignEnd returns advice for the names that other systems give to the two
// ends of a graph, when no node has that name.
func foreignEnd(id string, isFrom bool) string {
	switch strings.ToLower(strings.Trim(id, "_")) {
	case "start":
		if isFrom {
			return "leave this edge out, and write start: with the node that it leads to"
		}
		return "lead the edge to the first node itself"
	case "end":
		return "leave this edge out, or lead it to a node of type noop: a run ends where no edge leads on"
	}
	return ""
}

// foreignTypes holds what to write instead of node types of other systems.
var foreignTypes = map[string]string{
	"map":          "write the inner node's type, and foreach: with the list",
	"interrupt":    "a node that waits for a person has type: approval and input: {message: …}",
	"human":        "a node that waits for a person has type: approval and input: {message: …}",
	"subgraph":     "a node that runs another plan has type: plan and plan: <id>",
	"python":       "make the function a tool (an MCP server can offer it), and write type: tool and tool: <name>",
	"tool_call":    "write type: tool and tool: <name>",
	"passthrough":  "write type: set with input:, or type: noop",
	"delay":        "write type: wait and input: {for: 10m}",
	"http_request": "write type: http with input: {method, url}",
	"prompt":       "write type: llm",
	"conditional":  "write type: decision, and a condition on each of its edges",
	"start":        "write type: noop",
	"end":          "write type: noop",
	"direct_tool":  "write type: tool and tool: <name>",
	"parallel":     "nodes with needs: run in parallel as soon as what they need has settled",
}
