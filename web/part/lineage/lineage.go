// Package lineage draws the relatives of a run as a tree: its origin, and the runs that came from it.
package lineage

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// most bounds how many runs a tree has, deepest how many generations.
	most    = 200
	deepest = 60
	// openSiblings is how many runs below one run are open; completed ones beyond it are folded.
	openSiblings = 8
)

// Reader reads relatives of runs.
type Reader interface {
	// Lineage lists the children, forks and reruns of a run, and its origin.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
}

// Tree is a run with its relatives.
type Tree struct {
	Roots  []Node
	Remark string // how many there are
	Note   string // what is not shown
	// Fork is the address of the form that forks the run; empty: the reader cannot.
	Fork string
}

// Alone reports that the run has no relatives.
func (t Tree) Alone() bool { return len(t.Roots) == 1 && len(t.Roots[0].Below) == 0 }

// Node is a run and the runs that came from it.
type Node struct {
	Run, Short, Href string
	Current          bool // the run that the page shows
	How, Icon        string
	Status           kit.Status
	At               kit.Time
	Took, Headline   string
	Compare          string
	Below            []Node
	// Folded are completed runs that are shown on demand; Fold counts them.
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

// Of finds the relatives of a run, nearest first, and puts them in order.
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
			if len(order) == most {
				t.Note = c.T("There are more; only %s are shown.", c.Number(most))
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

// origin is the run that a run came from, how, and the icon of that.
func (b tree) origin(o domain.Run) (id, how, icon string) {
	switch {
	case o.ForkedFrom != "":
		return o.ForkedFrom, b.T("fork at checkpoint %d", o.ForkSeq), "i-fork"
	case o.RerunOf != "":
		return o.RerunOf, b.T("rerun"), "i-retry"
	case o.Parent != nil:
		return o.Parent.Run, b.T("child at %s", o.Parent.Node), "i-plan"
	}
	return "", "", ""
}

// node is a run with what came from it.
func (b tree) node(id string, depth int) Node {
	o := b.known[id]
	_, how, icon := b.origin(o)
	n := Node{
		Run: o.PlanKey, Short: domain.ShortID(id), Href: "/runs/" + id, Current: id == b.shown.ID, How: how, Icon: icon,
		Status: part.Status(b.Context, o), At: b.Time(o.CreatedAt), Headline: kit.Cut(part.Headline(b.Context, o), 160),
	}
	if !o.EndedAt.IsZero() {
		n.Took = kit.Took(o.EndedAt.Sub(o.CreatedAt))
	}
	if !n.Current {
		n.Compare = "/runs/compare?a=" + b.shown.ID + "&b=" + id
	}
	if depth == deepest {
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
