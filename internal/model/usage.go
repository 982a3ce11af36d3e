package model

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
)

// Count returns the usage of a call: the tokens that the server reports. If it reports none or
// impossible ones, the usage is estimated with four characters per token.
func Count(r llm.Request, answer llm.Response, input, output int64) llm.Usage {
	estimated := input <= 0 || output <= 0 && (answer.Text != "" || len(answer.Calls) > 0)
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
	return llm.Usage{InputTokens: min(input, maxTokens), OutputTokens: min(output, maxTokens), Estimated: estimated}
}

// EstimateInput estimates the tokens of a request, because limits of a run must be checked before
// the server counts. A token is four ASCII characters, or one other character.
func EstimateInput(r llm.Request) int64 {
	ascii, others := 0, 0
	count := func(text string) {
		for _, letter := range text {
			if letter < utf8.RuneSelf {
				ascii++
			} else {
				others++
			}
		}
	}
	value := func(v any) {
		if raw, err := json.Marshal(v); err == nil {
			count(string(raw))
		}
	}
	for _, m := range r.Messages {
		count(m.Text)
		for _, c := range m.Calls {
			count(c.Tool + c.Arguments)
		}
		others += perMessage
	}
	for _, t := range r.Tools {
		count(t.Name + t.Description)
		value(t.Schema)
	}
	if r.Schema != nil {
		value(r.Schema)
	}
	return estimate(ascii) + int64(others)
}

// perMessage is the number of tokens of a message in addition to its text.
const perMessage = 4

// maxTokens is more than any call can use. A larger number is invalid.
const maxTokens = 1 << 32

func estimate(letters int) int64 { return int64(letters+3) / 4 }

// Price is the price of a million tokens, in the server's currency.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
}

// Cost returns the cost of a usage.
func (p Price) Cost(u llm.Usage) float64 {
	return (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output) / 1e6
}
