// Package planschema builds the JSON Schema of plan documents. Editors use it to complete and check
// plans while they are written. The schema is at most as strict as [planner.Parse]: a document that
// it rejects has an error.
package planschema

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// object is a JSON Schema.
type object = map[string]any

// Of returns the JSON Schema (draft 7) of plan documents. With a catalog, the schema also lists the
// tools of a server with their arguments, its agents, and its skills. Do not change the result.
func Of(c *planner.Catalog) map[string]any {
	b := builder{c}
	return object{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       "kairosd plan",
		"description": "A graph has nodes, and a step plan has steps.",
		"type":        "object",
		"if":          object{"required": []string{"steps"}},
		"then":        object{"$ref": "#/definitions/stepPlan"},
		"else":        object{"$ref": "#/definitions/graph"},
		"definitions": object{
			"graph":        graph(),
			"stepPlan":     stepPlan(),
			"node":         b.node(true),
			"template":     b.node(false),
			"step":         b.step(true),
			"stepTemplate": b.step(false),
			"edge":         edge(),
			"retry":        retry(),
			"stepRetry":    stepRetry(),
			"backoff":      backoff(),
			"when":         when(),
			"undo":         b.undo(),
			"block":        block(),
			"stepUndo":     b.stepUndo(),
			"rule":         rule("retry"),
			"stepRule":     rule("stepRetry"),
			"condition":    condition(),
			"defaults":     defaults(),
			"limits":       limits(),
			"concurrency":  concurrency(),
			"schedule":     schedule(),
			"profile":      profile(),
			"profileStep":  b.profileStep(),
			"wait":         wait(),
			"approval":     approval(),
			"answer":       answer(),
			"fail":         fail(),
		},
	}
}

// builder adds the names of a catalog, which may be nil.
type builder struct{ catalog *planner.Catalog }

// document returns the keys that both forms of a plan have, and those of one form. template is the definition
// of its templates.
func document(template string, own object) object {
	out := object{
		"templates": object{"description": "Keys that several steps have in common, by name. A step takes them with use.", "type": "object",
			"additionalProperties": object{"$ref": "#/definitions/" + template}},
		"id":          text("The key of the plan. Runs and other plans use it."),
		"name":        text("The name for people."),
		"description": text("What the plan does."),
		"input":       object{"description": "The JSON Schema of the input of a run.", "type": []string{"object", "boolean"}},
		"strict":      boolean("Fail a step with edges of which none matches. Default: true."),
		"on_failure":  choice("What a failed step stops. Default: stop.", "stop", "continue_branches"),
		"defaults":    ref("Settings of all steps that do not set them.", "defaults"),
		"limits":      ref("Limits of a run.", "limits"),
		"labels":      scalars("Labels of the runs. They can refer to input and value.", object{}),
		"priority":    integer("The priority of the runs. Higher starts first.", -1000, 1000),
		"timeout":     duration("A run that takes longer fails."),
		"concurrency": ref("The maximum number of active runs with the same key.", "concurrency"),
		"schedule":    ref("Starts runs at times.", "schedule"),
		"expose":      list("The protocols that offer the plan as a tool.", choice("A protocol.", walk.ExposeMCP, walk.ExposeA2A)),
	}
	maps.Copy(out, own)
	return out
}

// nodes describes a map of steps.
func nodes(about string) object {
	return object{"description": about, "type": "object", "additionalProperties": object{"$ref": "#/definitions/node"}}
}

func block() object {
	return closed("Steps that run in place of a call. They read other steps through the input of the block.", object{
		"start":   text("The first step. Optional if only one step has no incoming edge."),
		"result":  anything("The output of the block: any value with references."),
		"nodes":   nodes("The steps by id."),
		"finally": nodes("Steps that run at the end of the block, whatever the outcome is."),
		"edges":   list("The edges between the steps of the block.", object{"$ref": "#/definitions/edge"}),
	}, "nodes")
}

func graph() object {
	return closed("A graph of steps and edges.", document("template", object{
		"start":    text("The first step. Optional if only one step has no incoming edge."),
		"values":   object{"description": "Constants. Steps read them as ${value.NAME}.", "type": "object"},
		"result":   anything("The output of the run: any value with references."),
		"metadata": object{"description": "Any values.", "type": "object"},
		"each":     boolean("Set in plans that kairosd makes of blocks with foreach: the input is {item, index, input}."),
		"nodes":    nodes("The steps by id."),
		"finally":  nodes("Steps that run at the end, whatever the outcome is."),
		"edges":    list("The edges between steps.", object{"$ref": "#/definitions/edge"}),
		"profiles": object{"description": "Variants of the plan, such as dev and prod, by name. A run has one of them or none.",
			"type": "object", "maxProperties": planner.MaxProfiles, "additionalProperties": object{"$ref": "#/definitions/profile"}},
	}), "nodes")
}

func stepPlan() object {
	steps := func(about string) object { return list(about, object{"$ref": "#/definitions/step"}) }
	return closed("A list of steps with dependencies.", document("stepTemplate", object{
		"steps":             steps("The steps."),
		"finally":           steps("Steps that run at the end, whatever the outcome is."),
		"continueOnFailure": boolean("Continue after failed steps. Same as defaults.on_error: continue."),
		"estimatedDuration": integer("The estimated duration in milliseconds.", 0, math.MaxInt64),
		"estimatedCost":     number("The estimated cost.", 0),
		"metadata": object{"description": "Who created the plan, and how.", "type": "object", "properties": object{
			"createdBy":    text("The author."),
			"createdAt":    text("The time."),
			"confidence":   object{"description": "The confidence of the planner.", "type": "number", "minimum": 0, "maximum": 1},
			"alternatives": list("Other plans for the same request.", object{}),
		}},
	}), "steps")
}

func edge() object {
	return closed("A step takes the first of its edges whose condition holds.", object{
		"from":      text("The step that ends."),
		"to":        text("The step that starts, or $end."),
		"condition": text("A condition, default, always, failed, or failed: CODE. Default: the edge is a fallback."),
	}, "from", "to")
}

func retry() object {
	return closed("Repeats a failed attempt.", object{
		"max_attempts": integer("The number of attempts, including the first.", 1, 1000),
		"backoff": object{"description": "The waits before the retries. The last wait of a list repeats.",
			"anyOf": []any{list("The waits in order.", object{"anyOf": []any{duration("A wait."), object{"const": 0}}}),
				duration("The wait before each retry."), object{"$ref": "#/definitions/backoff"}}},
	}, "max_attempts")
}

func backoff() object {
	return closed("Growing waits.", object{
		"initial": duration("The first wait."),
		"factor":  number("Each wait is the one before, times this number. Default: 2.", 1),
		"max":     duration("The longest wait."),
		"jitter":  object{"description": "The random part of a wait, from 0 to 1.", "type": "number", "minimum": 0, "maximum": 1},
	}, "initial")
}

func stepRetry() object {
	return closed("Repeats a failed attempt.", object{
		"maxAttempts": integer("The number of attempts, including the first.", 1, 1000),
		"backoffMs":   list("The waits before the retries in milliseconds. The last one repeats.", object{"type": "integer", "minimum": 0}),
	}, "maxAttempts")
}

// whenRules are the rules of `when`, with their meaning.
var whenRules = []struct{ name, about string }{
	{"success", "All steps that it needs completed."},
	{"any_success", "At least one of them completed."},
	{"none_failed", "None of them failed or was cancelled."},
	{"failure", "At least one of them failed."},
	{"always", "In any case."},
}

func when() object {
	var rules []any
	for _, r := range whenRules {
		rules = append(rules, object{"const": r.name, "description": r.about})
	}
	return object{"anyOf": append(rules,
		text("A condition: all steps that it needs completed, and the condition holds."),
		closed("A rule and a condition.", object{
			"after": choice("The rule.", "success", "any_success", "none_failed", "failure", "always", "all_done"),
			"if":    text("The condition."),
		}),
	)}
}

var errorActions = []string{
	string(walk.OnErrorFail), string(walk.OnErrorSkip), string(walk.OnErrorContinue), string(walk.OnErrorReplan),
}

// rule describes one rule of a list under on_error. retry is the definition of its retries.
func rule(retry string) object {
	return closed("What happens after failures with some codes.", object{
		"code": object{"description": "One code or several. Default: all.", "anyOf": []any{object{"type": "string"},
			object{"type": "array", "minItems": 1, "items": object{"type": "string"}}}},
		"retry": ref("The attempts after these failures.", retry),
		"to": object{"description": "What follows the last attempt: an action, a step, or $end.",
			"anyOf": []any{object{"enum": append(slices.Clone(errorActions), walk.EndName)}, object{"type": "string"}}},
	})
}

func onError(rule string) object {
	return object{"description": "What follows the last failed attempt. Default: fail.", "anyOf": []any{object{"enum": errorActions},
		object{"type": "array", "minItems": 1, "items": object{"$ref": "#/definitions/" + rule}}}}
}

func onReject() object {
	return choice("What follows a rejected approval. Default: fail.", string(walk.OnRejectFail), string(walk.OnRejectContinue))
}

func defaults() object {
	return closed("Settings of all steps that do not set them.", object{
		"retry":    ref("The attempts of a step.", "retry"),
		"timeout":  duration("The maximum duration of one attempt."),
		"on_error": onError("rule"),
	})
}

func limits() object {
	return closed("A run that would exceed a limit waits for budget.", object{
		"max_steps":    integer("The maximum number of steps.", 1, math.MaxInt32),
		"max_duration": duration("The maximum duration."),
		"max_tokens":   integer("The maximum number of tokens of models.", 1, math.MaxInt64),
		"max_cost":     number("The maximum cost.", 0),
	})
}

func concurrency() object {
	return closed("The maximum number of active runs with the same key.", object{
		"key":         text("The key. It can refer to input and value, such as customer-${input.customer}."),
		"limit":       integer("The number of active runs. Default: 1.", 1, 1_000_000),
		"on_conflict": choice("What a run does if the limit is reached. Default: queue.", "queue", "skip", "cancel_oldest"),
	}, "key")
}

func schedule() object {
	return closed("Starts runs at the times of a cron expression.", object{
		"cron":      text("Minute, hour, day of month, month, and day of week, or a name such as @daily."),
		"time_zone": text("The IANA name of the time zone. Default: UTC."),
		"jitter":    duration("The longest random delay."),
		"input":     anything("The input of the runs."),
		"overlap":   choice("What a slot does while an earlier run is active. Default: skip.", "skip", "queue", "cancel_oldest"),
		"catch_up":  choice("Which missed slots start runs.", "default", "none", "last", "all", "ask"),
		"profile":   text("The profile of the runs."),
	}, "cron")
}

func condition() object {
	return closed("When the step runs.", object{
		"type":    choice("The rule. custom needs expr.", "success", "failure", "always", "custom"),
		"expr":    text("A condition."),
		"unknown": choice("What happens if the condition cannot be evaluated.", walk.UnknownFail, walk.UnknownSkip),
	}, "type")
}

func wait() object {
	return closed("What a step waits for: exactly one of for, until, and event.", object{
		"for":        or("How long it waits.", duration("A duration.")),
		"until":      text("The time when it ends, such as 2030-01-31T08:00:00Z."),
		"event":      text("The name of a signal; callback: a request to the callback address of the run."),
		"key":        anything("Only a signal with this key ends the wait."),
		"timeout":    or("How long it waits for the signal.", duration("A duration.")),
		"on_timeout": or("What happens without a signal. Default: fail.", object{"enum": []string{"fail", "continue"}}),
	})
}

func approval() object {
	return closed("The question to a person.", object{
		"message": text("The question."),
		"answers": object{"description": "The answers. Default: approve and reject.", "type": "array", "minItems": 2, "maxItems": 8,
			"items": object{"$ref": "#/definitions/answer"}},
		"form":       anything("The JSON Schema of values that the person enters."),
		"timeout":    or("How long the request is open.", duration("A duration.")),
		"on_timeout": or("What happens without an answer. Default: reject.", object{"enum": []string{"approve", "reject", "fail"}}),
	}, "message")
}

func answer() object {
	return object{"description": "An answer of an approval.", "type": "object", "additionalProperties": false, "properties": object{
		"id":    object{"description": "The id, which the output contains.", "type": "string", "pattern": "^[a-z][a-z0-9_-]{0,39}$"},
		"label": text("The text of the button."),
		"kind":  choice("What the answer means.", "approve", "choice", "reject"),
	}, "required": []string{"id", "kind"}}
}

func fail() object {
	return object{"description": "The failure.", "type": "object", "additionalProperties": false, "properties": object{
		"code":    anything("The error code. Default: plan_failed."),
		"message": anything("The message."),
	}}
}

// typeTexts describe the step types of the language.
var typeTexts = map[string]string{
	walk.TypeTool:      "Calls the tool.",
	walk.TypeAgent:     "Runs an agent on its input.",
	walk.TypeLLM:       "Makes one model call without tools.",
	walk.TypeSet:       "Outputs its input.",
	walk.TypeLog:       "Logs its input and outputs it.",
	walk.TypeFail:      "Fails with a code and a message.",
	walk.TypeDecision:  "Keeps the last output. Its edges decide.",
	walk.TypeNoop:      "Keeps the last output.",
	walk.TypeWait:      "Waits for a duration, a time, or a signal.",
	walk.TypeApproval:  "Waits for a person.",
	walk.TypePlan:      "Runs another plan.",
	walk.TypeRouter:    "Lets a model choose tools.",
	walk.TypeTools:     "Calls the tools that the router chose.",
	walk.TypeGenerator: "Answers with the results of the tools.",
}

// types describes the type of a node.
func (b builder) types() object {
	var known []any
	for _, name := range slices.Sorted(maps.Keys(typeTexts)) {
		known = append(known, object{"const": name, "description": typeTexts[name]})
	}
	if b.catalog == nil {
		known = append(known, text("The name of a tool."))
	} else {
		names := append(slices.Collect(maps.Keys(b.catalog.Tools)), slices.Collect(maps.Keys(b.catalog.Types))...)
		slices.Sort(names)
		known = append(known, choice("A tool.", slices.Compact(names)...),
			object{"type": "string", "pattern": "^(" + strings.Join(planner.TypeAliases(), "|") + ")$"})
	}
	return object{"description": "What the step does. The name of a tool is a type, too.", "anyOf": known}
}

// names describes a text that is one of the names of a catalog.
func (b builder) names(about string, names []string) object {
	if b.catalog == nil {
		return text(about)
	}
	slices.Sort(names)
	return choice(about, names...)
}

// node describes a step of a graph, or a template, which need not be whole.
func (b builder) node(whole bool) object {
	properties := object{
		"type":          b.types(),
		"id":            text("The id, if it differs from the key."),
		"input":         anything("The input: any value with references. Default: the output of the previous step."),
		"tool":          b.tool(),
		"agent":         b.agent(),
		"plan":          text("The plan to run: KEY or KEY@VERSION. It can contain references if plans lists the plans."),
		"plans":         texts("The plans that a computed plan can name."),
		"timeout":       duration("The maximum duration of one attempt."),
		"retry":         ref("The attempts of the step.", "retry"),
		"on_error":      onError("rule"),
		"on_reject":     onReject(),
		"effect":        choice("The side-effect class, if stricter than that of the type.", "pure", "read", "idempotent", "unsafe"),
		"ends":          choice("ok: the branch may end at this step if none of its edges matches.", "ok"),
		"needs":         texts("The steps that must have ended."),
		"race":          texts("The steps of which the first to complete starts this one. The others are cancelled."),
		"when":          ref("Whether the step runs after the steps that it needs. Default: success.", "when"),
		"foreach":       foreach(),
		"max_parallel":  integer("The number of items that run at the same time. Default: 8.", 1, 10_000),
		"max_visits":    integer("The maximum number of iterations in a loop. Default: 1.", 1, 1_000_000),
		"output_schema": anything("The JSON Schema of the output."),
		"queue":         text("On Temporal, the queue of the workers that execute the step. Default: any worker."),
		"wait":          ref("Short form of type: wait.", "wait"),
		"undo":          ref("The call that undoes the step after it completed.", "undo"),
		"do":            ref("Steps in place of a call.", "block"),
		"use":           text("The template whose keys the step takes. Its own keys win."),
		"metadata": scalars("Texts.", object{
			"permission": text("Whether a tool may be called: allow, ask, or deny."),
			"model":      text("The model of a step of type llm."),
			"risk":       text("The risk that an approval shows."),
			"approve":    text("The text of the approving answer."),
			"reject":     text("The text of the rejecting answer."),
		}),
	}
	out := closed("A step.", properties)
	if whole {
		out["anyOf"] = []any{object{"required": []string{"type"}}, object{"required": []string{"wait"}}, object{"required": []string{"do"}},
			object{"required": []string{"use"}}}
	}
	inputs := []any{
		given("type", walk.TypeWait,
			object{"properties": object{"input": or("What the step waits for.", object{"$ref": "#/definitions/wait"})}}),
		given("type", walk.TypeApproval,
			object{"properties": object{"input": or("The question.", object{"$ref": "#/definitions/approval"})}}),
		given("type", walk.TypeFail, object{"properties": object{"input": ref("The failure.", "fail")}}),
	}
	if b.catalog != nil {
		inputs = append(inputs, given("type", walk.TypeTool,
			object{"properties": object{"tool": choice("The name of the tool.", b.tools()...)}}))
	}
	out["allOf"] = append(inputs, b.arguments("input", "tool", "type")...)
	return out
}

// foreach describes the list of a foreach.
func foreach() object {
	return object{"description": "The list of which each item runs the step.", "anyOf": []any{
		text("A reference, or expr: and an expression."),
		list("Values and references.", object{}),
		object{"type": "object", "description": "A matrix: all combinations of several lists. except leaves combinations out."},
	}}
}

// step describes a step of a step plan, or a template, which need not be whole.
func (b builder) step(whole bool) object {
	var skills []string
	if b.catalog != nil {
		skills = slices.Collect(maps.Keys(b.catalog.Skills))
	}
	required := []string{"id"}
	if !whole {
		required = nil
	}
	out := closed("A step.", object{
		"use":            text("The template whose keys the step takes. Its own keys win."),
		"id":             text("The id, unique in the plan."),
		"order":          integer("The position. The dependencies decide.", 0, math.MaxInt32),
		"skillId":        b.names("The skill that the step uses.", skills),
		"agentId":        b.agent(),
		"tool":           b.tool(),
		"task":           text("The task of the agent."),
		"params":         object{"description": "The arguments.", "type": "object"},
		"dependencies":   texts("The steps that must have ended."),
		"expectedOutput": text("What the step produces."),
		"outputSchema":   anything("The JSON Schema of the output."),
		"timeout":        duration("The maximum duration of one attempt."),
		"on_reject":      onReject(),
		"condition":      ref("When the step runs.", "condition"),
		"retry":          ref("The attempts of the step.", "stepRetry"),
		"on_error":       onError("stepRule"),
		"undo":           ref("The call that undoes the step after it completed.", "stepUndo"),
	}, required...)
	if arguments := b.arguments("params", "tool"); len(arguments) > 0 {
		out["allOf"] = arguments
	}
	return out
}

// tools returns the names of the tools of the catalog, sorted.
func (b builder) tools() []string {
	if b.catalog == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(b.catalog.Tools))
}

// tool describes the tool of a step. It proposes the names of the catalog, and accepts others: a step
// of another type ignores the tool, and a step plan can name a step type.
func (b builder) tool() object {
	about := "The name of the tool."
	if len(b.tools()) == 0 {
		return text(about)
	}
	return object{"description": about, "anyOf": []any{object{"enum": b.tools()}, object{"type": "string"}}}
}

func (b builder) agent() object {
	if b.catalog == nil {
		return text("The name of the agent.")
	}
	return b.names("The name of the agent.", slices.Collect(maps.Keys(b.catalog.Agents)))
}

// given returns a schema that applies to objects in which a key has a value.
func given(key, value string, then object) object {
	return object{"if": object{"properties": object{key: object{"const": value}}, "required": []string{key}}, "then": then}
}

// arguments returns the schemas of the arguments of each tool, for steps that name the tool under
// one of the keys.
func (b builder) arguments(in string, keys ...string) (out []any) {
	for _, name := range b.tools() {
		schema, ok := b.catalog.Tools[name].Schema.(object)
		if !ok || refers(schema) {
			continue
		}
		for _, key := range keys {
			out = append(out, given(key, name, object{"properties": object{in: relaxed(schema)}}))
		}
	}
	return out
}
