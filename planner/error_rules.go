package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// ErrorRule is one rule of a list under on_error. The first rule with a Retry that has the code of a
// failure decides about retries. The first with a To decides what follows the last attempt.
type ErrorRule struct {
	Codes []string // empty: any
	Retry *Retry
	// To is fail, skip, continue, replan, [walk.EndName], or the ID of a step.
	To string
}

// errorActions are the targets of a rule that name no step.
var errorActions = []string{string(walk.OnErrorFail), string(walk.OnErrorSkip), string(walk.OnErrorContinue), string(walk.OnErrorReplan)}

// decodeOnError reads an action, or a list of rules. retry reads the retries of a rule.
func decodeOnError(o *object, retry func(*object) *Retry) (action string, rules []ErrorRule) {
	v := o.field("on_error")
	switch {
	case v == nil:
		return "", nil
	case v.Kind != source.List:
		action = o.text("on_error")
		checkOnError(o, action)
		return action, nil
	case len(v.Items) == 0:
		o.r.Error(v, o.node, "field.value", message.New("write fail, skip, continue, replan, or a list of rules"), "on_error is empty")
	}
	for _, t := range v.Items {
		f := newObject(t, o.r, "on_error", o.node)
		rule := ErrorRule{Codes: errorCodes(f), Retry: retry(f), To: f.text("to")}
		if rule.Retry == nil && rule.To == "" && !f.bad && t.Get("retry") == nil && t.Get("to") == nil {
			o.r.Error(t, o.node, "field.value", message.New("write %s", "{code: timeout, to: sorry}"),
				"a rule of on_error needs retry or to")
		}
		f.finish()
		rules = append(rules, rule)
	}
	return "", rules
}

// errorCodes reads one code or a list of them.
func errorCodes(o *object) []string {
	v := o.field("code")
	switch {
	case v == nil:
		return nil
	case v.Kind == source.String:
		return []string{v.Text}
	case v.Kind == source.List && len(v.Items) == 0:
		o.r.Error(v, o.node, "field.value", message.New("leave it out for all codes"), "code is empty")
		return nil
	}
	return o.texts("code")
}

// rulesValue is on_error as it is written: an action, or a list of rules.
func rulesValue(action string, rules []ErrorRule, retry func(*Retry) any) any {
	if len(rules) == 0 {
		return text(action)
	}
	out := make([]any, len(rules))
	for i, r := range rules {
		out[i] = ordered{{"code", list(r.Codes)}, {"retry", retry(r.Retry)}, {"to", text(r.To)}}
	}
	return out
}

// canonicalRules is a list of rules in which every code is a list.
func canonicalRules(t *source.Tree) any {
	if t.Kind != source.List {
		return canonicalValue(t)
	}
	out := make([]any, len(t.Items))
	for i, e := range t.Items {
		out[i] = canonicalObject(e, func(key string, v *source.Tree) any {
			switch {
			case key == "code" && v.Kind == source.String:
				return []any{v.Text}
			case key == "retry":
				return canonicalNode(v)
			}
			return canonicalValue(v)
		})
	}
	return out
}

// stepRetry is a retry of a step plan in the form of graphs.
func stepRetry(r *StepRetry) *Retry {
	if r == nil {
		return nil
	}
	retry := &Retry{MaxAttempts: r.MaxAttempts}
	for _, ms := range r.BackoffMs {
		retry.Backoff.List = append(retry.Backoff.List, time.Duration(ms)*time.Millisecond)
	}
	return retry
}

// stepRetryObject writes a retry as step plans do.
func stepRetryObject(r *Retry) any {
	if r == nil {
		return nil
	}
	waits := make([]any, len(r.Backoff.List))
	for i, d := range r.Backoff.List {
		waits[i] = d.Milliseconds()
	}
	return ordered{{"maxAttempts", int64(max(1, r.MaxAttempts))}, {"backoffMs", waits}}
}

// compileErrorRules compiles the rules of all steps. The edges of rules follow those of the document.
func compileErrorRules(k *compiler, defaults Defaults) {
	for i := range k.specs {
		s, n := &k.specs[i], &k.p.Nodes[i]
		rules, at := s.ErrorRules, s.field("on_error")
		if len(rules) == 0 && s.OnError == "" && n.Type != walk.TypeApproval && !s.finally {
			rules, at = defaults.ErrorRules, k.d.tree.Get("defaults").Get("on_error")
		}
		all := false // an earlier rule decides about every failure
		for j, r := range rules {
			t := at
			if at.Kind == source.List && j < len(at.Items) {
				t = at.Items[j]
			}
			if all && r.To != "" {
				k.r.Warn(t, s.ID, "on_error.unused", message.New("move it before the rule without a code, or remove it"),
					"this rule is never used, because an earlier rule covers all failures of step %s", jsonvalue.Quote(s.ID))
			}
			compileErrorRule(k, n, r, j, t)
			all = all || r.To != "" && len(r.Codes) == 0
		}
	}
}

// compileErrorRule compiles one rule.
func compileErrorRule(k *compiler, n *walk.ProgramNode, r ErrorRule, number int, t *source.Tree) {
	rule := walk.ErrorRule{Codes: r.Codes, Edge: -1}
	text := "failed"
	if len(r.Codes) > 0 {
		text = "failed: " + strings.Join(r.Codes, ", ")
	}
	cond, err := k.condition(text, walk.ParseCondition)
	if err != nil {
		k.r.Error(t.Get("code"), n.ID, "condition.malformed", message.New("write %s", "code: [rate_limited, timeout]"),
			"invalid error code in %s", jsonvalue.Quote(strings.Join(r.Codes, ", ")))
		return
	}
	if r.Retry != nil {
		rule.MaxAttempts, rule.Backoff = r.Retry.MaxAttempts, r.Retry.Backoff
	}
	_, step := k.names[r.To]
	action := slices.Contains(errorActions, r.To)
	switch {
	case r.To == "":
	case action && step:
		k.broken = true
		k.r.Error(t.Get("to"), n.ID, "node.ambiguous", message.New("give the step another id"),
			"to: %s is an action, and the id of a step", r.To)
	case action:
		rule.OnError = walk.OnError(r.To)
	default:
		to := walk.End
		if r.To != walk.EndName {
			ok := false
			if to, ok = k.edgeEnd(r.To, "to", t); !ok {
				return
			}
			k.p.Nodes[to].Incoming++
		}
		edges := 0
		if k.d.Graph != nil {
			edges = len(k.d.Graph.Edges)
		}
		rule.Edge = len(n.Out)
		n.Out = append(n.Out, walk.ProgramEdge{To: to, Position: edges + number, Text: text, Cond: cond, Rule: true})
	}
	n.Rules = append(n.Rules, rule)
}

// ruleTargets returns the ids of the steps that rules of a step plan lead to.
func ruleTargets(s *StepPlan) map[string]bool {
	targets := map[string]bool{}
	for _, st := range s.Steps {
		for _, r := range st.ErrorRules {
			if r.To != "" && !slices.Contains(errorActions, r.To) {
				targets[r.To] = true
			}
		}
	}
	return targets
}
