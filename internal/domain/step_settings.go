package domain

import "github.com/kairosd/kairosd/planner/walk"

// StepSettings are the settings of a step after the defaults of the plan and of the language.
type StepSettings struct {
	ID      string      `json:"id" doc:"The step. A step of a block follows the step that contains it, as in ship/reserve."`
	Type    string      `json:"type" doc:"The type, as in the plan."`
	Effect  walk.Effect `json:"effect" enum:"pure,read,idempotent,unsafe,control" doc:"The side-effect class; control: it waits, or runs a plan."`
	Retries             // after failures without a rule
	Rules   []StepRule  `json:"rules,omitempty" doc:"Retries after failures with certain codes, in order."`
	Timeout Millis      `json:"timeoutMs,omitzero" doc:"The timeout of one attempt; absent: none."`
}

// Retries are the attempts of a step.
type Retries struct {
	MaxAttempts int    `json:"maxAttempts" doc:"The number of attempts, including the first."`
	Backoff     string `json:"backoff,omitempty" doc:"The waits between attempts, such as 1s, 5s."`
}

// StepRule is a rule of on_error that changes the attempts of a step.
type StepRule struct {
	Codes []string `json:"codes,omitempty" doc:"The error codes; absent: any."`
	Retries
}

// StepSettingsOf lists the settings of the steps of a program and its blocks in the order of the document. effect
// returns the side-effect class of a step.
func StepSettingsOf(p *walk.Program, effect func(*walk.ProgramNode) walk.Effect) []StepSettings {
	var out []StepSettings
	walk.EachNode(p, func(path string, n *walk.ProgramNode) {
		s := StepSettings{ID: path, Type: n.TypeName, Effect: effect(n), Retries: retriesOf(n.MaxAttempts, n.Backoff),
			Timeout: Millis(n.Timeout)}
		for _, r := range n.Rules {
			if r.MaxAttempts > 0 {
				s.Rules = append(s.Rules, StepRule{r.Codes, retriesOf(r.MaxAttempts, r.Backoff)})
			}
		}
		out = append(out, s)
	})
	return out
}

func retriesOf(most int, waits walk.Backoff) Retries {
	r := Retries{MaxAttempts: most}
	if most > 1 {
		r.Backoff = waits.String()
	}
	return r
}
