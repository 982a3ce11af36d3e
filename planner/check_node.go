package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/foreign"
	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// reserved are IDs that would shadow the roots of references, or the members of every JavaScript
// object.
var reserved = []string{"input", "memory", "last", "item", "index", "run", "secret",
	"__proto__", "prototype", "constructor", "toString", "valueOf", "hasOwnProperty"}

func keys[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

// enter checks every ID and makes steps known by ID and by key. A name with two meanings is
// ambiguous.
func (k *compiler) enter() {
	folded := make(map[string]string, len(k.specs))
	for i := range k.specs {
		s := &k.specs[i]
		at := s.field("id")
		if at == s.tree && s.keyTree != nil {
			at = s.keyTree
		}
		k.checkID(s, at)
		if s.ID == "" && s.step {
			k.broken = true
			continue
		}
		if _, twice := k.p.Index[s.ID]; twice {
			k.r.Error(at, s.ID, "node.id_duplicate", message.New("give each step a unique id"), "two steps have the id %s",
				jsonvalue.Quote(s.ID))
			k.broken = true
			continue
		} else {
			k.p.Index[s.ID] = i
			lower := strings.ToLower(s.ID)
			if other, same := folded[lower]; same {
				k.r.Warn(at, s.ID, "node.id_confusable", message.New("choose ids that differ in more than case"),
					"the ids %s and %s differ only in case", jsonvalue.Quote(other), jsonvalue.Quote(s.ID))
			}
			folded[lower] = s.ID
		}
		for _, name := range []string{s.ID, s.key} {
			if j, ok := k.names[name]; ok && j != i {
				k.names[name] = -1
			} else {
				k.names[name] = i
			}
		}
	}
}

func (k *compiler) checkID(s *spec, at *source.Tree) {
	if s.ID == "" && s.step {
		return // reported when it was read
	}
	if !walk.ValidID(s.ID) {
		suggestion := message.New("use at most 128 letters, digits, underscores, and dashes, with no dash at the beginning")
		if strings.Contains(s.ID, ".") {
			suggestion = message.New("%s; the dot separates paths", suggestion)
		}
		k.r.Error(at, s.ID, "node.id_invalid", suggestion, "invalid step id %s", jsonvalue.Quote(s.ID))
	}
	if s.Queue != "" && !walk.ValidID(s.Queue) {
		k.r.Error(s.field("queue"), s.ID, "node.queue", message.New("use letters, digits, underscores, and dashes"), "invalid queue %s",
			jsonvalue.Quote(s.Queue))
	}
	if slices.Contains(reserved, s.ID) {
		k.r.Error(at, s.ID, "node.id_reserved", message.New("choose another id"), "the id %s is reserved", jsonvalue.Quote(s.ID))
	}
}

// runsInWorkflow are the types of steps that call nothing.
var runsInWorkflow = map[string]bool{walk.TypeNoop: true, walk.TypeSet: true, walk.TypeLog: true, walk.TypeDecision: true,
	walk.TypeApproval: true, walk.TypeWait: true, walk.TypeFail: true}

// action checks the type of the step and the fields that the type requires.
func (k *compiler) action(n *walk.ProgramNode, s *spec) {
	if s.Type == "" {
		return // reported when it was read
	}
	if n.Tool == "" {
		n.Tool = n.Metadata["tool"]
	}
	if n.Agent == "" {
		n.Agent = n.Metadata["agent_id"]
	}
	k.nodeType(n, s)
	switch n.Type {
	case walk.TypeTool:
		if n.Tool == "" {
			k.r.Error(s.tree, s.ID, "node.tool_missing", message.New("add tool: with the name of a tool"), "step %s names no tool",
				jsonvalue.Quote(s.ID))
		} else {
			k.tool(n, s)
		}
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeGenerator:
		if k.c != nil && n.Agent != "" {
			if _, ok := k.c.Agents[n.Agent]; !ok {
				k.r.Error(
					s.field("agent"),
					s.ID,
					"node.agent_unknown",
					k.r.Suggest(
						n.Agent,
						func() []string { return keys(k.c.Agents) },
						message.New("configure the agent"),
					),
					"unknown agent %s",
					jsonvalue.Quote(n.Agent),
				)
			}
		}
	case walk.TypePlan:
		if s.Do == nil {
			subPlan(k, n, s)
		}
	case walk.TypeWait, walk.TypeApproval:
		k.control(n, s)
	}
	if n.Type == walk.TypeRouter || n.Type == walk.TypeTools || n.Type == walk.TypeGenerator {
		k.routerState(n, s)
	}
	if s.OnReject != "" && n.Type != walk.TypeApproval {
		k.r.Error(s.field("on_reject"), s.ID, "node.on_reject", message.New("write type: approval, or remove it"),
			"on_reject needs type: approval")
	}
	if n.Type != walk.TypePlan && s.Plan != "" {
		k.r.Error(s.field("plan"), s.ID, "node.plan", message.New("write %s", "type: plan"), "plan: needs type: plan")
	}
	if n.Type != walk.TypePlan && len(s.Plans) > 0 {
		k.r.Error(s.field("plans"), s.ID, "node.plan", message.New("write %s", "type: plan"), "plans: needs type: plan")
	}
	k.metadata(n, s)
	k.unused(n, s)
	k.secretUse(n, s)
}

// metadata checks the members of the free metadata that have a meaning for the step.
func (k *compiler) metadata(n *walk.ProgramNode, s *spec) {
	switch n.Type {
	case walk.TypeTool, walk.TypeAgent, walk.TypeRouter, walk.TypeTools:
		if p, ok := n.Metadata["permission"]; ok && !slices.Contains(permissions, p) {
			k.r.Error(s.field("metadata"), s.ID, "node.permission",
				k.r.Suggest(p, func() []string { return permissions }, message.New("write allow, ask, or deny")),
				"metadata.permission of step %s is %s; it must be allow, ask, or deny", jsonvalue.Quote(s.ID), jsonvalue.Quote(p))
		}
	case walk.TypeLLM:
		model := n.Metadata["model"]
		if k.c == nil || model == "" {
			return
		}
		a, ok := k.c.Agents[cmp.Or(n.Agent, k.c.DefaultAgent)]
		if ok && a.Models != nil && !slices.Contains(a.Models, model) {
			k.r.Error(
				s.field("metadata"),
				s.ID,
				"node.model_unknown",
				k.r.Suggest(
					model,
					func() []string { return a.Models },
					message.New("add it to the models of the provider in the configuration"),
				),
				"plans may not use the model %s",
				jsonvalue.Quote(model),
			)
		}
	}
}

// permissions are the values of metadata.permission.
var permissions = []string{"allow", "ask", "deny"}

// unused warns of fields that the step's type ignores.
func (k *compiler) unused(n *walk.ProgramNode, s *spec) {
	if builtins[n.Type] == "" || s.step {
		return
	}
	warn := func(field string, suggestion message.Message) {
		k.r.Warn(s.field(field), s.ID, "node."+field+"_unused", suggestion, "a step of type %s ignores %s", s.Type, field)
	}
	if s.Tool != "" && n.Type != walk.TypeTool {
		warn("tool", message.New("write %s", "type: tool"))
	}
	if s.Agent != "" && n.Type != walk.TypeAgent && n.Type != walk.TypeLLM && n.Type != walk.TypeRouter && n.Type != walk.TypeGenerator {
		warn("agent", message.New("write %s", "type: agent"))
	}
	if len(s.Needs) > 0 && s.MaxVisits > 1 {
		k.r.Warn(s.field("max_visits"), s.ID, "node.max_visits_unused", message.New("remove it"), "a step with needs runs only once")
	}
	if s.Timeout > 0 && (n.Type == walk.TypeWait || n.Type == walk.TypeApproval) {
		warn("timeout", message.New("write timeout: in its input"))
	}
	if n.Type == walk.TypeFail {
		checkFailInput(k.r, s)
	}
	if n.Type == walk.TypeNoop && s.Input != nil {
		warn("input", message.New("use type: set to output a value"))
	}
	if s.Queue != "" && (n.Type == walk.TypePlan || runsInWorkflow[n.Type]) {
		warn("queue", message.New("write it on a step that calls a tool, an agent, or a model"))
	}
	if s.OutputSchema != nil && n.Type != walk.TypeAgent && n.Type != walk.TypeLLM {
		k.r.Warn(s.field("output_schema"), s.ID, "node.output_schema_unused", message.New("use it with the types agent and llm"),
			"output_schema has no effect on a step of type %s", n.Type)
	}
}

// nodeType resolves a type that is not built in: the name of a tool, or a type for which the server
// has a handler. Without a catalog, it accepts any type.
func (k *compiler) nodeType(n *walk.ProgramNode, s *spec) {
	if _, builtin := builtins[n.Type]; builtin || k.c == nil {
		return
	}
	if _, ok := k.c.Tools[n.Type]; ok {
		n.Tool, n.Type = n.Type, walk.TypeTool
		return
	}
	if _, ok := k.c.Types[n.Type]; ok {
		return
	}
	suggestion := foreign.Type(s.Type)
	if suggestion.IsZero() {
		suggestion = k.r.Suggest(
			s.Type,
			func() []string { return typeNames(k.c) },
			message.New("see the list of types, or configure a tool with that name"),
		)
	}
	k.r.Error(s.field("type"), s.ID, "node.type_unknown", suggestion, "unknown step type %s", jsonvalue.Quote(s.Type))
}

// tool checks that the tool exists, and that arguments without references match its schema.
func (k *compiler) tool(n *walk.ProgramNode, s *spec) {
	if k.c == nil {
		return
	}
	info, ok := k.c.Tools[n.Tool]
	if !ok {
		k.r.Error(s.field("tool"), s.ID, "node.tool_unknown",
			k.r.Suggest(n.Tool, func() []string { return keys(k.c.Tools) }, message.New("configure the tool")), "unknown tool %s",
			jsonvalue.Quote(n.Tool))
		return
	}
	if info.Denied != nil && info.Denied(walk.PlanOf(k.d.ID)) {
		k.r.Warn(s.field("tool"), s.ID, "node.tool_denied", message.New("ask an administrator to allow it under tools.permissions"),
			"tool %s is denied to this plan, so the step will fail", jsonvalue.Quote(n.Tool))
	}
	args, literal := s.Input.(map[string]any)
	if !literal || info.Schema == nil || n.Input == nil || len(n.Input.References()) > 0 {
		return
	}
	schema, known := k.toolSchemas[n.Tool]
	if !known {
		schema, _ = jsonschema.Parse(info.Schema) // the problem of an invalid schema is reported where the tool is registered
		k.toolSchemas[n.Tool] = schema
	}
	if schema == nil {
		return
	}
	for _, p := range schema.Validate(args) {
		k.r.Warn(s.field("input").At(p.Path), s.ID, "node.input_invalid", message.Message{}, "tool %s will reject this input: %s", n.Tool,
			p)
	}
}

// validVersion reports whether s is a version number or the beginning of a hash.
func validVersion(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// secretUse reports references to secrets and to the callback address outside the arguments of a tool. A
// type that is not built in may be a tool.
func (k *compiler) secretUse(n *walk.ProgramNode, s *spec) {
	if n.Input == nil {
		return
	}
	granted := n.Type == walk.TypeTool || builtins[n.Type] == ""
	for _, ref := range n.Input.References() {
		k.p.Callback = k.p.Callback || ref.IsCallback()
		if ref.IsCallback() && !granted {
			k.r.Error(k.insideText(s.field("input").At(ref.At), "${"+ref.Text), s.ID, "callback.not_granted",
				message.New("put it into the arguments of a tool, such as the body of a request"),
				"a step of type %s cannot use the callback address; only arguments of tools can", s.Type)
			return
		}
		if ref.Secret() != "" && !granted {
			k.r.Error(
				k.insideText(s.field("input").At(ref.At), "${"+ref.Text),
				s.ID,
				"secret.not_granted",
				message.New(
					"give the secret to a tool that needs it",
				),
				"a step of type %s cannot use secrets; only arguments of tools can",
				s.Type,
			)
			return
		}
	}
}
