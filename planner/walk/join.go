package walk

import (
	"fmt"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// recordedJoin is the recorded decision about a node with needs; without a record, what the rule
// alone decides.
func (d *decider) recordedJoin(node *ProgramNode, runs bool, reason string) (bool, string, *Evaluation) {
	for i := range d.recorded.Settled {
		c := &d.recorded.Settled[i]
		if c.Node != node.ID {
			continue
		}
		if c.Evaluated != nil && c.Evaluated.Result == "error" {
			f := d.recorded.Failure
			if f == nil || f.Node != node.ID { // another failure of the same decision
				f = (&Failure{Code: CodeCondition, Node: node.ID, Permanent: true, NoEffect: true}).
					WithMessage("condition %s failed", jsonvalue.Quote(c.Evaluated.Condition))
			}
			d.fail(f, node.Index)
		}
		return c.Status == "ready", c.Reason, c.Evaluated
	}
	return runs, reason, nil
}

// joins reports whether the outcomes of a node's needs satisfy its rule, and if not, why.
func joins(w *Walk, node *ProgramNode) (runs bool, reason string) {
	blocked, passed, failed := "", false, false
	for _, j := range node.Needs {
		need := &w.nodes[j]
		fails := need.status == Failed && !need.continued
		failed, passed = failed || fails, passed || need.passed()
		blocks := !need.passed()
		if w.p.Sequential && !node.Finally || node.When == WhenNoneFailed { // a skipped step does not block
			blocks = fails || need.status == Cancelled || need.handedOver
		}
		if blocks && blocked == "" {
			blocked = fmt.Sprintf("%s was %s", w.p.Nodes[j].ID, need.status)
			if fails {
				blocked = w.p.Nodes[j].ID + " failed"
			}
		}
	}
	switch {
	case node.When == WhenAlways:
		return true, ""
	case node.When == WhenFirst && winner(w, node.Index, nil) < 0:
		return false, "no step of the race completed"
	case node.When == WhenFirst:
		return true, ""
	case node.When == WhenFailure && !failed:
		return false, "nothing that it needs failed"
	case node.When == WhenFailure, node.When == WhenAnySuccess && passed:
		return true, ""
	case node.When == WhenAnySuccess:
		return false, "nothing that it needs completed"
	}
	return blocked == "", blocked
}

// condition evaluates the condition of a node with needs.
func (d *decider) condition(node *ProgramNode) (runs bool, reason string, _ *Evaluation) {
	s := d.scope(joinedInput(d.w, node))
	if node.WhenUnknown == UnknownSkip {
		holds, e := node.WhenCond.evaluateGate(&s)
		switch {
		case holds:
			return true, "", &e
		case e.Result == ResultUnknown:
			return false, ReasonGateUnknown, &e
		}
		return false, "its condition is " + e.Result, &e
	}
	holds, e, failure := node.WhenCond.evaluate(&s)
	if failure != nil {
		failure.Node = node.ID
		d.fail(failure, node.Index)
		return false, "its condition failed", &e
	}
	if !holds {
		return false, "its condition is " + e.Result, &e
	}
	return true, "", &e
}

// joinedInput returns the value with which a node with needs is started: the output of its only need, or
// {need: output}; without needs, the input of the run, or for a finally step, how the other steps ended.
// A failed need contributes its error. A need that was skipped, or failed with on_error: continue,
// contributes null.
func joinedInput(w *Walk, node *ProgramNode) any {
	value := func(j int) any {
		n := &w.nodes[j]
		if n.status == Failed && !n.continued {
			return errorValue(n.failure, w.p.Nodes[j].ID)
		}
		return n.output
	}
	if node.When == WhenFirst {
		return value(winner(w, node.Index, nil))
	}
	switch len(node.Needs) {
	case 0:
		if node.Finally {
			return w.end.value()
		}
		return w.facts.Input
	case 1:
		return value(node.Needs[0])
	}
	m := make(map[string]any, len(node.Needs))
	for _, j := range node.Needs {
		m[w.p.Nodes[j].ID] = value(j)
	}
	return m
}
