package web

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// lineageRuns bounds a family tree.
const lineageRuns = 200

// lineage is the family of a run as a tree: what it came from, what came from it.
func (r *request) lineage() error {
	run, err := r.s.Reader.FindRun(r.ctx, r.c.Param("run"))
	if err != nil {
		return err
	}
	short := domain.ShortID(run.ID)
	p := view.LineagePage{Shell: r.shell("runs", r.t("Lineage of run %s", short)), Run: view.Link{Text: short, Href: "/runs/" + run.ID}, Plan: run.PlanKey}
	known := map[string]domain.Run{run.ID: run}
	order := []string{run.ID}
	for i := 0; i < len(order); i++ {
		related, err := r.s.Reader.Lineage(r.ctx, order[i])
		if err != nil {
			return err
		}
		for _, o := range related {
			if _, ok := known[o.ID]; ok {
				continue
			}
			if len(order) == lineageRuns {
				p.More = r.t("There are more; only %s are shown.", r.number(lineageRuns))
				break
			}
			known[o.ID] = o
			order = append(order, o.ID)
		}
	}
	from := func(o domain.Run) (id, how string) {
		switch {
		case o.ForkedFrom != "":
			return o.ForkedFrom, r.t("fork at checkpoint %d", o.ForkSeq)
		case o.RerunOf != "":
			return o.RerunOf, r.t("rerun")
		case o.Parent != nil:
			return o.Parent.Run, r.t("child at %s", o.Parent.Node)
		}
		return "", ""
	}
	children := map[string][]string{}
	var roots []string
	for _, id := range order {
		above, _ := from(known[id])
		if _, ok := known[above]; ok && above != "" {
			children[above] = append(children[above], id)
		} else {
			roots = append(roots, id)
		}
	}
	var grow func(id string, depth int) view.LineageNode
	grow = func(id string, depth int) view.LineageNode {
		o := known[id]
		_, how := from(o)
		n := view.LineageNode{Run: view.Link{Text: o.PlanKey + " " + domain.ShortID(o.ID), Href: "/runs/" + o.ID, Current: id == run.ID}, How: how, Status: r.statusOf(o), At: r.time(o.CreatedAt), Headline: cut(r.headline(o), 160)}
		if id != run.ID {
			n.Compare = "/runs/compare?a=" + run.ID + "&b=" + o.ID
		}
		for _, c := range children[id] {
			if depth < 60 {
				n.Below = append(n.Below, grow(c, depth+1))
			}
		}
		return n
	}
	if len(order) == 1 {
		p.More = r.t("No other run came of this one, and it came of none.")
	}
	for _, id := range roots {
		p.Roots = append(p.Roots, grow(id, 0))
	}
	return r.render(http.StatusOK, view.Lineage(p))
}
