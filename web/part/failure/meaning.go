package failure

import (
	"strings"

	"github.com/kairosd/kairosd/web/locale"
)

// Family is the code that stands for an HTTP status in the tables; another code stands for
// itself.
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

// Meaning is what an error usually means; empty: its message has it.
func Meaning(code string) string { return meanings[Family(code)] }

// Anchor is where the reference of errors has a code; an unknown one leads to its beginning.
func Anchor(code string) string {
	if strings.HasPrefix(code, "http_") {
		return "http_429-and-other-http-statuses"
	}
	return strings.ReplaceAll(code, ".", "")
}

// meanings say what an error usually means and what helps, by its code (UI
// 3.3.3): two sentences, no guessing. Codes that say it themselves have none.
var meanings = map[string]string{
	"timeout": locale.Mark(
		"The step did not end within its time limit. Raise timeout: if it is only slow, or look whether what it calls answers.",
	),
	"unreachable": locale.Mark(
		"Nothing answered at the address. Start the service, or fork with another address in the input of this step.",
	),
	"tool_circuit_open": locale.Mark(
		"Calls are refused after repeated failures. Resume when calls go through, or close the circuit once the other side works.",
	),
	"http_429": locale.Mark(
		"The other side takes no more calls for now. Resume later, or lower how many steps run at once.",
	),
	"http_404": locale.Mark("There is nothing at the address. Look at the url in the input of this step."),
	"http_denied": locale.Mark(
		"The other side refused the caller. Look at the key or token that the step sends, and what it may do.",
	),
	"http_rejected": locale.Mark(
		"The other side refused the request itself. It fails the same way until the input of this step changes.",
	),
	"http_down": locale.Mark(
		"The server failed to process the call. The failure may be temporary: retry the step, or resume the run later.",
	),
	"rate_limited": locale.Mark(
		"The other side takes no more calls for now. Resume later, or lower how many steps run at once.",
	),
	"quota": locale.Mark("The account's quota is used up. Resume the run after the quota is raised or resets."),
	"provider_unavailable": locale.Mark(
		"The model's provider did not answer or said that it is down. Nothing of the call was kept; resume when it is back.",
	),
	"provider_auth": locale.Mark("The provider refused the key. Set a valid one and resume; no retry helps before."),
	"provider_rejected": locale.Mark(
		"The provider refused the request itself. Another model, shorter input or other parameters are needed.",
	),
	"no_provider":      locale.Mark("No provider is configured for this model. Configure one, or name another in the plan."),
	"context_too_long": locale.Mark("The prompt is longer than the model takes. Give it less, or a model with a larger context."),
	"llm_schema": locale.Mark(
		"The model's answer did not fit the output schema. A retry may help; so does an example in the prompt.",
	),
	"llm_max_tokens": locale.Mark("The answer was cut at the token limit. Raise max_tokens, or ask for less."),
	"llm_max_iterations": locale.Mark(
		"The agent called tools until its bound and gave no answer. Look at its calls: it may go in circles.",
	),
	"llm_loop":    locale.Mark("The agent made the same call again and again. Look at what the tool answers it."),
	"llm_refused": locale.Mark("The model declined to answer. Another wording or another model may not."),
	"blocked":     locale.Mark("The address may not be reached from here. Allow it in the configuration if it should be."),
	"policy": locale.Mark(
		"The server's policy forbids this call. It fails the same way until the policy or the plan changes.",
	),
	"unresolved_reference": locale.Mark(
		"The input names a value that is not there. A branch may not have run, or the output has another shape.",
	),
	"invalid_input": locale.Mark(
		"The tool does not take this input. Look at the input of this step and at what the tool asks for.",
	),
	"condition_failed":       locale.Mark("A condition could not be evaluated. Look at the values that it saw."),
	"no_edge_matched":        locale.Mark("No edge matched, and the step has no default edge."),
	"max_visits":             locale.Mark("The loop came round as often as it may. Raise max_visits, or see why it does not end."),
	"foreach_not_a_list":     locale.Mark("What foreach goes over is not a list. Look at the output of the step before."),
	"output_too_large":       locale.Mark("The output is larger than may be stored. Let the step write to a file, or return less."),
	"output_not_json":        locale.Mark("The output could not be read as a value. The step has to print JSON or text."),
	"child_cancelled":        locale.Mark("The run of the sub-plan was cancelled. Resuming continues that same run."),
	"handoff_unknown_target": locale.Mark("The agent handed over to an agent that is not there. Look which agents it may name."),
	"handoff_loop":           locale.Mark("Agents handed the same work back and forth. Look at the handoffs of this run."),
	"panic": locale.Mark(
		"The step's code broke. This is a fault of kairosd or of the tool; the stack below names the place.",
	),
	"exit":                       locale.Mark("The command ended with an error status. What it printed is in the log of this attempt."),
	"handoff_missing_capability": locale.Mark("No agent has the capability that the handoff asks for. Give it to one, or ask for another."),
}
