package web

import (
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// similarRuns bounds the runs that are named beside one that is not there.
const similarRuns = 8

// alike are letters that are no part of an id, and what was probably meant.
var alike = strings.NewReplacer("i", "1", "l", "1", "o", "0", "u", "v")

// noRun says that a run is not there: whether the audit log knows of it, and which
// ids look like the one that was asked for.
func (r *request) noRun(id string, missing error) error {
	e, ok := missing.(*domain.Error)
	if !ok || e.Code != domain.CodeNotFound && e.Code != domain.CodeConflict {
		return missing
	}
	p := view.ErrorPage{Lists: r.lists(), Shell: r.shell("runs", "Not found"), Code: statusOf[e.Code], Headline: r.t("Not found"), Message: begun(visible(e.Message)), Suggestion: begun(e.Suggestion)}
	if e.Code == domain.CodeNotFound {
		p.Message = r.t("There is no run %s.", visible(cut(id, 64)))
	}
	p.SimilarTitle = r.t("Runs with an id like it")
	id = alike.Replace(strings.ToLower(strings.TrimSpace(id)))
	if domain.ValidID(id) {
		last, err := r.s.App.Audit.List(r.ctx, r.who.actor(), domain.AuditFilter{Run: id, Page: domain.Page{Limit: 1}})
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
		if len(last.Items) > 0 {
			ev := last.Items[0]
			p.Code, p.Headline = http.StatusGone, r.t("Removed")
			p.Message = r.t("Run %s is gone. The last that the audit log says of it: %s by %s at %s.", id, ev.Action, visible(ev.Actor), r.time(ev.At).Title)
			p.Links = append(p.Links, view.Link{Text: r.t("All that the audit log says of it"), Href: "/audit?run=" + id})
		}
	}
	seen := map[string]bool{}
	for _, part := range parts(id) {
		list, err := r.s.Reader.Runs(r.ctx, domain.RunFilter{IDTail: part, Page: domain.Page{Limit: similarRuns}})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			if !seen[o.ID] && len(seen) < similarRuns {
				seen[o.ID] = true
				p.Similar = append(p.Similar, view.Link{Text: o.PlanKey + " " + o.ID, Href: "/runs/" + o.ID})
			}
		}
	}
	if r.htmx() {
		p.Part = r.target() != "dialog"
		return r.render(p.Code, view.ErrorPanel(p))
	}
	return r.render(max(p.Code, http.StatusNotFound), view.Error(p))
}

// removed says that what was asked for was there until retention took it, and which
// digest is kept of it; row 0 is the run itself.
func (r *request) removed(run domain.Run, row int64) error {
	k, err := r.s.Reader.Kept(r.ctx, run.ID)
	if err != nil {
		return err
	}
	kept := r.keptOfRow(k, row)
	if row == 0 {
		if kept = r.keptOfRow(k, run.LastSeq); r.c.Param("part") == "input" {
			kept = r.keptInput(k)
		}
	}
	p := view.ErrorPage{Lists: r.lists(), Shell: r.shell("runs", "Removed"), Code: http.StatusGone, Headline: r.t("Removed"), Message: r.wasRemoved(run, kept),
		Links: []view.Link{{Text: run.PlanKey + " " + run.ID, Href: "/runs/" + run.ID}}}
	return r.render(p.Code, view.Error(p))
}

// parts are the ends and beginnings of an id by which others like it are found,
// the longest first.
func parts(id string) []string {
	var out []string
	for n := min(len(id), domain.IDLength-1); n >= 4; n -= max(1, n/3) {
		out = append(out, id[len(id)-n:])
		if n >= 8 { // ids begin with their time: a short beginning says nothing
			out = append(out, id[:n])
		}
	}
	return out
}
