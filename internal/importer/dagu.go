package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// dagu converts a Dagu workflow. See https://docs.dagu.cloud/reference/yaml.
func dagu(id string, root node) *draft {
	if name := root.get("name").text(); name != "" {
		id = slug(name, id)
	}
	w := daguFile{draft: newDraft(id), outputs: map[string]node{}}
	w.graph.Name = escape(root.get("name").text())
	w.graph.Description = escape(root.get("description").text())
	w.noteKeys(root, "name", "description", "type", "schedule", "params", "env", "steps", "handlerOn", "handler_on", "timeoutSec",
		"timeout_sec", "maxActiveRuns", "max_active_runs", "maxActiveSteps", "tags")
	w.schedule(root.get("schedule"))
	w.parameters(root.get("params"))
	w.env = append(w.env, variables(root.get("env"))...)
	if s, err := strconv.Atoi(first(root, "timeoutSec", "timeout_sec").text()); err == nil && s > 0 {
		w.graph.RunSettings.Timeout = walk.Duration(time.Duration(s) * time.Second)
	}
	if n, err := strconv.Atoi(first(root, "maxActiveRuns", "max_active_runs").text()); err == nil && n > 0 {
		w.graph.Concurrency = &planner.Concurrency{Key: id, Limit: n}
	}
	w.steps(root)
	w.handlers(first(root, "handlerOn", "handler_on"))
	return w.draft
}

type daguFile struct {
	*draft
	env     []variable
	outputs map[string]node // the name of the variable that gets the output of a step, by the ID of the step
}

// first returns the value of the first of several keys that is there.
func first(n node, keys ...string) node {
	for _, key := range keys {
		if v := n.get(key); v.is() {
			return v
		}
	}
	return node{}
}

func (w *daguFile) schedule(s node) {
	crons := s.items()
	if s.isMap() {
		crons = s.get("start").items()
		w.noteKeys(s, "start")
	}
	for i, c := range crons {
		if i > 0 {
			w.note(c.line(), "create a schedule for %q: a plan declares one", c.text())
			continue
		}
		cron, zone := c.text(), ""
		if rest, ok := strings.CutPrefix(cron, "CRON_TZ="); ok {
			zone, cron, _ = strings.Cut(rest, " ")
		}
		w.graph.Schedule = &walk.Schedule{Cron: cron, Zone: zone}
	}
}

// parameters carries over named parameters as properties of the input.
func (w *daguFile) parameters(params node) {
	properties := map[string]any{}
	var names []string
	add := func(line int, name string, value any) {
		if !validVariable.MatchString(name) {
			w.note(line, "the parameter %q has no name", name)
			return
		}
		properties[name] = map[string]any{"type": "string", "default": fmt.Sprint(value)}
		names = append(names, name)
	}
	for _, p := range params.items() {
		if p.isMap() {
			for _, key := range p.keys() {
				add(key.line(), key.text(), p.get(key.text()).text())
			}
			continue
		}
		for _, word := range strings.Fields(p.text()) {
			name, value, _ := strings.Cut(word, "=")
			add(p.line(), name, strings.Trim(value, `"'`))
		}
	}
	if len(properties) > 0 {
		w.graph.InputSchema = map[string]any{"type": "object", "properties": properties}
	}
	for _, name := range names {
		w.env = append(w.env, variable{name: name, value: "${input." + name + "}"})
	}
}

// variables reads variables: an object, a list of objects, or a list of NAME=VALUE.
func variables(env node) (out []variable) {
	for _, e := range env.items() {
		for _, key := range e.keys() {
			out = append(out, variable{key.text(), escape(e.get(key.text()).text()), true})
		}
		if name, value, ok := strings.Cut(e.text(), "="); ok {
			out = append(out, variable{name, escape(value), true})
		}
	}
	return out
}

// steps converts the steps. Without depends, each step follows the one before, except in a workflow of
// the type graph.
func (w *daguFile) steps(root node) {
	list := root.get("steps").items()
	if steps := root.get("steps"); steps.isMap() {
		list = nil
		for _, key := range steps.keys() {
			list = append(list, steps.get(key.text()))
		}
		w.note(steps.line(), "the names of the steps are numbers, because steps is an object")
	}
	chained := root.get("type").text() != "graph"
	for _, s := range list {
		chained = chained && !s.get("depends").is()
	}
	ids := map[string]string{} // of steps, by the names in the file
	before := ""
	for i, s := range list {
		name := first(s, "id", "name").text()
		if name == "" {
			name = fmt.Sprint("step-", i+1)
		}
		n := w.step(s, name)
		if chained && before != "" {
			n.Needs = []string{before}
		}
		before = w.add(name, n)
		if out := s.get("output"); out.is() {
			w.outputs[before] = out
		}
		for _, known := range []string{name, s.get("name").text(), s.get("id").text()} {
			if known != "" {
				ids[known] = before
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.graph.Nodes)) {
		w.resolveNeeds(id, list, ids)
	}
	for _, id := range w.order {
		w.passOutputs(id)
	}
}

// passOutputs gives a command the outputs of the commands that it depends on, as variables without trailing line breaks.
func (w *daguFile) passOutputs(id string) {
	out := w.outputs[id]
	if name := out.text(); out.is() && (w.graph.Nodes[id].Type != execType || !validVariable.MatchString(name)) {
		w.note(out.line(), "the output of step %s is not passed to other steps", id)
		delete(w.outputs, id)
	}
	n := w.graph.Nodes[id]
	if n.Type != execType {
		return
	}
	before := map[string]bool{}
	var visit func(string)
	visit = func(id string) {
		for _, need := range w.graph.Nodes[id].Needs {
			if !before[need] {
				before[need] = true
				visit(need)
			}
		}
	}
	visit(id)
	for _, need := range slices.Backward(w.order) {
		if out, has := w.outputs[need]; has && before[need] {
			pass(n, out.text(), "${output."+need+".stdout}")
		}
	}
}

// resolveNeeds sets the needs of a step, after all steps are known.
func (w *daguFile) resolveNeeds(id string, list []node, ids map[string]string) {
	i := slices.Index(w.order, id)
	n := w.graph.Nodes[id]
	for _, d := range list[i].get("depends").items() {
		if to := ids[d.text()]; to != "" {
			n.Needs = cut(append(n.Needs, to))
		} else {
			w.note(d.line(), "step %s depends on %s, which does not exist", id, d.text())
		}
	}
	w.graph.Nodes[id] = n
}

// step converts a step without its dependencies.
func (w *daguFile) step(s node, name string) planner.Node {
	if !s.isMap() {
		return shell(escape(s.text()), w.env)
	}
	w.noteKeys(s, "id", "name", "description", "command", "script", "run", "call", "params", "depends", "env", "dir",
		"workingDir", "working_dir", "continueOn", "continue_on", "retryPolicy", "retry_policy", "timeoutSec", "timeout_sec", "output",
		"executor", "type", "preconditions", "precondition", "repeatPolicy", "repeat_policy", "parallel", "shell")
	n := w.action(s, name)
	if on := first(s, "continueOn", "continue_on"); on.get("failure").text() == "true" || on.text() == "failed" {
		n.OnError = string(walk.OnErrorContinue)
	}
	if r := first(s, "retryPolicy", "retry_policy"); r.is() {
		n.Retry = w.retry(r)
	}
	if sec, err := strconv.Atoi(first(s, "timeoutSec", "timeout_sec").text()); err == nil && sec > 0 {
		n.Timeout = walk.Duration(time.Duration(sec) * time.Second)
	}
	return n
}

func (w *daguFile) retry(r node) *planner.Retry {
	limit, err := strconv.Atoi(r.get("limit").text())
	if err != nil || limit < 1 || limit > 999 {
		w.note(r.line(), "the retry limit %q has no counterpart", r.get("limit").text())
		return nil
	}
	out := &planner.Retry{MaxAttempts: limit + 1}
	if sec, err := strconv.Atoi(first(r, "intervalSec", "interval_sec").text()); err == nil && sec > 0 {
		out.Backoff.List = []time.Duration{time.Duration(sec) * time.Second}
	}
	return out
}

// action returns what a step does.
func (w *daguFile) action(s node, name string) planner.Node {
	for _, key := range []string{"preconditions", "precondition", "repeatPolicy", "repeat_policy", "parallel"} {
		if v := s.get(key); v.is() {
			return w.todo(v.line(), "step %s has %s: write it as when, a loop, or foreach, and replace this step", name, key)
		}
	}
	kind := s.get("type").text()
	if e := s.get("executor"); kind == "" && e.isMap() {
		kind = e.get("type").text()
	} else if kind == "" {
		kind = e.text()
	}
	switch {
	case kind == "http":
		return w.request(s, name)
	case kind != "" && kind != "command" && kind != "shell":
		return w.todo(s.line(), "step %s has the executor %s: replace it", name, kind)
	case s.get("call").is() || s.get("run").is() && !s.get("command").is():
		return w.call(s, name)
	case s.get("params").is():
		return w.todo(s.get("params").line(), "step %s has params: write them as arguments, and replace this step", name)
	}
	script := strings.Join(s.get("command").texts(), " ")
	if text := s.get("script").text(); text != "" {
		if script != "" && script != "sh" && script != "bash" {
			return w.todo(s.get("script").line(), "step %s has a script for %s: replace it", name, script)
		}
		script = strings.TrimRight(text, "\n")
	}
	if script == "" {
		return w.todo(s.line(), "step %s has no command: replace it", name)
	}
	if dir := first(s, "dir", "workingDir", "working_dir").text(); dir != "" {
		script = "cd \"" + dir + "\"\n" + script
	}
	return shell(escape(script), append(slices.Clone(w.env), variables(s.get("env"))...))
}

// dynamic reports whether Dagu computes a text when the step runs.
func dynamic(text string) bool { return strings.ContainsAny(text, "$`") }

// call converts a step that calls another workflow.
func (w *daguFile) call(s node, name string) planner.Node {
	n := planner.Node{Type: walk.TypePlan, Plan: slug(first(s, "call", "run").text(), "plan")}
	input := map[string]any{}
	for _, p := range s.get("params").items() {
		for _, key := range p.keys() {
			input[key.text()] = p.get(key.text()).text()
		}
		for _, word := range strings.Fields(p.text()) {
			key, value, named := strings.Cut(word, "=")
			if !named {
				return w.todo(p.line(), "step %s has params without names: write them as input, and replace this step", name)
			}
			input[key] = strings.Trim(value, `"'`)
		}
	}
	for key, value := range input {
		if text := value.(string); dynamic(text) {
			return w.todo(s.get("params").line(), "step %s computes params: write them as input, and replace this step", name)
		}
		input[key] = escape(value.(string))
	}
	if len(input) > 0 {
		n.Input = input
	}
	return n
}

// request converts a step with the HTTP executor.
func (w *daguFile) request(s node, name string) planner.Node {
	config := s.get("executor").get("config")
	if s.get("config").is() {
		config = s.get("config")
	}
	w.noteKeys(config, "headers", "query", "body", "timeout", "silent")
	method, url, _ := strings.Cut(strings.Join(s.get("command").texts(), " "), " ")
	input := map[string]any{"method": strings.ToUpper(method), "url": strings.TrimSpace(url)}
	for _, key := range []string{"headers", "query"} {
		values := map[string]any{}
		for _, k := range config.get(key).keys() {
			values[k.text()] = config.get(key).get(k.text()).text()
		}
		if len(values) > 0 {
			input[key] = values
		}
	}
	if body := config.get("body").text(); body != "" {
		input["body"] = body
	}
	if sec := config.get("timeout").text(); sec != "" {
		input["timeout"] = sec + "s"
	}
	if url == "" || dynamic(fmt.Sprint(input)) {
		return w.todo(s.line(), "step %s computes a request: write it with the tool http, and replace this step", name)
	}
	return planner.Node{Type: "http", Input: input}
}

// outcomes are the conditions of handlers.
var outcomes = map[string]string{"success": "last.status==completed", "failure": "last.status==failed", "cancel": "last.status==cancelled",
	"exit": ""}

// handlers converts handlers to steps that run at the end.
func (w *daguFile) handlers(on node) {
	for _, key := range on.keys() {
		when, known := outcomes[key.text()]
		if !known {
			w.note(key.line(), "the handler %s has no counterpart", key.text())
			continue
		}
		n := w.step(on.get(key.text()), "on-"+key.text())
		n.When = when
		if n.OnError != "" {
			n.OnError = ""
		}
		w.finally("on-"+key.text(), n)
	}
}
