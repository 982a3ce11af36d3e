package foreign

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/message"
)

// family is a kind of document of another system.
type family struct {
	name message.Message // with its article
	// found returns the position of what shows the family, or nil.
	found func(t *source.Tree) *source.Tree
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

// Recognize reports a document of another system as one problem. It returns false for any other document.
func Recognize(t *source.Tree, r source.Reporter) bool {
	for _, f := range families {
		if at := f.found(t); at != nil {
			advice := message.New("counterparts: %s; there is none of %s", f.pairs, f.none)
			if f.imports {
				advice = message.New("kairos plans import writes a plan to start from; counterparts: %s; there is none of %s",
					f.pairs, f.none)
			}
			r.Error(at, "", "plan.foreign", advice,
				"this is %s, not a plan", f.name)
			return true
		}
	}
	return false
}

// key returns the position of a key, or nil.
func key(t *source.Tree, name string) *source.Tree {
	if i := slices.IndexFunc(t.Keys, func(k *source.Tree) bool { return k.Text == name }); i >= 0 {
		return t.Keys[i]
	}
	return nil
}

// has reports whether a map has one of some keys.
func has(t *source.Tree, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return t.Get(name) != nil })
}

func kindOf(t *source.Tree) source.Kind {
	if t == nil {
		return source.Null
	}
	return t.Kind
}

// elements are the maps in a list, or the values of a map.
func elements(t *source.Tree) []*source.Tree {
	if t == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Items), func(e *source.Tree) bool { return e.Kind != source.Map })
}

// some reports whether an element has one of some keys.
func some(t *source.Tree, names ...string) bool {
	return slices.ContainsFunc(elements(t), func(e *source.Tree) bool { return has(e, names...) })
}

func gitHubActions(t *source.Tree) *source.Tree {
	switch {
	case has(t, "on", "permissions", "concurrency") && kindOf(t.Get("jobs")) == source.Map, some(t.Get("jobs"), "runs-on", "uses", "steps"):
		return key(t, "jobs")
	case kindOf(t.Get("runs")) == source.Map && has(t.Get("runs"), "using"):
		return key(t, "runs")
	}
	return nil
}

func argo(t *source.Tree) *source.Tree {
	if v := t.Get("apiVersion"); v != nil && strings.HasPrefix(v.Text, "argoproj.io/") {
		return v
	}
	return nil
}

func serverless(t *source.Tree) *source.Tree {
	switch {
	case has(t, "do") && kindOf(t.Get("document")) == source.Map:
		return key(t, "document")
	case has(t, "specVersion") && kindOf(t.Get("states")) == source.List:
		return key(t, "states")
	}
	return nil
}

func conductor(t *source.Tree) *source.Tree {
	if some(t.Get("tasks"), "taskReferenceName") {
		return key(t, "tasks")
	}
	return nil
}

func n8n(t *source.Tree) *source.Tree {
	if kindOf(t.Get("nodes")) == source.List && has(t, "connections") {
		return key(t, "connections")
	}
	return nil
}

func langGraph(t *source.Tree) *source.Tree {
	switch {
	case kindOf(t.Get("graphs")) == source.Map && has(t, "dependencies"):
		return key(t, "graphs")
	case kindOf(t.Get("nodes")) == source.List && some(t.Get("edges"), "source", "start", "target"):
		return key(t, "nodes")
	}
	return nil
}

func agentWorkflow(t *source.Tree) *source.Tree {
	if w := t.Get("workflow"); kindOf(w) == source.Map && (has(w, "entry_point") || has(t, "agents")) {
		return key(t, "workflow")
	}
	return nil
}

func dagu(t *source.Tree) *source.Tree {
	steps := t.Get("steps")
	if kindOf(steps) == source.Null || some(steps, "id", "agentId", "skillId", "tool") {
		return nil
	}
	if some(steps, "command", "run", "script", "depends", "call") {
		return key(t, "steps")
	}
	return nil
}

func taskList(t *source.Tree) *source.Tree {
	if !has(t, "nodes", "steps") && some(t.Get("tasks"), "depends_on", "dependencies", "upstream", "task_id", "operator") {
		return key(t, "tasks")
	}
	return nil
}

func notebook(t *source.Tree) *source.Tree {
	if has(t, "nbformat") && kindOf(t.Get("cells")) == source.List {
		return key(t, "cells")
	}
	return nil
}

var (
	markdownFence   = regexp.MustCompile("(?m)^```")
	markdownHeading = regexp.MustCompile(`(?m)^#{2,6} \S`)
)

// Markdown reports whether a text that is not a map in YAML is a page of Markdown. broken reports that it is not
// YAML at all.
func Markdown(text []byte, broken bool) bool {
	return markdownFence.Match(text) || !broken && markdownHeading.Match(text) && bytes.ContainsAny(text, "\n")
}
