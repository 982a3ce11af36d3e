// Package prompts holds what the planning model is told.
package prompts

import (
	_ "embed"
	"fmt"
	"strings"
)

// Agent is an agent as the model is told of it.
type Agent struct {
	ID, Name, Description string
	Capabilities          []string
}

//go:embed system.txt
var system string

// System is the planner's role: which agents there are, and what to answer.
func System(agents []Agent, maxSteps int) string {
	var list strings.Builder
	for _, a := range agents {
		fmt.Fprintf(&list, "- %s (%s): %s\n", a.ID, a.Name, a.Description)
		if len(a.Capabilities) > 0 {
			fmt.Fprintf(&list, "  can: %s\n", strings.Join(a.Capabilities, ", "))
		}
	}
	return strings.NewReplacer("{agents}", strings.TrimRight(list.String(), "\n"), "{max}", fmt.Sprint(maxSteps)).Replace(system)
}

//go:embed replan.txt
var replan string

// Replan asks for the rest of a plan that cannot go on: what was asked, what is
// done, what failed and what was still to come, a line each.
func Replan(query string, done []string, failed string, left []string) string {
	list := func(lines []string) string {
		if len(lines) == 0 {
			return "- nothing"
		}
		return "- " + strings.Join(lines, "\n- ")
	}
	return strings.NewReplacer("{query}", query, "{done}", list(done), "{failed}", failed, "{left}", list(left)).Replace(strings.TrimSpace(replan))
}

// Example is a question and the answer that is wanted.
type Example struct{ Question, Answer string }

// Examples are given to the model before the question. They use agents that
// exist: the first two, or the only one twice.
func Examples(agents []Agent) []Example {
	if len(agents) == 0 {
		return nil
	}
	a, b := agents[0].ID, agents[min(1, len(agents)-1)].ID
	return []Example{
		{"Show me the status of order 123", fmt.Sprintf(`{"requiresMultiStep":false,"directAgentId":%q,"reasoning":"One look-up answers it."}`, a)},
		{"Compare last month's sales with this month's and write a summary for the team",
			fmt.Sprintf(`{"summary":"Compare the sales of two months and summarise them for the team","requiresMultiStep":true,"steps":[`+
				`{"agentId":%q,"task":"Collect the sales of last month and of this month","expectedOutput":"data","reasoning":"It has the figures."},`+
				`{"agentId":%q,"task":"Write a summary of the differences for the team","expectedOutput":"text"}],"reasoning":"The summary needs the figures first."}`, a, b)},
	}
}
