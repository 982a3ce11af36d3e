package planner

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/message"
)

// family is a kind of document of another system.
type family struct {
	name message.Message // with its article
	// found returns the position of what shows the family, or nil.
	found func(t *tree) *tree
	pairs string // counterparts, as "jobs → nodes"
	none  string // keys without a counterpart
	// imports reports that kairos plans import writes a plan to start from.
	imports bool
}

// families are recognized in this order.
var families = []family{
	{message.New("a GitHub Actions workflow"), gitHubActions,
		"jobs → nodes, needs → needs, if → when, strategy.matrix → foreach, timeout-minutes → timeout, env → values",
		"on, run, uses, runs-on", true},
	{message.New("an Argo workflow"), argo,
		"templates → nodes, dag.tasks → nodes with needs, steps → needs, withItems → foreach, when → when, " +
			"retryStrategy → retry, onExit → finally, suspend → type: approval",
		"container, script, artifacts", false},
	{message.New("a Serverless Workflow"), serverless,
		"do → nodes with edges, call: http → type: http, set → type: set, switch → edges with conditions, for → foreach, " +
			"try.catch → on_error, raise → type: fail, wait → type: wait",
		"schedule, listen, run", false},
	{message.New("a Conductor workflow"), conductor,
		"tasks → nodes, taskReferenceName → the key under nodes, inputParameters → input, " +
			"SWITCH → edges with conditions, FORK_JOIN → needs, DO_WHILE → a loop with max_visits, " +
			"SUB_WORKFLOW → type: plan, HUMAN → type: approval, TERMINATE → type: fail",
		"SIMPLE tasks, ownerEmail, schemaVersion", false},
	{message.New("an n8n workflow"), n8n,
		"nodes → nodes, connections → edges, name → the key under nodes, parameters → input, IF → edges with conditions, " +
			"onError → on_error, retryOnFail → retry",
		"triggers, credentials, position, typeVersion", false},
	{message.New("a graph of LangGraph"), langGraph,
		"nodes → nodes, add_edge → edges, add_conditional_edges → edges with conditions, START → start, END → to: $end, " +
			"interrupt → type: approval, recursion_limit → max_visits",
		"state, checkpointer, reducers", true},
	{message.New("a workflow of agents"), agentWorkflow,
		"agents → nodes with type: agent, entry_point → start, edges → edges",
		"prompts and models of agents, which belong into the configuration", false},
	{message.New("a Dagu workflow"), dagu,
		"steps → nodes, name → the key under nodes, depends → needs, preconditions → when, params → values, parallel → foreach, " +
			"retryPolicy → retry, continueOn → on_error, handlerOn → finally",
		"command, run, script, schedule, stdout, stderr", true},
	{message.New("a list of tasks with dependencies, as of Airflow"), taskList,
		"tasks → nodes, task_id → the key under nodes, depends_on → needs, trigger_rule → when, retries → retry, " +
			"execution_timeout → timeout, expand → foreach",
		"schedule, operators, python_callable", false},
	{message.New("a notebook"), notebook, "cells → nodes", "code, which must become tools", false},
}

// isForeign reports a document of another system as one problem. It returns false for any other document.
func isForeign(t *tree, r *reporter) bool {
	for _, f := range families {
		if at := f.found(t); at != nil {
			advice := message.New("counterparts: %s; there is none of %s", f.pairs, f.none)
			if f.imports {
				advice = message.New("kairos plans import writes a plan to start from; counterparts: %s; there is none of %s",
					f.pairs, f.none)
			}
			r.error(at, "", "plan.foreign", advice,
				"this is %s, not a plan", f.name)
			return true
		}
	}
	return false
}

// key returns the position of a key, or nil.
func (t *tree) key(name string) *tree {
	if i := slices.IndexFunc(t.keys, func(k *tree) bool { return k.text == name }); i >= 0 {
		return t.keys[i]
	}
	return nil
}

// has reports whether a map has one of some keys.
func (t *tree) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return t.get(name) != nil })
}

func kindOf(t *tree) treeKind {
	if t == nil {
		return treeNull
	}
	return t.kind
}

// elements are the maps in a list, or the values of a map.
func elements(t *tree) []*tree {
	if t == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.items), func(e *tree) bool { return e.kind != treeMap })
}

// some reports whether an element has one of some keys.
func some(t *tree, names ...string) bool {
	return slices.ContainsFunc(elements(t), func(e *tree) bool { return e.has(names...) })
}

func gitHubActions(t *tree) *tree {
	switch {
	case t.has("on", "permissions", "concurrency") && kindOf(t.get("jobs")) == treeMap, some(t.get("jobs"), "runs-on", "uses", "steps"):
		return t.key("jobs")
	case kindOf(t.get("runs")) == treeMap && t.get("runs").has("using"):
		return t.key("runs")
	}
	return nil
}

func argo(t *tree) *tree {
	if v := t.get("apiVersion"); v != nil && strings.HasPrefix(v.text, "argoproj.io/") {
		return v
	}
	return nil
}

func serverless(t *tree) *tree {
	switch {
	case t.has("do") && kindOf(t.get("document")) == treeMap:
		return t.key("document")
	case t.has("specVersion") && kindOf(t.get("states")) == treeList:
		return t.key("states")
	}
	return nil
}

func conductor(t *tree) *tree {
	if some(t.get("tasks"), "taskReferenceName") {
		return t.key("tasks")
	}
	return nil
}

func n8n(t *tree) *tree {
	if kindOf(t.get("nodes")) == treeList && t.has("connections") {
		return t.key("connections")
	}
	return nil
}

func langGraph(t *tree) *tree {
	switch {
	case kindOf(t.get("graphs")) == treeMap && t.has("dependencies"):
		return t.key("graphs")
	case kindOf(t.get("nodes")) == treeList && some(t.get("edges"), "source", "start", "target"):
		return t.key("nodes")
	}
	return nil
}

func agentWorkflow(t *tree) *tree {
	if w := t.get("workflow"); kindOf(w) == treeMap && (w.has("entry_point") || t.has("agents")) {
		return t.key("workflow")
	}
	return nil
}

func dagu(t *tree) *tree {
	steps := t.get("steps")
	if kindOf(steps) == treeNull || some(steps, "id", "agentId", "skillId", "tool") {
		return nil
	}
	if some(steps, "command", "run", "script", "depends", "call") {
		return t.key("steps")
	}
	return nil
}

func taskList(t *tree) *tree {
	if !t.has("nodes", "steps") && some(t.get("tasks"), "depends_on", "dependencies", "upstream", "task_id", "operator") {
		return t.key("tasks")
	}
	return nil
}

func notebook(t *tree) *tree {
	if t.has("nbformat") && kindOf(t.get("cells")) == treeList {
		return t.key("cells")
	}
	return nil
}

var (
	markdownFence   = regexp.MustCompile("(?m)^```")
	markdownHeading = regexp.MustCompile(`(?m)^#{2,6} \S`)
)

// markdown reports whether a text that is not a map in YAML is a page of Markdown. broken reports that it is not
// YAML at all.
func markdown(text []byte, broken bool) bool {
	return markdownFence.Match(text) || !broken && markdownHeading.Match(text) && bytes.ContainsAny(text, "\n")
}
