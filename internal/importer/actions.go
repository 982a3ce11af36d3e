package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// actions converts a GitHub Actions workflow. Each job is a chain of steps. See
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax.
func actions(id string, root node) *draft {
	w := workflow{draft: newDraft(id), ends: map[string]end{}}
	w.graph.Name = escape(root.get("name").text())
	w.noteKeys(root, "name", "on", "env", "jobs", "true")
	on := root.get("on")
	if !on.is() {
		on = root.get("true") // YAML 1.1 reads the key on as true
	}
	w.triggers(on)
	env := w.environment(root.get("env"), "")
	jobs := root.get("jobs")
	for _, key := range inOrder(jobs) {
		w.job(key.text(), jobs.get(key.text()), env)
	}
	return w.draft
}

type workflow struct {
	*draft
	ends map[string]end // of each job
}

// end is what other jobs wait for.
type end struct {
	steps []string
	mixed bool // some of the steps run only in some cases
}

// inOrder returns the keys of jobs, each after the jobs that it needs. Jobs of a cycle follow in the
// order of the file.
func inOrder(jobs node) (out []node) {
	done := map[string]bool{}
	left := jobs.keys()
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(k node) bool {
			needs := jobs.get(k.text()).get("needs").texts()
			return !slices.ContainsFunc(needs, func(n string) bool { return jobs.get(n).is() && !done[n] })
		})
		i = max(i, 0)
		done[left[i].text()] = true
		out = append(out, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return out
}

// triggers carries over the first schedule, and the inputs of a manual start.
func (w workflow) triggers(on node) {
	if on.isMap() {
		for _, key := range on.keys() {
			switch value := on.get(key.text()); key.text() {
			case "schedule":
				for i, s := range value.items() {
					if cron := s.get("cron"); i == 0 {
						w.graph.Schedule = &walk.Schedule{Cron: cron.text()}
					} else {
						w.note(cron.line(), "create a schedule for %q: a plan declares one", cron.text())
					}
				}
			case "workflow_dispatch", "workflow_call":
				w.inputs(value.get("inputs"))
			default:
				w.note(key.line(), "the trigger %s has no counterpart: start the plan by the API or a schedule", key.text())
			}
		}
		return
	}
	for _, name := range on.items() {
		if name.text() != "workflow_dispatch" && name.text() != "workflow_call" {
			w.note(name.line(), "the trigger %s has no counterpart: start the plan by the API or a schedule", name.text())
		}
	}
}

// inputs carries over the inputs of a manual start.
func (w workflow) inputs(inputs node) {
	properties, required := map[string]any{}, []any{}
	for _, key := range inputs.keys() {
		in := inputs.get(key.text())
		p := map[string]any{"type": "string"}
		switch in.get("type").text() {
		case "boolean", "number":
			p["type"] = in.get("type").text()
		case "choice":
			p["enum"] = in.get("options").value()
		}
		if text := in.get("description").text(); text != "" {
			p["description"] = text
		}
		if v := in.get("default"); v.is() {
			p["default"] = v.value()
		}
		if in.get("required").text() == "true" && p["default"] == nil {
			required = append(required, key.text())
		}
		properties[key.text()] = p
	}
	if len(properties) == 0 {
		return
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	w.graph.InputSchema = schema
}

// environment reads variables. item is the name of the matrix in references.
func (w workflow) environment(env node, item string) (out []variable) {
	for _, key := range env.keys() {
		value, ok := expressions(env.get(key.text()).text(), func(text string) string { return reference(text, item) })
		if !ok {
			w.note(key.line(), "the value of %s has no counterpart: %s", key.text(), env.get(key.text()).text())
			continue
		}
		out = append(out, variable{name: key.text(), value: value})
	}
	return out
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

var contexts = []struct {
	pattern *regexp.Regexp
	to      string
}{
	{regexp.MustCompile(`^(?:github\.event\.)?inputs\.([A-Za-z0-9_-]+)$`), "${input.%s}"},
	{regexp.MustCompile(`^secrets\.([A-Za-z0-9_]+)$`), "${secret.%s}"},
	{regexp.MustCompile(`^github\.(run_id|run_number)$`), "${run.id}"},
}

var (
	matrixValue = regexp.MustCompile(`^matrix\.([A-Za-z0-9_-]+)$`)
	envValue    = regexp.MustCompile(`^env\.([A-Za-z_][A-Za-z0-9_]*)$`)
	notInName   = regexp.MustCompile(`[^A-Za-z0-9_]+`)
)

// expressions replaces each ${{ … }} of a text, and escapes the rest. It returns false if replace
// returns an empty text.
func expressions(text string, replace func(expression string) string) (string, bool) {
	ok := true
	var out strings.Builder
	last := 0
	for _, m := range expression.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(escape(text[last:m[0]]))
		last = m[1]
		to := replace(text[m[2]:m[3]])
		ok = ok && to != ""
		out.WriteString(to)
	}
	out.WriteString(escape(text[last:]))
	return out.String(), ok
}

// reference converts an expression to a reference. It returns an empty text if there is no
// counterpart. item is the name of the matrix in references; empty without a matrix.
func reference(text, item string) string {
	if m := matrixValue.FindStringSubmatch(text); m != nil && item != "" {
		return fmt.Sprintf("${%s.%s}", item, m[1])
	}
	for _, c := range contexts {
		if m := c.pattern.FindStringSubmatch(text); m == nil {
			continue
		} else if strings.Contains(c.to, "%s") {
			return fmt.Sprintf(c.to, m[1])
		}
		return c.to
	}
	return ""
}

// job converts a job to a chain of steps.
func (w workflow) job(id string, job node, env []variable) {
	w.noteKeys(job, "name", "needs", "if", "env", "steps", "strategy", "timeout-minutes", "runs-on", "continue-on-error", "permissions")
	chain := chain{workflow: w, job: id, env: env}
	for _, n := range job.get("needs").items() {
		before, ok := w.ends[n.text()]
		if !ok {
			w.note(n.line(), "job %s needs %s, which does not exist or needs it", id, n.text())
		}
		chain.needs = cut(append(chain.needs, before.steps...))
		if before.mixed {
			chain.when = string(walk.WhenNoneFailed)
		}
	}
	matrix := job.get("strategy").get("matrix")
	if matrix.is() {
		chain.item = "item"
	}
	chain.env = append(slices.Clone(env), w.environment(job.get("env"), chain.item)...)
	if when, refused := condition(job.get("if").text()); when != "" || refused != "" {
		chain.when, chain.refused, chain.line = when, refused, job.get("if").line()
	}
	switch steps := job.get("steps").items(); {
	case matrix.is():
		chain.matrix(job, matrix, steps)
	case len(steps) == 0:
		chain.add(id, w.todo(job.line(), "job %s has no steps: replace it", id))
	case len(steps) > 1 && (job.get("timeout-minutes").is() || continues(job)):
		n := chain.block(steps)
		chain.settings(&n, job)
		chain.append(id, n, "")
	default:
		for _, s := range steps {
			chain.step(s, len(steps))
		}
		if len(steps) == 1 {
			n := w.graph.Nodes[chain.steps[0]]
			chain.settings(&n, job)
			w.graph.Nodes[chain.steps[0]] = n
		}
	}
	w.ends[id] = end{chain.before(), chain.mixed}
}

// continues reports whether a failure of a job or step lets the workflow continue.
func continues(n node) bool { return n.get("continue-on-error").text() == "true" }

// settings sets what a job sets for all of its steps together.
func (c *chain) settings(n *planner.Node, job node) {
	if m := job.get("timeout-minutes"); m.is() && n.Timeout == 0 {
		c.timeout(n, m)
	}
	if continues(job) {
		n.OnError = string(walk.OnErrorContinue)
	}
}

// block returns a node with the steps of the job as a block. Inside, ${input} is the input of the run.
func (c *chain) block(steps []node) planner.Node {
	inner := newDraft("")
	in := chain{workflow: workflow{draft: inner}, job: c.job, item: c.item, env: c.env}
	for _, s := range steps {
		in.step(s, len(steps))
	}
	c.notes = append(c.notes, inner.notes...)
	n := planner.Node{Do: &planner.Graph{Nodes: inner.graph.Nodes}}
	if c.graph.InputSchema != nil {
		n.Input = "${input}"
	}
	return n
}

// condition converts the if of a job or step. refused is the text if it has no counterpart.
func condition(text string) (when, refused string) {
	inner := strings.TrimSpace(text)
	if m := expression.FindStringSubmatch(inner); m != nil && m[0] == inner {
		inner = m[1]
	}
	switch strings.ReplaceAll(inner, " ", "") {
	case "success()", "":
		return "", ""
	case "always()", "!cancelled()":
		return "always", ""
	case "failure()":
		return "failure", ""
	}
	return "", text
}

// chain builds the steps of a job.
type chain struct {
	workflow
	job     string
	item    string   // name of the matrix in references; empty without a matrix
	needs   []string // last steps of the jobs that the job needs
	when    string   // rule of the job's first step
	refused string   // condition of the job that has no counterpart
	line    int      // of that condition
	env     []variable
	steps   []string // all steps so far
	mixed   bool     // some of the steps have a rule of their own
}

// before returns the steps that the next one waits for.
func (c *chain) before() []string {
	if c.mixed || len(c.steps) == 0 {
		return slices.Clone(c.steps)
	}
	return c.steps[len(c.steps)-1:]
}

// step adds a step of the job.
func (c *chain) step(s node, count int) {
	name := s.get("id").text()
	if name == "" {
		name = s.get("name").text()
	}
	id := c.job
	if count > 1 {
		id += "-" + slug(name, fmt.Sprint(len(c.steps)+1))
	}
	n := c.convert(s, id)
	if m := s.get("timeout-minutes").text(); m != "" {
		c.timeout(&n, s.get("timeout-minutes"))
	}
	if continues(s) {
		n.OnError = string(walk.OnErrorContinue)
	}
	c.noteKeys(s, "id", "name", "run", "uses", "with", "env", "if", "shell", "working-directory", "timeout-minutes", "continue-on-error")
	when, refused := condition(s.get("if").text())
	if refused != "" {
		n = c.todo(s.get("if").line(), "step %s has the condition %s: write it as when, and replace this step", id, refused)
	}
	c.append(id, n, when)
}

// append adds a node after those that it follows.
func (c *chain) append(id string, n planner.Node, when string) {
	if c.refused != "" && len(c.steps) == 0 {
		n = c.todo(c.line, "job %s has the condition %s: write it as when, and replace this step", c.job, c.refused)
	}
	n.Needs, n.When = c.before(), when
	switch {
	case len(c.steps) > 0 && c.mixed && when == "":
		n.When = string(walk.WhenNoneFailed)
	case len(c.steps) == 0:
		n.Needs = c.needs
		if when == "" {
			n.When = c.when
		}
	}
	if len(n.Needs) == 0 {
		n.When = "" // the rules are about the steps that it needs
	}
	c.mixed = c.mixed || when != ""
	c.steps = append(c.steps, c.add(id, n))
}

// convert returns the node of a step without its place in the chain.
func (c *chain) convert(s node, id string) planner.Node {
	switch uses := s.get("uses").text(); {
	case uses != "":
		return c.todo(s.get("uses").line(), "step %s uses %s: replace it", id, uses)
	case !s.get("run").is():
		return c.todo(s.line(), "step %s has neither run nor uses: replace it", id)
	}
	script, used, ok := c.script(s)
	if !ok {
		return c.todo(s.get("run").line(), "step %s has a shell or an expression without a counterpart: replace it", id)
	}
	env := append(slices.Clone(c.env), c.environment(s.get("env"), c.item)...)
	return shell(script, append(env, used...))
}

// script returns the script of a step. Its expressions become variables, so that no value can change
// the script. An expression in single quotes, where the shell expands no variables, is refused.
func (c *chain) script(s node) (script string, used []variable, ok bool) {
	if sh := s.get("shell").text(); sh != "" && sh != "sh" && sh != "bash" {
		return "", nil, false
	}
	text := strings.TrimRight(s.get("run").text(), "\n")
	if dir := s.get("working-directory").text(); strings.ContainsAny(dir, "\"`$\\") && !expression.MatchString(dir) {
		return "", nil, false
	} else if dir != "" {
		text = `cd "` + dir + "\"\n" + text
	}
	for _, line := range strings.Split(text, "\n") {
		if at := strings.LastIndex(line, "${{"); at >= 0 && strings.Count(line[:at], "'")%2 == 1 {
			return "", nil, false
		}
	}
	script, ok = expressions(text, func(text string) string {
		if m := envValue.FindStringSubmatch(text); m != nil {
			return "$${" + m[1] + "}"
		}
		to := reference(text, c.item)
		if to == "" {
			return ""
		}
		name := strings.ToUpper(strings.Trim(notInName.ReplaceAllString(strings.TrimPrefix(text, "github.event."), "_"), "_"))
		if !slices.Contains(used, variable{name: name, value: to}) {
			used = append(used, variable{name: name, value: to})
		}
		return "$${" + name + "}"
	})
	return script, used, ok
}

// timeout sets the timeout of a node in minutes.
func (c *chain) timeout(n *planner.Node, minutes node) {
	d, err := walk.ParseDuration(minutes.text() + "m")
	if err != nil || d <= 0 {
		c.note(minutes.line(), "the timeout %s has no counterpart", minutes.text())
		return
	}
	n.Timeout = walk.Duration(d)
}

// matrix adds one step that runs once per combination: a script with all steps of the job if all are
// commands, and a block otherwise.
func (c *chain) matrix(job, matrix node, steps []node) {
	lists, except := map[string]any{}, []any(nil)
	for _, key := range matrix.keys() {
		switch v := matrix.get(key.text()); {
		case key.text() == "exclude" && v.isList():
			except, _ = v.value().([]any)
		case key.text() == "include" || !v.isList():
			c.note(key.line(), "%s of the matrix of job %s has no counterpart", key.text(), c.job)
		default:
			lists[key.text()] = v.value()
		}
	}
	var scripts []string
	env := slices.Clone(c.env)
	for _, s := range steps {
		script, used, ok := c.script(s)
		if !ok || !s.get("run").is() || s.get("if").is() || s.get("continue-on-error").is() {
			break
		}
		scripts = append(scripts, script)
		env = append(env, used...)
	}
	if len(lists) == 0 || len(steps) == 0 {
		c.append(c.job, c.todo(matrix.line(), "job %s has a matrix without lists or without steps: replace it", c.job), "")
		return
	}
	n := shell(strings.Join(scripts, "\n"), env)
	if len(scripts) < len(steps) {
		n = c.block(steps)
	}
	if except != nil {
		lists["except"] = except
	}
	n.Foreach = lists
	if most, err := strconv.Atoi(job.get("strategy").get("max-parallel").text()); err == nil && most > 0 {
		n.MaxParallel = most
	}
	c.settings(&n, job)
	c.append(c.job, n, "")
}
