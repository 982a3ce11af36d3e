package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/view"
)

// planDiffRange is the same page by an address as people write it: diff/3..5.
func (r *request) planDiffRange() error {
	from, to, ok := strings.Cut(r.c.Param("range"), "..")
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "%q is not two versions", cut(r.c.Param("range"), 40)).Suggest("write 3..5")
	}
	return r.c.Redirect(http.StatusSeeOther, "/plans/"+url.PathEscape(r.c.Param("plan"))+"/diff/"+url.PathEscape(from)+"/"+url.PathEscape(to))
}

// planDiff shows what changed from one version of a plan to another.
func (r *request) planDiff() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	var versions [2]domain.Version
	var numbers [2]int
	for i, key := range []string{"a", "b"} {
		n, err := strconv.Atoi(r.c.Param(key))
		if err != nil {
			return domain.Errorf(domain.CodeNotFound, "version %q is not a number", r.c.Param(key))
		}
		v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, n)
		if err != nil {
			return err
		}
		numbers[i], versions[i] = n, v
	}
	path := "/plans/" + url.PathEscape(pl.Key)
	a, b := fmt.Sprintf("v%d", numbers[0]), fmt.Sprintf("v%d", numbers[1])
	p := view.DiffPage{Shell: r.shell("plans", r.t("%s from %s to %s", pl.Key, a, b)), Plan: pl.Key, PlanHref: path, A: a, B: b, Swap: fmt.Sprintf("%s/diff/%d/%d", path, numbers[1], numbers[0])}
	d := plandiff.Versions(versions[0], versions[1])
	p.Added, p.Removed, p.Lines = d.Added, d.Removed, diffLines(d)
	p.Same = p.Added+p.Removed == 0
	// A version that names what is no longer configured has no picture; its text is
	// compared all the same.
	if c, err := graph.Compare(r.ctx, r.s.Engine, versions[0].Hash, versions[1].Hash); err == nil {
		c.Href = func(node string) string { // where it stands, and how its runs went
			n := numbers[1]
			if c.Gone(node) {
				n = numbers[0]
			}
			return fmt.Sprintf("%s/v/%d?%s#step", path, n, url.Values{"node": {node}}.Encode())
		}
		p.Graph, p.Steps = c.Graph(r.Context, &r.s.layouts), c.Summary(r.Context)
	}
	return r.render(http.StatusOK, view.PlanDiff(p))
}
