package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// ToGraph rewrites a step plan as a graph with the same steps, order, retries, and timeouts. What a
// step plan has by default is written out. Skills become the tools and agents of the catalog. An
// agent gets the request and the results of the steps that it needs in its input. The problems
// name what a graph cannot express.
func (s *StepPlan) ToGraph(c *Catalog) (*Graph, Problems) {
	if c == nil {
		c = &Catalog{}
	}
	k := converter{catalog: c, plan: s, ids: map[string]bool{}}
	g := &Graph{ID: s.ID, Name: s.Name, Description: s.Description, InputSchema: s.InputSchema, Defaults: s.Defaults, Limits: s.Limits,
		RunSettings: s.RunSettings, OnFailure: s.OnFailure, Strict: s.Strict, Nodes: map[string]Node{}, anonymous: s.anonymous}
	if s.ContinueOnFailure {
		g.Defaults.OnError = string(walk.OnErrorContinue)
	}
	sequential := !slices.ContainsFunc(s.Steps, func(st Step) bool { return len(st.Dependencies) > 0 })
	for _, st := range slices.Concat(s.Steps, s.Finally) {
		k.ids[st.ID] = true
	}
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return a.Order - b.Order })
	targets, before := ruleTargets(s), ""
	for _, st := range steps {
		if sequential && !targets[st.ID] {
			if before != "" {
				st.Dependencies = []string{before}
			}
			before = st.ID
		}
		if sequential && slices.ContainsFunc(st.ErrorRules, func(r ErrorRule) bool { return r.To == walk.EndName }) {
			k.report(SeverityError, "convert.end", st.ID, message.New("give the following steps dependencies"),
				"on_error of step %s ends a plan without dependencies, which has no counterpart in a graph", jsonvalue.Quote(st.ID))
		}
		g.Nodes[st.ID] = k.node(st, sequential, false)
		g.order = append(g.order, st.ID)
	}
	for _, st := range s.Finally {
		if g.Finally == nil {
			g.Finally = map[string]Node{}
		}
		g.Finally[st.ID] = k.node(st, false, true)
		g.finallyOrder = append(g.finallyOrder, st.ID)
	}
	if word, ok := s.Plan.Extra[MetadataPriority].(string); ok && g.Priority == 0 {
		g.Priority = RunPriority(word)
	}
	if _, ok := s.Plan.Extra[MetadataPreferences]; ok {
		k.report(SeverityWarning, "convert.metadata", "", message.New("write them into the input of the agents"),
			"a graph has no preferences")
	}
	return g, k.problems
}

// converter rewrites the steps of a plan.
type converter struct {
	catalog  *Catalog
	plan     *StepPlan
	ids      map[string]bool
	problems Problems
}

func (k *converter) report(severity Severity, code, step string, advice message.Message, format string, args ...any) {
	k.problems = append(k.problems, Problem{Severity: severity, Code: code, Node: step, Message: message.New(format, args...),
		Suggestion: advice})
}

func (k *converter) node(st Step, sequential, finally bool) Node {
	n := Node{ID: st.ID, Needs: st.Dependencies, Timeout: st.Timeout, OnError: st.OnError, OnReject: st.OnReject,
		ErrorRules: st.ErrorRules, OutputSchema: st.OutputSchema, Retry: stepRetry(st.Retry)}
	k.action(&n, st)
	if st.Undo != nil {
		n.Undo = k.undo(st.ID, *st.Undo)
	}
	asks := n.Type == walk.TypeApproval
	if n.Retry == nil && k.plan.Defaults.Retry == nil && !asks {
		n.Retry = &Retry{MaxAttempts: defaultStepRetry.MaxAttempts, Backoff: defaultStepRetry.Backoff}
	}
	if n.Timeout == 0 && k.plan.Defaults.Timeout == 0 && (n.Type == walk.TypeTool || n.Type == walk.TypeAgent) {
		n.Timeout = walk.Duration(defaultStepTimeout)
	}
	if st.Params != nil {
		n.Input = k.references(st.Params)
	}
	if n.Type == walk.TypeAgent && st.Task != "" {
		n.Input = k.prompt(st)
	}
	if len(n.Needs) > 0 || finally {
		k.condition(&n, st, sequential)
	}
	return n
}

// action sets the type of a step, by its tool, its agent, or its skill.
func (k *converter) action(n *Node, st Step) {
	tool := st.Tool
	switch {
	case st.AgentID != "":
		n.Type, n.Agent = walk.TypeAgent, st.AgentID
		return
	case st.SkillID != "":
		skill, ok := k.catalog.Skills[st.SkillID]
		if _, isTool := k.catalog.Tools[st.SkillID]; !ok && !isTool {
			k.report(SeverityError, "step.skill_unknown", st.ID,
				message.New("configure the skill, and pass the configuration with --config"), "unknown skill %s",
				jsonvalue.Quote(st.SkillID))
		}
		if skill.Agent != "" {
			n.Type, n.Agent = walk.TypeAgent, skill.Agent
			if n.OutputSchema == nil && skill.OutputSchema != nil {
				n.OutputSchema = skill.OutputSchema
			}
			return
		}
		tool = cmp.Or(skill.Tool, st.SkillID)
	}
	if n.Type = tool; !BuiltinType(tool) {
		n.Type, n.Tool = walk.TypeTool, tool
	}
}

// condition sets the rule by which a step runs. In a plan without dependencies, a skipped step does
// not keep the next one from running.
func (k *converter) condition(n *Node, st Step, sequential bool) {
	if sequential {
		n.When = string(walk.WhenNoneFailed)
	}
	c := st.Condition
	switch {
	case c == nil || c.Type == string(walk.WhenSuccess):
	case c.Type == "custom":
		if c.Unknown == walk.UnknownSkip {
			k.report(SeverityError, "convert.unknown", st.ID,
				message.New("test for missing values in the expression, for example with has(), and remove unknown"),
				"unknown: skip of step %s has no counterpart in a graph", jsonvalue.Quote(st.ID))
		}
		n.When = "expr: " + c.Expr
		if sequential {
			n.After = walk.WhenNoneFailed
		}
	default:
		n.When = c.Type
	}
}

// prompt is the input of an agent: what a step plan gives to it automatically.
func (k *converter) prompt(st Step) any {
	var b strings.Builder
	b.WriteString("The user's request:\n${input}\n\n")
	if len(st.Dependencies) > 0 {
		b.WriteString("Results of previous steps:\n")
		for _, id := range st.Dependencies {
			b.WriteString("- " + id + ": ${output." + id + " ?? null}\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("Your task: " + st.Task)
	if st.ExpectedOutput != "" {
		b.WriteString("\n\nExpected output: " + st.ExpectedOutput)
	}
	if len(st.Params) == 0 {
		return b.String()
	}
	return map[string]any{"task": b.String(), "params": k.references(st.Params)}
}

// references writes the short form of a reference, ID.result.PATH, in full.
func (k *converter) references(v any) any {
	switch v := v.(type) {
	case string:
		id, rest, ok := strings.Cut(v, ".")
		after, path := strings.CutPrefix(rest, "result.")
		if !ok || !k.ids[id] || rest != "result" && !path {
			return v
		}
		text := "output." + id
		if path {
			text += "." + after
		}
		if _, err := walk.ParseReference(text); err != nil {
			return v
		}
		return "${" + text + "}"
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = k.references(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = k.references(x)
		}
		return out
	}
	return v
}
