package domain

import (
	"cmp"
	"slices"
	"time"
)

// Spend is the usage of a model by an agent of a plan, in a period that begins at From. An empty
// agent or model was not recorded.
type Spend struct {
	From    time.Time `json:"from"`
	PlanKey string    `json:"plan"`
	Agent   string    `json:"agent"`
	Model   string    `json:"model"`
	Calls   int64     `json:"calls"`
	Usage   Usage     `json:"usage"`
}

// SpendKeys selects the names that spend is summed by.
type SpendKeys struct{ Plan, Agent, Model bool }

// SumSpend sums a list by period and by the selected names. The other names are empty in the
// result. The result is in the order of periods, and in a period the largest cost comes first.
// Without prices, the largest number of tokens does.
func SumSpend(list []Spend, by SpendKeys) []Spend {
	type key struct {
		from               int64
		plan, agent, model string
	}
	at := map[key]int{}
	out := make([]Spend, 0, len(list))
	for _, e := range list {
		if !by.Plan {
			e.PlanKey = ""
		}
		if !by.Agent {
			e.Agent = ""
		}
		if !by.Model {
			e.Model = ""
		}
		k := key{e.From.UnixNano(), e.PlanKey, e.Agent, e.Model}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, e)
			continue
		}
		out[i].Calls, out[i].Usage = out[i].Calls+e.Calls, out[i].Usage.Add(e.Usage)
	}
	slices.SortFunc(out, func(a, b Spend) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(b.Usage.Cost, a.Usage.Cost), cmp.Compare(b.tokens(), a.tokens()),
			cmp.Compare(a.PlanKey, b.PlanKey), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return out
}

func (e Spend) tokens() int64 { return e.Usage.InputTokens + e.Usage.OutputTokens }
