package plan

import (
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// problemWords say in a few words what is wrong with a plan, by the code of the
// problem. Readers of other languages than English have them above the planner's own
// text, which names what it is about and is never translated.
var problemWords = map[string]string{
	"approval.input":             locale.Mark("The approval is not described as it must be"),
	"approval.on_timeout":        locale.Mark("This answer after a time can never come"),
	"approval.rejection":         locale.Mark("A rejection fails the approval: this is never reached"),
	"branch.not_total":           locale.Mark("It may be that no edge can be taken"),
	"condition.expr":             locale.Mark("The expression stands in the wrong place, or is missing"),
	"condition.malformed":        locale.Mark("The condition cannot be read"),
	"condition.plain":            locale.Mark("The condition compares with the text of an expression"),
	"document.control_character": locale.Mark("There is a control character in the text"),
	"document.depth":             locale.Mark("It is nested too deeply"),
	"document.encoding":          locale.Mark("The text is not UTF-8"),
	"document.too_large":         locale.Mark("The text is too long"),
	"duration.invalid":           locale.Mark("That is no duration"),
	"duration.range":             locale.Mark("The duration is out of bounds"),
	"edge.condition":             locale.Mark("A condition must be text"),
	"edge.end_missing":           locale.Mark("The edge lacks an end"),
	"edge.never_taken":           locale.Mark("This edge is never taken"),
	"edge.source_unknown":        locale.Mark("The edge comes from a node that there is not"),
	"edge.target_unknown":        locale.Mark("The edge leads to a node that there is not"),
	"field.range":                locale.Mark("The number is out of bounds"),
	"field.type":                 locale.Mark("The value is of the wrong kind"),
	"field.unknown":              locale.Mark("There is no such key"),
	"field.value":                locale.Mark("There is no such value"),
	"foreach.reference":          locale.Mark("What it is to go through is no list"),
	"graph.cycle":                locale.Mark("Nothing leads out of a loop"),
	"graph.multiple_starts":      locale.Mark("It is not said where the plan starts"),
	"graph.no_start":             locale.Mark("The plan has no start"),
	"graph.two_tokens":           locale.Mark("Two branches meet in an edge"),
	"graph.unreachable":          locale.Mark("Nothing ever leads here"),
	"json.duplicate_key":         locale.Mark("The same key stands twice"),
	"json.surrogate":             locale.Mark("There is half of a character in the text"),
	"json.syntax":                locale.Mark("That is not JSON"),
	"json.trailing_data":         locale.Mark("Something stands behind the end"),
	"loop.unbounded":             locale.Mark("The loop is not bounded"),
	"needs.cycle":                locale.Mark("Steps need each other in a circle"),
	"needs.duplicate":            locale.Mark("The same is needed twice"),
	"needs.exclusive":            locale.Mark("It needs branches of which only one is taken"),
	"needs.on_cycle":             locale.Mark("It needs a step of a loop"),
	"needs.unknown":              locale.Mark("It needs a node that there is not"),
	"needs.with_edges":           locale.Mark("It has needs, and edges lead to it"),
	"node.agent_unknown":         locale.Mark("There is no such agent"),
	"node.agent_unused":          locale.Mark("The agent is ignored here"),
	"node.ambiguous":             locale.Mark("The name may mean two nodes"),
	"node.id_confusable":         locale.Mark("Two ids are easily taken for each other"),
	"node.id_duplicate":          locale.Mark("Two nodes have the same id"),
	"node.id_invalid":            locale.Mark("That cannot be an id"),
	"node.id_reserved":           locale.Mark("The id is reserved"),
	"node.input_invalid":         locale.Mark("The tool will refuse this input"),
	"node.input_unused":          locale.Mark("The input is ignored here"),
	"node.max_parallel":          locale.Mark("The bound of parallel items is ignored here"),
	"node.max_visits_unused":     locale.Mark("The bound of visits is ignored here"),
	"node.model_unknown":         locale.Mark("The agent does not have this model"),
	"node.on_reject":             locale.Mark("Only an approval can be rejected"),
	"node.output_schema_unused":  locale.Mark("The schema of the output is ignored here"),
	"node.permission":            locale.Mark("There is no such permission"),
	"node.plan":                  locale.Mark("The plan stands in a node of another type"),
	"node.plan_missing":          locale.Mark("No plan is named"),
	"node.plan_unused":           locale.Mark("The plan is ignored here"),
	"node.plan_version":          locale.Mark("That is no version of a plan"),
	"node.tool_denied":           locale.Mark("The tool is denied to this plan"),
	"node.tool_missing":          locale.Mark("No tool is named"),
	"node.tool_unknown":          locale.Mark("There is no such tool"),
	"node.tool_unused":           locale.Mark("The tool is ignored here"),
	"node.type_missing":          locale.Mark("The node has no type"),
	"node.state":                 locale.Mark("The state of the router graph is not valid"),
	"node.type_unknown":          locale.Mark("There is no such type of node"),
	"number.not_finite":          locale.Mark("That is no number of JSON"),
	"number.range":               locale.Mark("The number is too large"),
	"plan.foreign":               locale.Mark("The plan is written for another system"),
	"plan.id":                    locale.Mark("That cannot be the id of a plan"),
	"plan.name":                  locale.Mark("That cannot be a name"),
	"plan.no_nodes":              locale.Mark("The plan has no steps"),
	"plan.not_object":            locale.Mark("The document is not a plan"),
	"plan.shape":                 locale.Mark("It is two kinds of plan at once"),
	"plan.too_many_edges":        locale.Mark("There are too many edges"),
	"plan.too_many_nodes":        locale.Mark("There are too many steps"),
	"ref.item":                   locale.Mark("There is no item here"),
	"ref.malformed":              locale.Mark("The reference cannot be read"),
	"ref.may_be_missing":         locale.Mark("What it refers to may not have run"),
	"ref.may_be_null":            locale.Mark("The value is null when its step fails"),
	"ref.node_unknown":           locale.Mark("It refers to a node that there is not"),
	"ref.not_ancestor":           locale.Mark("It refers to what never runs before"),
	"ref.on_cycle":               locale.Mark("It refers to a step of a loop from outside"),
	"retry.backoff":              locale.Mark("The time between attempts is not whole"),
	"retry.max_attempts":         locale.Mark("The number of attempts is missing"),
	"schema.invalid":             locale.Mark("The schema is not valid"),
	"plan.rule_of_two":           locale.Mark("Strangers, private data and a change outside meet, and nobody is asked"),
	"secret.inline":              locale.Mark("A secret stands in the text"),
	"secret.not_granted":         locale.Mark("The secret is not for this tool"),
	"start.unknown":              locale.Mark("The start is a node that there is not"),
	"start.with_needs":           locale.Mark("The start needs others"),
	"step.action":                locale.Mark("A step must do exactly one thing"),
	"step.id_missing":            locale.Mark("A step has no id"),
	"step.order":                 locale.Mark("Its order contradicts its dependencies"),
	"step.skill_unknown":         locale.Mark("There is no such skill"),
	"subplan.recursion":          locale.Mark("The plan runs itself"),
	"too_many_problems":          locale.Mark("There are more"),
	"wait.input":                 locale.Mark("The wait is not described as it must be"),
	"wait.until":                 locale.Mark("That is no time"),
	"when.condition":             locale.Mark("That is no condition of when"),
	"when.without_needs":         locale.Mark("It has a condition but needs nothing"),
	"yaml.alias":                 locale.Mark("An alias leads nowhere"),
	"yaml.alias_limit":           locale.Mark("Aliases make it too large"),
	"yaml.duplicate_key":         locale.Mark("The same key stands twice"),
	"yaml.key":                   locale.Mark("That cannot be a key"),
	"yaml.merge_key":             locale.Mark("Merge keys are not taken"),
	"yaml.several_documents":     locale.Mark("There are several documents in the text"),
	"yaml.syntax":                locale.Mark("That is not YAML"),
	"yaml.tab":                   locale.Mark("A tab indents"),
	"yaml.tag":                   locale.Mark("Tags are not taken"),
}

// problemHeadline is what is wrong in the reader's language; empty where the text itself
// is in it.
func problemHeadline(c *ui.Context, q planner.Problem) string {
	word := problemWords[q.Code]
	if word == "" || c.Display.Lang == locale.English {
		return ""
	}
	return c.T(word)
}

var severityWords = map[planner.Severity]string{planner.SeverityError: locale.Mark("error"), planner.SeverityWarning: locale.Mark("warning")}

// Problem is what is wrong with a plan, as pages list it.
func Problem(c *ui.Context, q planner.Problem) kit.ProblemRow {
	row := kit.ProblemRow{Severity: c.T(severityWords[q.Severity]), Code: q.Code, Node: kit.Visible(kit.Cut(q.Node, 160)), Headline: problemHeadline(c, q), Message: kit.Visible(q.Message), Suggestion: kit.Visible(q.Suggestion), Line: q.Line}
	if q.Line > 0 {
		row.Where = c.T("line %d, column %d", q.Line, q.Column)
	}
	return row
}
