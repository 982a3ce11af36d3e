// Package lineage draws the related runs of a run as a tree: its origin, and the runs that were
// created from it.
package lineage

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// maxRuns is the maximum number of runs of a tree, and deepest the maximum depth.
	maxRuns  = 200
	maxDepth = 60
	// openSiblings is the number of runs that are shown below one run. Further completed runs are
	// folded.
	openSiblings = 8
)

// Reader reads related runs.
type Reader interface {
	// Lineage returns the children, forks, and reruns of a run, and its origin.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
}

// Tree contains a run and its related runs.
type Tree struct {
	Roots  []Node
	Remark string // number of runs
	Note   string // what the tree omits
	// Fork is the address of the form that forks the run, or empty if the user may not.
	Fork string
}

// Alone reports whether the run has no related runs.
func (t Tree) Alone() bool { return len(t.Roots) == 1 && len(t.Roots[0].Below) == 0 }

// Node is a run and the runs that were created from it.
type Node struct {
	Run, Short, Href string
	Current          bool // the run of the page
	How, Icon        string
	Status           kit.Status
	At               kit.Time
	Took, Headline   string
	Compare          string
	Below            []Node
	// Folded are completed runs that are collapsed. Fold describes their number.
	Folded []Node
	Fold   string
}

// tree is a tree under construction.
type tree struct {
	*ui.Context
	shown    domain.Run
	known    map[string]domain.Run
	children map[string][]string
}

// Of finds the related runs of a run, breadth-first, and builds the tree.
func Of(c *ui.Context, from Reader, run domain.Run) (Tree, error) {
	b := tree{Context: c, shown: run, known: map[string]domain.Run{run.ID: run}, children: map[string][]string{}}
	order := []string{run.ID}
	var t Tree
	for i := 0; i < len(order); i++ {
		related, err := from.Lineage(c, order[i])
		if err != nil {
			return t, err
		}
		for _, o := range related {
			if _, ok := b.known[o.ID]; ok {
				continue
			}
			if len(order) == maxRuns {
				t.Note = c.T("There are more; only %s are shown.", c.Number(maxRuns))
				break
			}
			b.known[o.ID] = o
			order = append(order, o.ID)
		}
	}
	var roots []string
	for _, id := range order {
		above, _, _ := b.origin(b.known[id])
		if _, ok := b.known[above]; ok {
			b.children[above] = append(b.children[above], id)
		} else {
			roots = append(roots, id)
		}
	}
	t.Remark = c.N(len(order)-1, "%s related run", "%s related runs")
	for _, id := range roots {
		t.Roots = append(t.Roots, b.node(id, 0))
	}
	return t, nil
}

// origin returns the id of the run from which a run was created, the kind of relation, and its
// icon.
func (b tree) origin(o domain.Run) (id, how, icon string) {
	switch {
	case o.ForkedFrom != "":
		return o.ForkedFrom, b.T("fork at checkpoint %d", o.ForkSeq), "i-fork"
	case o.RerunOf != "":
		return o.RerunOf, b.T("rerun"), "i-retry"
	case o.Undoes != "":
		return o.Undoes, b.T("undo"), "i-retry"
	case o.Parent != nil:
		return o.Parent.Run, b.T("child at %s", o.Parent.Node), "i-plan"
	}
	return "", "", ""
}

// node returns a run with the runs that were created from it.
func (b tree) node(id string, depth int) Node {
	o := b.known[id]
	_, how, icon := b.origin(o)
	n := Node{
		Run: o.PlanKey, Short: domain.ShortID(id), Href: "/runs/" + id, Current: id == b.shown.ID, How: how, Icon: icon,
		Status: part.Status(b.Context, o), At: b.Time(o.CreatedAt), Headline: kit.Truncate(part.Headline(b.Context, o), 160),
	}
	if !o.EndedAt.IsZero() {
		n.Took = kit.Duration(o.EndedAt.Sub(o.CreatedAt))
	}
	if !n.Current {
		n.Compare = "/runs/compare?a=" + b.shown.ID + "&b=" + id
	}
	if depth == maxDepth {
		return n
	}
	for i, c := range b.children[id] {
		below := b.node(c, depth+1)
		if i >= openSiblings && below.Status.Key == "ok" && len(below.Below) == 0 && !below.Current {
			n.Folded = append(n.Folded, below)
			continue
		}
		n.Below = append(n.Below, below)
	}
	if k := len(n.Folded); k > 0 {
		n.Fold = b.N(k, "%s more completed run", "%s more completed runs")
	}
	return n
}
