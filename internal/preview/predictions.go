package preview

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// Predictions predicts the next steps for each answer to an approval, up to the first steps that
// differ between the answers. It runs the walk on a copy of the run that load returns. Settling
// modifies the copy, so each answer uses its own. Answers of agents and models are not predicted.
func Predictions(p domain.Approval, load func() (*View, error)) ([]domain.Prediction, error) {
	answers := p.Answers()
	decisions := len(answers)
	if p.MayAsk {
		answers = append(answers, domain.Answer{ID: "request_changes", Kind: domain.AnswerReject})
	}
	var stages [][]domain.Prediction
	for _, answer := range answers {
		v, err := load()
		if err != nil {
			return nil, err
		}
		list, err := v.predict(p, answer)
		if err != nil {
			return nil, err
		}
		stages = append(stages, list)
	}
	at := firstDifference(stages[:decisions])
	out := make([]domain.Prediction, len(stages))
	for i, list := range stages {
		out[i] = list[min(at, len(list)-1)]
	}
	return out, nil
}

// firstDifference returns the first stage at which the predictions differ, or 0 if they never do.
func firstDifference(ways [][]domain.Prediction) int {
	same := func(x, y domain.Prediction) bool {
		return x.Ends == y.Ends && x.Note == y.Note && slices.EqualFunc(x.Next, y.Next, func(x,
			y domain.PreviewStep) bool {
			return x.Node == y.Node && x.Visit == y.Visit
		})
	}
	longest := 0
	for _, w := range ways {
		longest = max(longest, len(w))
	}
	for i := range longest {
		first := ways[0][min(i, len(ways[0])-1)]
		for _, w := range ways[1:] {
			if !same(first, w[min(i, len(w)-1)]) {
				return i
			}
		}
	}
	return 0
}

// predictStages is the maximum number of stages in which an answer is followed.
const predictStages = 100

// predict follows one answer. It returns the steps that become ready at once, and then repeatedly
// the steps after pure built-in steps.
func (v *View) predict(p domain.Approval, answer domain.Answer) ([]domain.Prediction, error) {
	f := domain.Prediction{Answer: answer.ID, Next: []domain.PreviewStep{}, Effects: []domain.PreviewStep{}}
	w, err := runstate.PendingApproval(v.State, p.ID)
	if err != nil {
		return nil, err
	}
	node := &v.Program.Nodes[w.Node]
	approve := !answer.Rejects()
	s := walk.Settlement{VisitKey: w.VisitKey, Item: w.Item, Status: walk.Completed}
	switch {
	case w.ReplanTarget != nil:
		f.Note = "tail"
		return []domain.Prediction{f}, nil
	case w.Consent != nil && (approve || w.Consent.Substep > 0):
		// The step continues: its call is made, or the agent receives the rejection.
		step := v.step(node, w.Visit)
		f.Next = append(f.Next, step)
		if approve {
			step.Type = w.Consent.Tool
			f.Effects = append(f.Effects, step)
		} else {
			f.Note = "agent"
		}
		return []domain.Prediction{f}, nil
	case w.Consent != nil:
		s.Failure = runstate.ConsentAnswer{By: "you"}.Rejection(w.Consent.Tool)
	default:
		var out map[string]any
		if out, s.Failure = node.AnswerOutput(answer.ID, approve, "", "", nil); s.Failure == nil {
			s.Output = out
		}
	}
	if s.Failure != nil {
		s.Status = walk.Failed
	}
	v.State.Walk.Ready() // ignore steps that were ready before
	if _, err := v.State.Walk.Settle(s); err != nil {
		return nil, err
	}
	ready := v.State.Walk.Ready()
	list := []domain.Prediction{v.stage(f, w, ready)}
	for range predictStages {
		settled := false
		for _, k := range slices.Clone(ready) {
			out, ok := v.computed(k)
			if !ok {
				continue
			}
			if _, err := v.State.Walk.Settle(walk.Settlement{VisitKey: k, Item: runstate.NoItem, Status: walk.Completed,
				Output: out}); err != nil {
				return nil, err
			}
			settled = true
			ready = slices.DeleteFunc(ready, func(o walk.VisitKey) bool { return o == k })
		}
		if !settled {
			break
		}
		ready = append(ready, v.State.Walk.Ready()...)
		list = append(list, v.stage(f, w, ready))
	}
	return list, nil
}

// computed returns the output of a visit that needs no handler. ok is false for other visits.
func (v *View) computed(k walk.VisitKey) (any, bool) {
	n := &v.Program.Nodes[k.Node]
	if !runstate.Builtin(n.Type) || n.Type == walk.TypeFail || n.Effect != "" || n.Foreach != nil {
		return nil, false
	}
	if n.Type == walk.TypeNoop || n.Type == walk.TypeDecision {
		return v.State.Walk.Last(k), true
	}
	out, failure := v.State.Walk.Input(k, runstate.NoItem)
	return out, failure == nil
}

// stage returns the prediction after the steps so far: the ready steps, the steps after them, and
// whether the run ends there.
func (v *View) stage(f domain.Prediction, answered *runstate.Step, ready []walk.VisitKey) domain.Prediction {
	f.Next, f.Effects = []domain.PreviewStep{}, []domain.PreviewStep{}
	reached := map[int]bool{}
	var queue []int
	for _, k := range ready {
		f.Next = append(f.Next, v.step(&v.Program.Nodes[k.Node], k.Visit))
		queue = append(queue, k.Node)
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if reached[i] {
			continue
		}
		reached[i] = true
		n := &v.Program.Nodes[i]
		if step := v.step(n, 0); touches(walk.Effect(step.Effect)) {
			f.Effects = append(f.Effects, step)
		}
		queue = append(queue, v.Program.Next(i)...)
	}
	// A stopping run withdraws its other waits.
	over := len(v.State.Walk.Open()) == 0 || v.State.Walk.Stopping() && len(ready) == 0
	for _, w := range v.State.Open {
		over = over && (w == answered || w.Phase == runstate.PhaseWaiting)
	}
	if over {
		f.Ends = domain.RunCompleted
		if v.State.Walk.Stopping() || v.State.Walk.Outcome().Failure != nil {
			f.Ends = domain.RunFailed
		}
	}
	return f
}

func (v *View) step(n *walk.ProgramNode, visit int) domain.PreviewStep {
	return domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(v.Program, n))}
}
