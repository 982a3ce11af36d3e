// Package prompts contains the prompts of the planning model.
package prompts

import (
	_ "embed"
	"fmt"
	"strings"
)

// Agent describes an agent in the prompt.
type Agent struct {
	ID, Name, Description string
	Capabilities          []string
}

//go:embed system.txt
var system string

// System returns the system prompt: the planner's role, the agents, the state of the server, and
// the format of the answer.
func System(agents []Agent, maxSteps int, state []string) string {
	var list strings.Builder
	for _, a := range agents {
		fmt.Fprintf(&list, "- %s (%s): %s\n", a.ID, a.Name, a.Description)
		if len(a.Capabilities) > 0 {
			fmt.Fprintf(&list, "  can: %s\n", strings.Join(a.Capabilities, ", "))
		}
	}
	now := ""
	if len(state) > 0 {
		now = "\nThe server now:\n- " + strings.Join(state, "\n- ") + "\n"
	}
	return strings.NewReplacer("{agents}\n", strings.TrimRight(list.String(), "\n")+"\n"+now, "{max}", fmt.Sprint(maxSteps)).Replace(system)
}

//go:embed replan.txt
var replan string

// Replan requests the rest of a plan that cannot continue. It lists the request, the completed
// steps, the failure, and the remaining steps, one line each.
func Replan(query string, done []string, failed string, left []string) string {
	list := func(lines []string) string {
		if len(lines) == 0 {
			return "- nothing"
		}
		return "- " + strings.Join(lines, "\n- ")
	}
	return strings.NewReplacer("{query}", query, "{done}", list(done), "{failed}", failed, "{left}", list(left)).
		Replace(strings.TrimSpace(replan))
}

// Example is a question and its expected answer.
type Example struct{ Question, Answer string }

// Examples precede the question. They name agents with matching capabilities, or else placeholder
// IDs.
func Examples(agents []Agent) []Example {
	if len(agents) == 0 {
		return nil
	}
	figures := fitting(agents, "agent-for-figures", "figure", "sales", "order", "data", "analy", "report")
	texts := fitting(agents, "agent-for-texts", "writ", "summar", "text", "content")
	return []Example{
		{
			"Show me the status of order 123",
			fmt.Sprintf(`{"requiresMultiStep":false,"directAgentId":%q,"reasoning":"One look-up answers it."}`, figures),
		},
		{"Compare last month's sales with this month's and write a summary for the team",
			fmt.Sprintf(`{"summary":"Compare the sales of two months and summarise them for the team","requiresMultiStep":true,"steps":[`+
				`{"agentId":%q,"task":"Collect the sales of last month and of this `+
				`month","expectedOutput":"data","reasoning":"It has the figures."},`+
				`{"agentId":%q,"task":"Write a summary of the differences for the `+
				`team","expectedOutput":"text"}],"confidence":0.9,"reasoning":"The summary needs the figures first."}`, figures, texts)},
	}
}

// fitting returns the first agent with a capability that contains one of the words, or neutral if
// there is none.
func fitting(agents []Agent, neutral string, words ...string) string {
	for _, a := range agents {
		for _, c := range a.Capabilities {
			for _, w := range words {
				if strings.Contains(strings.ToLower(c), w) {
					return a.ID
				}
			}
		}
	}
	return neutral
}
