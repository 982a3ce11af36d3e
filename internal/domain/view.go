package domain

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/planner/walk"
)

// LimitsView is [Limits] as the API represents it, with the duration as text such as "1h30m".
type LimitsView struct {
	MaxSteps    int64   `json:"maxSteps,omitempty"`
	MaxDuration string  `json:"maxDuration,omitempty"`
	MaxTokens   int64   `json:"maxTokens,omitempty"`
	MaxCost     float64 `json:"maxCost,omitempty"`
}

// ViewLimits converts limits to their API form.
func ViewLimits(l Limits) LimitsView {
	v := LimitsView{MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}
	if l.MaxDuration != 0 {
		v.MaxDuration = l.MaxDuration.String()
	}
	return v
}

// Limits converts limits from their API form. The error has CodeInvalid.
func (v LimitsView) Limits() (Limits, error) {
	l := Limits{MaxSteps: v.MaxSteps, MaxTokens: v.MaxTokens, MaxCost: v.MaxCost}
	if v.MaxDuration != "" {
		d, err := ParseDuration(v.MaxDuration)
		if err != nil {
			return Limits{}, Errorf(CodeInvalid, "limits: maxDuration: %w", err).Suggest(`write a duration like "1h30m" or "PT1H30M"`)
		}
		l.MaxDuration = d
	}
	if l.MaxSteps < 0 || l.MaxTokens < 0 || l.MaxCost < 0 || l.MaxDuration < 0 {
		return Limits{}, Errorf(CodeInvalid, "limits must not be negative").Suggest("leave a limit out for none")
	}
	return l, nil
}

// DecisionView is a decision of a run with its position.
type DecisionView struct {
	Seq   int64     `json:"seq"`
	Node  string    `json:"node"`
	Visit int       `json:"visit"`
	Item  int       `json:"item"` // -1 outside a foreach
	At    time.Time `json:"at"`
	walk.Decision
}

// DecisionsOf returns the decisions that a journal records, in order. It leaves out rows without a
// decision.
func DecisionsOf(journal []Entry) []DecisionView {
	out := []DecisionView{}
	for i := range journal {
		e := &journal[i]
		if !e.Final || len(e.Decision) == 0 {
			continue
		}
		v := DecisionView{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Item: e.Item, At: e.At}
		if json.Unmarshal(e.Decision, &v.Decision) == nil {
			out = append(out, v)
		}
	}
	return out
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`)

// ParseDuration parses a duration in Go's form or as ISO 8601: 1h30m or PT1H30M.
func ParseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	parts := isoDuration.FindStringSubmatch(text)
	if parts == nil || text == "P" || text[len(text)-1] == 'T' {
		return 0, Errorf(CodeInvalid, "invalid duration %.40q", text).Suggest(`write a duration like "1h30m" or "PT1H30M"`)
	}
	total := time.Duration(0)
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(parts[i+1], 10, 32)
		if err != nil {
			return 0, Errorf(CodeInvalid, "duration %.40q is too long", text)
		}
		total += time.Duration(n) * unit
	}
	return total, nil
}

// SuggestionOf returns the suggestion in the latest failure of a step, or "".
func SuggestionOf(journal []Entry, node string) string {
	for _, e := range slices.Backward(journal) {
		if e.Node != node {
			continue
		}
		var d walk.Decision
		if json.Unmarshal(e.Decision, &d) == nil && d.Failure != nil {
			return d.Failure.Suggestion
		}
		if e.Failure != nil {
			return e.Failure.Suggestion
		}
	}
	return ""
}
