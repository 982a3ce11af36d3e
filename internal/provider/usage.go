package provider

import (
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent"
)

// Count is the usage of a call: what the server says, or where it says nothing
// sensible our own estimate of four letters a token (L14).
func Count(r agent.Request, answer agent.Response, input, output int64) agent.Usage {
	if input <= 0 {
		letters := 0
		for _, m := range r.Messages {
			letters += utf8.RuneCountInString(m.Text)
		}
		input = estimate(letters)
	}
	if output <= 0 {
		letters := utf8.RuneCountInString(answer.Text)
		for _, c := range answer.Calls {
			letters += len(c.Tool) + len(c.Arguments)
		}
		output = estimate(letters)
	}
	return agent.Usage{InputTokens: min(input, maxTokens), OutputTokens: min(output, maxTokens)}
}

// maxTokens is more than any call consumes; a server that says more is wrong.
const maxTokens = 1 << 32

func estimate(letters int) int64 { return int64(letters+3) / 4 }

// Price is what a million tokens cost, in the currency of the installation.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
}

// Cost is the price of a usage.
func (p Price) Cost(u agent.Usage) float64 {
	return (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output) / 1e6
}
