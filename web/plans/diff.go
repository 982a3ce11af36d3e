package plans

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// planDiffRange redirects the short form of the address, diff/3..5, to the comparison.
func (s *section) planDiffRange(c *ui.Context) error {
	from, to, ok := strings.Cut(c.Param("range"), "..")
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "%q is not two versions", kit.Truncate(c.Param("range"), 40)).Suggest("write 3..5")
	}
	return c.Echo.Redirect(http.StatusSeeOther,
		"/plans/"+url.PathEscape(c.Param("plan"))+"/diff/"+url.PathEscape(from)+"/"+url.PathEscape(to))
}

// planDiff serves the comparison of two versions of a plan.
func (s *section) planDiff(c *ui.Context) error {
	pl, err := s.Reader.Plan(c, c.Param("plan"))
	if err != nil {
		return err
	}
	versions, err := twoVersions(c, s.Reader, pl)
	if err != nil {
		return err
	}
	path := link.Plan(pl.Key)
	a, b := fmt.Sprintf("v%d", versions[0].Number), fmt.Sprintf("v%d", versions[1].Number)
	p := DiffPage{Shell: c.Shell("plans", c.T("%s from %s to %s", pl.Key, a, b)), Plan: pl.Key, PlanHref: path, A: a, B: b,
		Swap: fmt.Sprintf("%s/diff/%d/%d", path, versions[1].Number, versions[0].Number)}
	d := plandiff.Versions(versions[0], versions[1])
	p.Added, p.Removed, p.Lines = d.Added, d.Removed, plan.DiffLines(d)
	p.Same = p.Added+p.Removed == 0
	addGraph(c, s, &p, versions)
	return c.Render(http.StatusOK, PlanDiff(p))
}

// addGraph adds the graph of both versions. A version that refers to a removed tool or agent does
// not compile, and has no graph. The texts are compared anyway.
func addGraph(c *ui.Context, s *section, p *DiffPage, versions [2]domain.Version) {
	compared, err := graph.Compare(c, s.Engine, versions[0].Hash, versions[1].Hash)
	if err != nil {
		return
	}
	compared.Href = func(node string) string { // the step on the page of its newest version
		v := versions[1]
		if compared.Removed(node) {
			v = versions[0]
		}
		return fmt.Sprintf("%s/v/%d?%s#step", p.PlanHref, v.Number, url.Values{"node": {node}}.Encode())
	}
	p.Graph, p.Steps = compared.Graph(c, s.Layouts), compared.Summary(c)
}

// twoVersions returns the versions of a plan that the address names.
func twoVersions(c *ui.Context, from Reader, pl domain.Plan) (versions [2]domain.Version, err error) {
	for i, key := range []string{"a", "b"} {
		n, err := strconv.Atoi(c.Param(key))
		if err != nil {
			return versions, domain.Errorf(domain.CodeNotFound, "version %q is not a number", c.Param(key))
		}
		if versions[i], err = from.VersionByNumber(c, pl.ID, n); err != nil {
			return versions, err
		}
	}
	return versions, nil
}
