package run

import (
	"net/http"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
)

// lineageRuns bounds a family tree.
const lineageRuns = 200

// lineage is the page of the children, forks, and reruns of a run.
type lineage struct{ *request }

// lineage is the family of a run as a tree: what it came from, what came from it.
func (r lineage) page() error {
	run, err := r.Reader.FindRun(r.Context, r.Param("run"))
	if err != nil {
		return err
	}
	short := domain.ShortID(run.ID)
	p := LineagePage{
		Shell: r.Shell("runs", r.T("Lineage of run %s", short)),
		Run:   kit.Link{Text: short, Href: "/runs/" + run.ID},
		Plan:  run.PlanKey,
	}
	known := map[string]domain.Run{run.ID: run}
	order := []string{run.ID}
	for i := 0; i < len(order); i++ {
		related, err := r.Reader.Lineage(r.Context, order[i])
		if err != nil {
			return err
		}
		for _, o := range related {
			if _, ok := known[o.ID]; ok {
				continue
			}
			if len(order) == lineageRuns {
				p.More = r.T("There are more; only %s are shown.", r.Number(lineageRuns))
				break
			}
			known[o.ID] = o
			order = append(order, o.ID)
		}
	}
	from := func(o domain.Run) (id, how string) {
		switch {
		case o.ForkedFrom != "":
			return o.ForkedFrom, r.T("fork at checkpoint %d", o.ForkSeq)
		case o.RerunOf != "":
			return o.RerunOf, r.T("rerun")
		case o.Parent != nil:
			return o.Parent.Run, r.T("child at %s", o.Parent.Node)
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
	var grow func(id string, depth int) LineageNode
	grow = func(id string, depth int) LineageNode {
		o := known[id]
		_, how := from(o)
		n := LineageNode{
			Run:      kit.Link{Text: o.PlanKey + " " + domain.ShortID(o.ID), Href: "/runs/" + o.ID, Current: id == run.ID},
			How:      how,
			Status:   part.Status(r.Context, o),
			At:       r.Time(o.CreatedAt),
			Headline: kit.Cut(part.Headline(r.Context, o), 160),
		}
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
		p.More = r.T("This run has no parent, children, forks, or reruns.")
	}
	for _, id := range roots {
		p.Roots = append(p.Roots, grow(id, 0))
	}
	return r.Render(http.StatusOK, Lineage(p))
}
