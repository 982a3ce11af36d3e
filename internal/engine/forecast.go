package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// Forecast says for each answer that an open approval allows what comes next: the
// walk itself is asked, on a copy of the run as it stands. What an agent or a model
// does then nobody can say.
func (e *Engine) Forecast(ctx context.Context, approval string) ([]kairos.Forecast, error) {
	p, err := e.store.Approval(ctx, approval)
	if err != nil || p.Status != "open" {
		return nil, err
	}
	answers := []string{"approve", "reject"}
	if p.MayAsk {
		answers = append(answers, "ask_back")
	}
	var out []kairos.Forecast
	for _, answer := range answers {
		f, err := e.forecast(ctx, p, answer)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (e *Engine) forecast(ctx context.Context, p kairos.Approval, answer string) (kairos.Forecast, error) {
	f := kairos.Forecast{Answer: answer, Next: []kairos.PreviewStep{}, Effects: []kairos.PreviewStep{}}
	v, err := e.view(ctx, p.Run) // anew for each answer: settling changes it
	if err != nil {
		return f, err
	}
	var w *work
	for _, x := range v.s.work {
		if x.phase == phaseWaiting && x.ref == p.ID {
			w = x
		}
	}
	if w == nil {
		return f, kairos.Errorf(kairos.CodeConflict, "the approval is not open any more")
	}
	node := &v.prog.Nodes[w.Node]
	approve := answer == "approve"
	s := planner.Settlement{VisitKey: w.VisitKey, Item: w.item, Status: planner.Completed}
	switch {
	case w.tail != nil:
		f.Note = "tail"
		return f, nil
	case w.consent != nil && (approve || w.consent.n > 0):
		// The call is made, or the agent hears of the refusal: the step goes on.
		step := v.step(node, w.Visit)
		f.Next = append(f.Next, step)
		if approve {
			step.Type = w.consent.tool
			f.Effects = append(f.Effects, step)
		} else {
			f.Note = "agent"
		}
		return f, nil
	case w.consent != nil:
		s.Status, s.Failure = planner.Failed, grant{by: "you"}.rejection(w.consent.tool)
	default:
		s.Output = map[string]any{"approved": approve, "by": "", "comment": "", "values": nil}
	}
	v.s.walk.Ready() // what became ready before is no consequence
	if _, err := v.s.walk.Settle(s); err != nil {
		return f, err
	}
	reached := map[int]bool{}
	var queue []int
	for _, k := range v.s.walk.Ready() {
		f.Next = append(f.Next, v.step(&v.prog.Nodes[k.Node], k.Visit))
		queue = append(queue, k.Node)
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if reached[i] {
			continue
		}
		reached[i] = true
		n := &v.prog.Nodes[i]
		if step := v.step(n, 0); touches(planner.Effect(step.Effect)) {
			f.Effects = append(f.Effects, step)
		}
		for _, edge := range n.Out {
			queue = append(queue, edge.To)
		}
		queue = append(queue, n.Dependents...)
	}
	if len(v.s.walk.Open()) == 0 {
		f.Ends = kairos.RunCompleted
		if v.s.walk.Outcome().Failure != nil {
			f.Ends = kairos.RunFailed
		}
	}
	return f, nil
}

func (v *view) step(n *planner.ProgramNode, visit int) kairos.PreviewStep {
	return kairos.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.e.staticEffect(v.prog, n))}
}
