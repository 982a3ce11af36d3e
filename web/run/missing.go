package run

import (
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/ui"
)

// similarRuns is the maximum number of runs on the page of an unknown run.
const similarRuns = 8

// similarFailures replaces letters that ids never contain with the probably intended characters.
var similarFailures = strings.NewReplacer("i", "1", "l", "1", "o", "0", "u", "v")

// noRun renders the page of an unknown run: the last audit event if the run was deleted, and runs
// with similar ids.
func noRun(r *record.Request, id string, missing error) error {
	e, ok := missing.(*domain.Error)
	if !ok || e.Code != domain.CodeNotFound && e.Code != domain.CodeConflict {
		return missing
	}
	p := kit.ErrorPage{
		Lists:      r.Lists(),
		Shell:      r.Shell("runs", "Not found"),
		Code:       ui.StatusOf[e.Code],
		Headline:   r.T("Not found"),
		Message:    kit.Capitalize(kit.Escape(e.Message)),
		Suggestion: kit.Capitalize(e.Suggestion),
	}
	if e.Code == domain.CodeNotFound {
		p.Message = r.T("Run %s not found.", kit.Escape(kit.Truncate(id, 64)))
	}
	p.SimilarTitle = r.T("Runs with a matching ID")
	id = similarFailures.Replace(strings.ToLower(strings.TrimSpace(id)))
	if domain.ValidID(id) {
		last, err := r.App.Audit.List(r.Context, r.Principal.Actor(), domain.AuditFilter{Run: id, Page: domain.Page{Limit: 1}})
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
		if len(last.Items) > 0 {
			ev := last.Items[0]
			p.Code, p.Headline = http.StatusGone, r.T("Removed")
			p.Message = r.T(
				"Run %s is deleted. Its last audit event: %s by %s at %s.",
				id,
				ev.Action,
				kit.Escape(ev.Actor),
				r.Time(ev.At).Title,
			)
			p.Links = append(p.Links, kit.Link{Text: r.T("All audit events of the run"), Href: "/audit?run=" + id})
		}
	}
	seen := map[string]bool{}
	for _, part := range parts(id) {
		list, err := r.Reader.Runs(r.Context, domain.RunFilter{IDTail: part, Page: domain.Page{Limit: similarRuns}})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			if !seen[o.ID] && len(seen) < similarRuns {
				seen[o.ID] = true
				p.Similar = append(p.Similar, kit.Link{Text: o.PlanKey + " " + o.ID, Href: "/runs/" + o.ID})
			}
		}
	}
	if r.HTMX() {
		p.Part = r.Target() != "dialog"
		return r.Render(p.Code, kit.ErrorPanel(p))
	}
	return r.Render(max(p.Code, http.StatusNotFound), kit.Error(p))
}

// parts returns suffixes and prefixes of an id with which to find similar ids, longest first.
func parts(id string) []string {
	var out []string
	for n := min(len(id), domain.IDLength-1); n >= 4; n -= max(1, n/3) {
		out = append(out, id[len(id)-n:])
		if n >= 8 { // ids begin with a time, so a short prefix matches too much
			out = append(out, id[:n])
		}
	}
	return out
}
