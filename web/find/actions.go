package find

import (
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// page is an action with its own page.
type page struct {
	word, href, icon string
	op               app.Operation
	words            string // additional search words
}

var pages = []page{
	{locale.Mark("Start a run…"), "/runs/new", "i-play", app.StartRun, "run start"},
	{locale.Mark("New plan"), "/plans/new", "i-plan", app.StorePlan, "plan create write"},
	{locale.Mark("Plan from a request"), "/ask", "i-agent", app.StartDraft, "ask request draft"},
	{locale.Mark("Back up now"), "/system/storage#backups", "i-data", app.BackUp, "backup"},
}

// action is an action on a run or plan. The text after the action names the object.
type action struct {
	key, word, icon string
	op              app.Operation
	runs            domain.RunFilter // filter for suitable runs; empty if the action applies to plans
	plan            bool
}

var objectActions = []action{
	{key: "resume", word: locale.Mark("Resume %s"), icon: "i-play", op: app.ActOnRun,
		runs: domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed, domain.RunCancelled}}},
	{key: "rerun", word: locale.Mark("Rerun %s"), icon: "i-retry", op: app.ActOnRun},
	{key: "fork", word: locale.Mark("Fork %s"), icon: "i-fork", op: app.ActOnRun},
	{key: "cancel", word: locale.Mark("Cancel %s"), icon: "i-cancel", op: app.ActOnRun,
		runs: domain.RunFilter{Statuses: []domain.RunStatus{domain.RunQueued, domain.RunRunning, domain.RunWaiting}}},
	{key: "start", word: locale.Mark("Start %s"), icon: "i-play", op: app.StartRun, plan: true},
	{key: "edit", word: locale.Mark("Edit %s"), icon: "i-plan", op: app.StorePlan, plan: true},
	{key: "pause", word: locale.Mark("Pause %s"), icon: "i-pause", op: app.PausePlan, plan: true},
}

// maxSuggestions is the maximum number of objects suggested for an action.
const maxSuggestions = 4

// actions returns the actions that match a text. Each links to a page that previews it.
func (s *section) actions(c *ui.Context, q string) ([]kit.Link, error) {
	q = strings.ToLower(q)
	var out []kit.Link
	for _, p := range pages {
		if c.May(p.op) && (contains(c.T(p.word), q) || beginsWord(p.words, q)) {
			out = append(out, kit.Link{Text: c.T(p.word), Href: p.href, Icon: p.icon})
		}
	}
	what, of, _ := strings.Cut(q, " ")
	if len(what) < 2 {
		return out, nil
	}
	for _, v := range objectActions {
		if !c.May(v.op) || !strings.HasPrefix(v.key, what) && !strings.HasPrefix(strings.ToLower(c.T(v.word, "")), what) {
			continue
		}
		found, err := s.objects(c, v, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(of), "plan ")))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// beginsWord reports whether one of the words begins with q.
func beginsWord(words, q string) bool {
	return strings.Contains(" "+words, " "+q)
}

// objects returns links to an action on each run or plan that matches the text of.
func (s *section) objects(c *ui.Context, v action, of string) ([]kit.Link, error) {
	var out []kit.Link
	if v.plan {
		plans, err := s.Reader.Plans(c, domain.PlanFilter{Text: of, Page: domain.Page{Limit: maxSuggestions}})
		for _, p := range plans.Items {
			out = append(out, kit.Link{
				Text: c.T(v.word, kit.Escape(p.Key)), Count: kit.Escape(p.Name), Icon: v.icon,
				Href: "/plans/" + url.PathEscape(p.Key) + "/" + v.key, Dialog: v.key == "pause",
			})
		}
		return out, err
	}
	runs, err := s.runsNamed(c, v.runs, of)
	for _, r := range s.rows.Of(c, runs) {
		out = append(out, kit.Link{
			Text: c.T(v.word, r.Plan+" "+r.Short), Count: r.Headline, Href: r.Href + "/" + v.key, Dialog: true,
			Icon: r.Status.Icon, Class: r.Status.Key, // Icon and Class show the status of the run, because the text names the action
		})
	}
	return out, err
}

// runsNamed returns the newest runs whose plan or ID matches a text, or the newest runs if it is
// empty.
func (s *section) runsNamed(c *ui.Context, f domain.RunFilter, of string) ([]domain.Run, error) {
	f.Page = domain.Page{Limit: maxSuggestions}
	if of == "" {
		list, err := s.Reader.Runs(c, f)
		return list.Items, err
	}
	if len(of) >= 4 && !strings.ContainsAny(of, " :\"") {
		byID := f
		byID.IDTail = of
		if list, err := s.Reader.Runs(c, byID); err != nil || len(list.Items) > 0 {
			return list.Items, err
		}
	}
	plans, err := s.Reader.Plans(c, domain.PlanFilter{Text: of, Page: domain.Page{Limit: maxSuggestions}})
	if err != nil || len(plans.Items) == 0 {
		return nil, err
	}
	for _, p := range plans.Items {
		f.PlanKeys = append(f.PlanKeys, p.Key)
	}
	list, err := s.Reader.Runs(c, f)
	return list.Items, err
}
