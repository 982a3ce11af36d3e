package domain

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Spend is the usage of a model by an agent of a plan, in a period that begins at From. An empty
// agent, provider, or model was not recorded.
type Spend struct {
	From     time.Time `json:"from"`
	PlanKey  string    `json:"plan"`
	Agent    string    `json:"agent"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	// Label is a label of the run, as KEY=VALUE.
	Label string `json:"label"`
	Calls int64  `json:"calls"`
	Usage Usage  `json:"usage"`
}

// How long sums per half hour, and sums of labels, are kept. Sums per day of plans are kept for good.
const (
	SpendHours     = 93 * 24 * time.Hour
	SpendLabelDays = 400 * 24 * time.Hour
)

// SpendRead selects stored sums: since a time, in periods of a number of half hours, or of days.
type SpendRead struct {
	Since  time.Time
	Period time.Duration
	// Labels selects the sums per label, and Label those of one key. Otherwise, all calls are returned.
	Labels bool
	Label  string
}

// SpendKeys selects the names that spend is summed by.
type SpendKeys struct{ Plan, Agent, Provider, Model, Label bool }

// without returns the sum with only the selected names.
func (by SpendKeys) without(e Spend) Spend {
	for _, f := range []struct {
		keep bool
		name *string
	}{{by.Plan, &e.PlanKey}, {by.Agent, &e.Agent}, {by.Provider, &e.Provider}, {by.Model, &e.Model}, {by.Label, &e.Label}} {
		if !f.keep {
			*f.name = ""
		}
	}
	return e
}

// spendID identifies a sum.
type spendID struct {
	from                                int64
	plan, agent, provider, model, label string
}

func (e Spend) id() spendID {
	return spendID{e.From.UnixNano(), e.PlanKey, e.Agent, e.Provider, e.Model, e.Label}
}

// SumSpend sums a list by period and by the selected names. The other names are empty in the
// result. The result is in the order of periods, and in a period the largest cost comes first.
// Without prices, the largest number of tokens does.
func SumSpend(list []Spend, by SpendKeys) []Spend {
	at := map[spendID]int{}
	out := make([]Spend, 0, len(list))
	for _, e := range list {
		e = by.without(e)
		i, ok := at[e.id()]
		if !ok {
			at[e.id()] = len(out)
			out = append(out, e)
			continue
		}
		out[i].Calls, out[i].Usage = out[i].Calls+e.Calls, out[i].Usage.Add(e.Usage)
	}
	slices.SortFunc(out, func(a, b Spend) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(b.Usage.Cost, a.Usage.Cost), cmp.Compare(b.tokens(), a.tokens()),
			cmp.Compare(a.PlanKey, b.PlanKey), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Model, b.Model), strings.Compare(a.Label, b.Label))
	})
	return out
}

// Unlabelled returns the usage in all that no sum in labelled contains: that of runs without a label of a key. Both
// lists are sums by the same names and periods, and labelled has one sum per value of the label in addition.
func Unlabelled(all, labelled []Spend, by SpendKeys) []Spend {
	by.Label = false
	rest := SumSpend(all, by)
	at := map[spendID]*Spend{}
	for i := range rest {
		at[rest[i].id()] = &rest[i]
	}
	for _, e := range labelled {
		if x := at[by.without(e).id()]; x != nil {
			x.Calls -= e.Calls
			x.Usage.InputTokens, x.Usage.OutputTokens = x.Usage.InputTokens-e.Usage.InputTokens, x.Usage.OutputTokens-e.Usage.OutputTokens
			x.Usage.Cost = max(0, x.Usage.Cost-e.Usage.Cost)
		}
	}
	return slices.DeleteFunc(rest, func(e Spend) bool { return e.Calls <= 0 })
}

func (e Spend) tokens() int64 { return e.Usage.InputTokens + e.Usage.OutputTokens }
