package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// planDiff shows what changed from one version of a plan to another.
func (r *request) planDiff() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	var texts [2][]string
	var numbers [2]int
	for i, key := range []string{"a", "b"} {
		n, err := strconv.Atoi(r.c.Param(key))
		if err != nil {
			return kairos.Errorf(kairos.CodeNotFound, "version %q is not a number", r.c.Param(key))
		}
		v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, n)
		if err != nil {
			return err
		}
		numbers[i], texts[i] = n, strings.Split(strings.TrimRight(visible(string(v.Source)), "\n"), "\n")
	}
	path := "/plans/" + url.PathEscape(pl.Key)
	a, b := fmt.Sprintf("v%d", numbers[0]), fmt.Sprintf("v%d", numbers[1])
	p := view.DiffPage{Shell: r.shell("plans", r.t("%s from %s to %s", pl.Key, a, b)), Plan: pl.Key, PlanHref: path, A: a, B: b, Swap: fmt.Sprintf("%s/diff/%d/%d", path, numbers[1], numbers[0])}
	p.Lines, p.Added, p.Removed = diffLines(texts[0], texts[1])
	p.Same = p.Added+p.Removed == 0
	return r.render(http.StatusOK, view.PlanDiff(p))
}

// diffContext is how many equal lines are shown around a change.
const diffContext = 3

// diffLines compares two texts by their longest common subsequence of lines; of
// texts too long for that, only what both begin and end with is found.
func diffLines(a, b []string) (out []view.DiffLine, added, removed int) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	var all []view.DiffLine
	same := func(s string) { all = append(all, view.DiffLine{Sign: " ", Text: s}) }
	plus := func(s string) { all, added = append(all, view.DiffLine{Sign: "+", Text: s, Class: "ins"}), added+1 }
	minus := func(s string) { all, removed = append(all, view.DiffLine{Sign: "-", Text: s, Class: "del"}), removed+1 }
	for _, s := range a[:head] {
		same(s)
	}
	var common [][]uint16
	if len(x)*len(y) <= 4<<20 {
		common = make([][]uint16, len(x)+1)
		for i := range common {
			common[i] = make([]uint16, len(y)+1)
		}
		for i := len(x) - 1; i >= 0; i-- {
			for j := len(y) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					common[i][j] = common[i+1][j+1] + 1
				} else {
					common[i][j] = max(common[i+1][j], common[i][j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case common != nil && i < len(x) && j < len(y) && x[i] == y[j]:
			same(x[i])
			i, j = i+1, j+1
		case i < len(x) && (common == nil || j == len(y) || common[i+1][j] >= common[i][j+1]):
			minus(x[i])
			i++
		default:
			plus(y[j])
			j++
		}
	}
	for _, s := range a[len(a)-tail:] {
		same(s)
	}
	// Equal lines far from any change are left out.
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.Sign == " " {
			continue
		}
		for k := max(0, i-diffContext); k < min(len(all), i+diffContext+1); k++ {
			keep[k] = true
		}
	}
	for i, l := range all {
		if keep[i] {
			out = append(out, l)
		} else if i == 0 || keep[i-1] {
			out = append(out, view.DiffLine{Sign: "…", Class: "sub"})
		}
	}
	return out, added, removed
}

// archivePage asks before a plan is archived, or taken back.
func (r *request) archivePage() error { return r.showArchive(http.StatusOK, "") }

func (r *request) showArchive(code int, problem string) error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	path := "/plans/" + url.PathEscape(pl.Key)
	p := view.ArchivePage{Post: path + "/archive", Back: path, Idem: newID(), Error: problem, Archived: pl.Archived}
	p.Heading, p.Says = r.t("Archive %s", pl.Key), r.t("It leaves the list of plans, and no new run of it starts. Runs that are under way go on; its versions stay. It can be taken back.")
	if p.Archived {
		p.Heading, p.Says = r.t("Take %s back", pl.Key), r.t("It is in the list of plans again, and runs of it can be started.")
	}
	p.Shell = r.shell("plans", p.Heading)
	return r.render(code, view.Archive(p))
}

func (r *request) archive() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(r.c.FormValue("reason"))
	archive := !pl.Archived
	if archive && reason == "" {
		return r.showArchive(http.StatusUnprocessableEntity, r.t("Say why: it is kept in the audit log."))
	}
	return r.once(func() (string, error) {
		return "/plans/" + url.PathEscape(pl.Key), r.s.Engine.ArchivePlan(r.ctx, r.who.actor(), pl.ID, archive, reason)
	})
}
