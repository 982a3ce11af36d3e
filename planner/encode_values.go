package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/walk"
)

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func float(f float64) any {
	if f == 0 {
		return nil
	}
	return f
}

func flag(b bool) any {
	if !b {
		return nil
	}
	return true
}

func given(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

func duration(d walk.Duration) any {
	if d == 0 {
		return nil
	}
	return shortDuration(time.Duration(d))
}

// shortDuration writes 2m for what Go calls 2m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func list(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

func mapOrNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func orNil(o ordered) any {
	if slices.ContainsFunc(o, func(m member) bool { return m.value != nil }) {
		return o
	}
	return nil
}

// stepList writes the steps of a step plan.
func stepList(all []Step) []any {
	steps := make([]any, len(all))
	for i, st := range all {
		steps[i] = stepObject(st)
	}
	return steps
}

func stepObject(st Step) ordered {
	o := ordered{{"id", text(st.ID)}, {"order", number(int64(st.Order))}, {"skillId", text(st.SkillID)}, {"agentId", text(st.AgentID)},
		{"tool", text(st.Tool)}, {"task", text(st.Task)}, {"params", mapOrNil(st.Params)}, {"dependencies", list(st.Dependencies)}}
	if c := st.Condition; c != nil {
		o = append(o, member{"condition", ordered{{"type", text(c.Type)}, {"expr", text(c.Expr)}, {"unknown", text(c.Unknown)}}})
	}
	if r := st.Retry; r != nil {
		o = append(o, member{"retry", stepRetryObject(stepRetry(r))})
	}
	o = append(
		o,
		ordered{{"expectedOutput", text(st.ExpectedOutput)}, {"outputSchema", st.OutputSchema}, {"timeout", duration(st.Timeout)},
			{"on_error", rulesValue(st.OnError, st.ErrorRules, stepRetryObject)}, {"on_reject", text(st.OnReject)}}...)
	if st.Undo != nil {
		o = append(o, member{"undo", stepObject(*st.Undo)})
	}
	return o
}
