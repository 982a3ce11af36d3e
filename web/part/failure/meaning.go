package failure

import (
	"strings"

	"github.com/kairosd/kairosd/web/locale"
)

// Family returns the code under which the tables list an HTTP status, and every other code
// unchanged.
func Family(code string) string {
	status, ok := strings.CutPrefix(code, "http_")
	switch {
	case !ok || len(status) != 3 || meanings[code] != "":
		return code
	case status == "401" || status == "403":
		return "http_denied"
	case status[0] == '5':
		return "http_down"
	case status[0] == '4':
		return "http_rejected"
	}
	return code
}

// Meaning returns the usual meaning of an error code, or an empty string if its message is
// sufficient.
func Meaning(code string) string { return meanings[Family(code)] }

// Anchor returns the anchor of a code in the error reference.
func Anchor(code string) string {
	if strings.HasPrefix(code, "http_") {
		return "http_429-and-other-http-statuses"
	}
	return strings.ReplaceAll(code, ".", "")
}

// meanings are the usual meaning and remedy of error codes, in two sentences. Codes with a
// self-explanatory message are omitted.
var meanings = map[string]string{
	"timeout": locale.Mark(
		"The step exceeded its time limit. Raise timeout: if the step is only slow, or check whether the service that it calls responds.",
	),
	"unreachable": locale.Mark(
		"No server responded at the address. Start the service, or fork the run with another address in the input of this step.",
	),
	"tool_circuit_open": locale.Mark(
		"kairosd refuses calls after repeated failures. Resume when calls go through, or close the circuit when the server works again.",
	),
	"http_429": locale.Mark(
		"The server limits the rate of calls. Resume later, or lower the number of steps that run at once.",
	),
	"http_404": locale.Mark("The server found nothing at the address. Check the URL in the input of this step."),
	"http_denied": locale.Mark(
		"The server refused the credentials. Check the key or token that the step sends, and its permissions.",
	),
	"http_rejected": locale.Mark(
		"The server rejected the request. It fails the same way until the input of this step changes.",
	),
	"http_down": locale.Mark(
		"The server failed to process the call. The failure may be temporary: retry the step, or resume the run later.",
	),
	"rate_limited": locale.Mark(
		"The server limits the rate of calls. Resume later, or lower the number of steps that run at once.",
	),
	"quota": locale.Mark("The account's quota is used up. Resume the run after the quota is raised or resets."),
	"provider_unavailable": locale.Mark(
		"The model's provider did not respond, or reported an outage. Resume the run when the provider is available.",
	),
	"provider_auth": locale.Mark("The provider rejected the key. Set a valid key, then resume the run. A retry does not help."),
	"provider_rejected": locale.Mark(
		"The provider rejected the request. Use another model, a shorter input, or other parameters.",
	),
	"no_provider":      locale.Mark("No provider is configured for this model. Configure one, or name another in the plan."),
	"context_too_long": locale.Mark("The prompt exceeds the model's context. Shorten it, or use a model with a larger context."),
	"llm_schema": locale.Mark(
		"The model's answer did not match the output schema. Retry the step, or add an example to the prompt.",
	),
	"llm_max_tokens": locale.Mark("The answer reached the token limit. Raise max_tokens, or request a shorter answer."),
	"llm_max_iterations": locale.Mark(
		"The agent reached its limit of tool calls without an answer. Check its calls for a loop.",
	),
	"llm_loop":    locale.Mark("The agent repeated the same call. Check what the tool returns."),
	"llm_refused": locale.Mark("The model refused to answer. Try another wording or another model."),
	"blocked":     locale.Mark("The configuration blocks this address. Allow it there if calls should reach it."),
	"policy": locale.Mark(
		"The server's policy forbids this call. It fails the same way until the policy or the plan changes.",
	),
	"unresolved_reference": locale.Mark(
		"The input refers to a missing value. A branch may not have run, or the output has another structure.",
	),
	"invalid_input": locale.Mark(
		"The tool rejected the input. Compare the input of this step with the tool's schema.",
	),
	"condition_failed": locale.Mark("A condition could not be evaluated. Check the values that it used."),
	"no_edge_matched": locale.Mark("No edge matched. Add an edge with condition: default, or ends: ok, " +
		"then fork the run with the new version."),
	"max_visits": locale.Mark("The loop reached its maximum number of iterations. Raise " +
		"max_visits, or check why the loop does not end."),
	"foreach_not_a_list":     locale.Mark("The value of foreach is not a list. Check the output of the previous step."),
	"output_too_large":       locale.Mark("The output exceeds the size limit. Write it to a file, or return less."),
	"output_not_json":        locale.Mark("The output is not valid JSON or text."),
	"child_cancelled":        locale.Mark("The run of the sub-plan was cancelled. Resuming continues that same run."),
	"handoff_unknown_target": locale.Mark("The agent handed work to an unknown agent. Check which agents it may hand work to."),
	"handoff_loop":           locale.Mark("Agents handed the same work back and forth. Check the handoffs of this run."),
	"panic": locale.Mark(
		"The step's code crashed. This is a bug in kairosd or in the tool. The stack trace below shows where.",
	),
	"exit": locale.Mark("The command ended with an error status. What it printed is in the log of this attempt."),
	"handoff_missing_capability": locale.Mark(
		"No agent has the capability that the handoff requires. Add it to an agent, or require another one."),
}
