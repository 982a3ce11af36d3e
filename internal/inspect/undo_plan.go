package inspect

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Keys of the metadata of a step of an undo run. They identify the step that it undoes.
const (
	metaRun   = "undo.run"
	metaStep  = "undo.step"
	metaVisit = "undo.visit"
	metaItem  = "undo.item"
	metaSeq   = "undo.seq"
	metaOrder = "undo.order"
)

// MetaPlan is the key of the metadata of a step of an undo run that holds the plan of the undone step.
const MetaPlan = "undo.plan"

// refOf reads the step that a step of an undo run undoes.
func refOf(m map[string]string) domain.UndoneRef {
	number := func(key string) int64 { n, _ := strconv.ParseInt(m[key], 10, 64); return n } // kairosd wrote it
	return domain.UndoneRef{Run: m[metaRun], Node: m[metaStep], Visit: int(number(metaVisit)), Item: int(number(metaItem)),
		Seq: number(metaSeq)}
}

// inOrder returns the position of a step of an undo run.
func inOrder(p *runstate.Compiled, step string) int {
	n, _ := strconv.Atoi(p.Nodes[p.Index[step]].Metadata[metaOrder]) // kairosd wrote it
	return n
}

// document writes the plan and the input of an undo run, and describes its calls.
func (in *Inspector) document(v *preview.View, calls []*completion) (*Undo, []domain.PreviewUndo, error) {
	id := domain.ShortID(v.Run.ID)
	g := &planner.Graph{ID: v.Run.PlanKey, Name: "Undo of run " + id, Description: "Undoes completed steps of run " + v.Run.ID +
		" in reverse order.", Nodes: map[string]planner.Node{}}
	u := &Undo{ByPerson: true}
	input := map[string]any{}
	var list []domain.PreviewUndo
	before := ""
	for i, c := range calls {
		step := stepID(g.Nodes, c)
		node, values := undoNode(c, step)
		for k, text := range map[string]string{metaRun: c.ref.Run, metaStep: c.ref.Node, metaVisit: strconv.Itoa(c.ref.Visit),
			metaItem: strconv.Itoa(c.ref.Item), metaSeq: strconv.FormatInt(c.ref.Seq, 10), metaOrder: strconv.Itoa(i),
			MetaPlan: c.version.PlanKey} {
			node.Metadata[k] = text
		}
		if len(values) > 0 {
			input[step] = values
		}
		arguments, err := argumentsOf(node.Input, map[string]any{step: values})
		if err != nil {
			return nil, nil, err
		}
		g.Nodes[step] = node
		if before != "" {
			g.Edges = append(g.Edges, planner.Edge{From: before, To: step})
		}
		before = step
		u.ByPerson = u.ByPerson && c.version.ByPerson
		list = append(list, domain.PreviewUndo{Step: step, UndoneRef: c.ref, CompletedAt: c.at, Type: node.Type,
			Target: cmp.Or(node.Tool, node.Agent, node.Plan), Input: arguments,
			Effect: string(in.c.Versions.Catalog().EffectOf(c.node.Undo))})
	}
	raw, err := jsonvalue.Encode(input)
	if err != nil || len(raw) > jsonvalue.MaxBytes {
		return nil, nil, domain.Errorf(domain.CodeConflict, "the values that the undo refers to exceed %d MiB", jsonvalue.MaxBytes>>20).
			Suggest("refer to parts of outputs, such as an id, or leave steps out: --skip STEP")
	}
	u.Input = raw
	u.Plan, err = g.Encode(planner.FormatJSON)
	return u, list, err
}

// stepID returns a new ID for a step of an undo run, which resembles the name of the undone step.
func stepID(taken map[string]planner.Node, c *completion) string {
	const longest = 100
	id := strings.Join(c.path, "-")
	if c.ref.Visit > 1 {
		id += "-" + strconv.Itoa(c.ref.Visit)
	}
	if c.ref.Item != runstate.NoItem {
		id += "-" + strconv.Itoa(c.ref.Item)
	}
	id = id[:min(len(id), longest)]
	for base, n := id, 2; ; n++ {
		if _, ok := taken[id]; !ok {
			return id
		}
		id = base + "_" + strconv.Itoa(n)
	}
}

// undoNode returns the step that undoes a completed step, and the values that it refers to.
func undoNode(c *completion, step string) (planner.Node, map[string]any) {
	call := c.node.Undo
	n := planner.Node{ID: step, Type: call.Type, Tool: call.Tool, Agent: call.Agent, Plan: call.Plan, Timeout: walk.Duration(call.Timeout),
		Effect: call.Effect, Metadata: map[string]string{}}
	maps.Copy(n.Metadata, call.Metadata)
	if call.MaxAttempts > 1 {
		n.Retry = &planner.Retry{MaxAttempts: call.MaxAttempts, Backoff: call.Backoff}
	}
	values, names := map[string]any{}, map[string]string{}
	n.Input = c.node.UndoInput(func(text string) string {
		name, known := names[text]
		if !known {
			// "??" would begin a default. The value already has it.
			path, _, _ := strings.Cut(text, "??")
			name = strings.TrimSpace(path)
			for _, taken := values[name]; taken; _, taken = values[name] {
				name += "'"
			}
			names[text], values[name] = name, c.values[text]
		}
		return "input." + step + "." + strconv.Quote(name)
	})
	return n, values
}

// argumentsOf returns the input of a step of an undo run, with references to secrets.
func argumentsOf(source any, input map[string]any) (domain.RawJSON, error) {
	t, err := walk.ParseTemplate(source, nil)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "the input of an undo: %w", err)
	}
	v, failure := t.Render(walk.Env{Input: input, Index: -1})
	if failure != nil {
		return nil, domain.Errorf(domain.CodeConflict, "the input of an undo: %s", failure.Localize())
	}
	return jsonvalue.Encode(v)
}
