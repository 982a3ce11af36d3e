package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// newSince says since what change failures like these are new: what differs
// between the last run of the plan that succeeded and the first that failed so.
// It says nothing where nothing changed, or where the plan never succeeded.
func (r *request) newSince(row *view.GroupRow, g domain.FailureGroup) error {
	o, err := r.s.App.Failures.Origin(r.ctx, r.who.actor(), g.Ref())
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && o.Good == "" {
		return nil
	} else if err != nil {
		return err
	}
	row.Good = view.Link{Text: r.t("last success %s", r.time(o.GoodAt).Text), Href: "/runs/compare?" + url.Values{"a": {g.Newest}, "b": {o.Good}}.Encode()}
	if o.Version != o.GoodVersion {
		row.New = r.t("new since v%d", o.Version)
		if v, err := r.s.Reader.VersionByNumber(r.ctx, g.PlanID, o.Version); err == nil {
			row.New += ", " + r.time(v.CreatedAt).Text
			if v.Author != "" {
				row.New += " · " + visible(v.Author)
			}
		} else if domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
		from, to := min(o.GoodVersion, o.Version), max(o.GoodVersion, o.Version)
		row.Compare = view.Link{Text: r.t("Compare v%d..v%d", from, to), Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(g.PlanKey), from, to)}
		return nil
	}
	row.New, row.Compare, err = r.changedAround(g, o)
	return err
}

// around is how many starts and acceptances are looked at between two runs.
const around = 20

// changedAround looks for what else changed between two runs: a tool's
// definition, kairosd itself, an agent, a provider's model.
func (r *request) changedAround(g domain.FailureGroup, o domain.FailureOrigin) (string, view.Link, error) {
	used, err := r.s.Reader.Uses(r.ctx, g.Newest)
	if err != nil {
		return "", view.Link{}, err
	}
	uses := func(kind, name string) bool { return slices.Contains(used, domain.Use{Kind: kind, Name: name}) }
	accepted, err := r.s.App.Audit.List(r.ctx, r.who.actor(), domain.AuditFilter{Action: "tool.accept", Since: o.GoodAt, Until: o.FirstAt, Page: domain.Page{Limit: around}})
	if err != nil {
		return "", view.Link{}, err
	}
	for _, e := range accepted.Items {
		if name := strings.TrimPrefix(e.Object, "tool:"); uses(domain.UseTool, name) {
			return r.t("new since tool %s changed, %s", visible(name), r.time(e.At).Text), view.Link{Text: r.t("See the tool"), Href: "/agents/tools/" + url.PathEscape(name)}, nil
		}
	}
	starts, err := r.s.App.Audit.List(r.ctx, r.who.actor(), domain.AuditFilter{Action: "daemon.start", Since: o.GoodAt, Until: o.FirstAt, Page: domain.Page{Limit: around}})
	if err != nil || len(starts.Items) == 0 {
		return "", view.Link{}, err
	}
	before, err := r.s.App.Audit.List(r.ctx, r.who.actor(), domain.AuditFilter{Action: "daemon.start", Until: o.GoodAt, Page: domain.Page{Limit: 1}})
	if err != nil || len(before.Items) == 0 {
		return "", view.Link{}, err
	}
	last := starts.Items[0]
	see := view.Link{Text: r.t("See the starts"), Href: "/audit?" + url.Values{"action": {"daemon.start"}}.Encode()}
	if a, z := strings.TrimPrefix(before.Items[0].Object, "version:"), strings.TrimPrefix(last.Object, "version:"); a != z {
		return r.t("new since kairosd %s, %s", visible(z), r.time(last.At).Text), see, nil
	}
	was, is := startedWith(before.Items[0]), startedWith(last)
	for _, kind := range []string{domain.UseProvider, domain.UseAgent} {
		for _, name := range slices.Sorted(maps.Keys(is[kind])) {
			if old, known := was[kind][name]; known && old != is[kind][name] && uses(kind, name) {
				text := r.t("new since agent %s changed, %s", visible(name), r.time(last.At).Text)
				if kind == domain.UseProvider {
					text = r.t("new since %s went from %s to %s, %s", visible(name), visible(old), visible(is[kind][name]), r.time(last.At).Text)
				}
				return text, see, nil
			}
		}
	}
	return "", view.Link{}, nil
}

// startedWith is what a start of the daemon recorded of agents and providers:
// name to what it was, by kind.
func startedWith(e domain.AuditEvent) map[string]map[string]string {
	var out map[string]map[string]string
	if len(e.Detail) == 0 || json.Unmarshal(e.Detail, &out) != nil {
		return nil // a start of an older kairosd says less
	}
	return out
}

// ackAll asks for one note about all failures that home lists.
func (r *request) ackAllForm() (view.AckPage, error) {
	groups, err := r.s.App.Failures.List(r.ctx, r.who.actor(), homeGroups)
	if err != nil {
		return view.AckPage{}, err
	}
	var p view.AckPage
	for _, g := range groups {
		p.Groups = append(p.Groups, view.AckGroup{Ref: ackQuery(g.Ref()), Text: r.t("%s at %s of %s", visible(g.Code), visible(g.Node), visible(g.PlanKey)) + ", " + r.n(int(g.Runs), "%s run", "%s runs"), Says: cut(r.failureLine(g.Headline), 200)})
	}
	if len(p.Groups) == 0 {
		return p, domain.Errorf(domain.CodeConflict, "no failure needs attention any more").Suggest("somebody else took note of them, or the runs were resumed")
	}
	p.Heading = r.n(len(p.Groups), "Acknowledge %s failure", "Acknowledge %s failures")
	p.Button = p.Heading
	return p, nil
}

// ackChosen takes note of the failures that a form names; one that is over by
// now is no reason to leave the others.
func (r *request) ackChosen(refs []string, note string) error {
	if len(refs) > homeGroups {
		return domain.Errorf(domain.CodeInvalid, "one form takes note of at most %d failures", homeGroups)
	}
	var done int
	var last error
	for _, ref := range refs {
		v, err := url.ParseQuery(ref)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "the form names no failure: %w", err)
		}
		req := app.FailureChange{Meta: r.meta(), FailureRef: domain.FailureRef{PlanKey: v.Get("plan"), Node: v.Get("node"), Code: v.Get("code"), Alike: v.Get("alike")}, Note: note}
		if req.Key != "" {
			req.Key += " " + ref
		}
		_, err = r.s.App.Failures.Acknowledge(r.ctx, req)
		switch domain.CodeOf(err) {
		case "":
			done++
		case domain.CodeConflict, domain.CodeNotFound:
			last = err
		default:
			return err
		}
	}
	if done == 0 && last != nil {
		return last
	}
	return nil
}
