package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

func (r *request) draftsThere() error {
	if r.s.Drafts == nil {
		return domain.Errorf(domain.CodeNotFound, "nothing makes plans here")
	}
	return nil
}

// askPage takes an intent.
func (r *request) askPage() error {
	return r.askForm(http.StatusOK, domain.DraftRequest{Query: r.c.QueryParam("q"), Agent: r.c.QueryParam("agent"), Constraints: domain.Constraints{ApproveUnsafe: true}}, nil)
}

// askForm shows the form, with what was typed and why that cannot be used.
func (r *request) askForm(code int, typed domain.DraftRequest, refused error) error {
	if err := r.draftsThere(); err != nil {
		return err
	}
	p := view.AskPage{Shell: r.shell("plans", "Plan from an intent"), Form: r.intentForm(typed)}
	p.Form.Action, p.Form.Button = "/plans/drafts", r.t("Make a plan")
	if refused != nil {
		p.Error = r.sentence(refused)
	}
	return r.render(code, view.Ask(p))
}

// intentForm offers what can be said of a plan that is wanted.
func (r *request) intentForm(d domain.DraftRequest) view.IntentForm {
	f := view.IntentForm{CSRF: r.who.csrf, Idem: newID(), Intent: d.Query, Examples: d.Examples, Agents: r.agentOptions(d.Agent), Approve: d.Constraints.ApproveUnsafe, Fresh: d.Fresh}
	if n := d.Constraints.MaxSteps; n > 0 {
		f.MaxSteps = strconv.Itoa(n)
	}
	if b := d.Constraints.Budget; b > 0 {
		f.Budget = strconv.FormatFloat(b, 'f', -1, 64)
	}
	f.Providers = r.plannerOptions(d.Provider)
	catalog := r.s.Engine.Catalog()
	names := slices.Sorted(maps.Keys(catalog.Tools))
	for _, id := range slices.Sorted(maps.Keys(catalog.Agents)) {
		if !catalog.Agents[id].System {
			f.Only = append(f.Only, view.Option{Value: id, Text: r.t("agent %s", visible(id)), Selected: slices.Contains(d.Constraints.Only, id)})
		}
	}
	for _, id := range names {
		f.Only = append(f.Only, view.Option{Value: id, Text: visible(id), Selected: slices.Contains(d.Constraints.Only, id)})
	}
	return f
}

// plannerOptions are the providers whose models can plan; none, if there is no
// choice.
func (r *request) plannerOptions(chosen string) []view.Option {
	names := r.s.Drafts.Planners()
	if len(names) == 0 {
		return nil
	}
	out := []view.Option{{Text: r.t("As configured"), Selected: chosen == ""}}
	for _, n := range names {
		out = append(out, view.Option{Value: n, Text: visible(n), Selected: n == chosen})
	}
	return out
}

// agentOptions are the agents that may answer directly.
func (r *request) agentOptions(chosen string) []view.Option {
	out := []view.Option{{Text: r.t("As the request needs"), Selected: chosen == ""}}
	agents := r.s.Engine.Catalog().Agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		if agents[id].System {
			continue
		}
		out = append(out, view.Option{Value: id, Text: id, Selected: id == chosen})
	}
	return out
}

// typedDraft reads the form of an intent.
func (r *request) typedDraft() (domain.DraftRequest, error) {
	plain := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(r.c.FormValue(name), "\r\n", "\n"))
	}
	d := domain.DraftRequest{Query: plain("intent"), Change: plain("change"), Examples: plain("examples"), Agent: r.c.FormValue("agent"), Provider: r.c.FormValue("provider"), Fresh: r.c.FormValue("fresh") != "",
		Constraints: domain.Constraints{Only: r.c.Request().Form["only"], ApproveUnsafe: r.c.FormValue("approve") != ""}}
	for _, b := range []struct {
		name string
		set  func(float64)
	}{{"max_steps", func(v float64) { d.Constraints.MaxSteps = int(v) }}, {"budget", func(v float64) { d.Constraints.Budget = v }}} {
		if typed := plain(b.name); typed != "" {
			v, err := strconv.ParseFloat(typed, 64)
			if err != nil || v < 0 || v > 1e12 {
				return d, domain.Errorf(domain.CodeInvalid, "%q is not a number", typed)
			}
			b.set(v)
		}
	}
	return d, nil
}

// makeDraft stores a draft and goes to its page: it is planned meanwhile.
func (r *request) makeDraft() error {
	if err := r.draftsThere(); err != nil {
		return err
	}
	d, err := r.typedDraft()
	if err == nil {
		err = r.once(func() (string, error) {
			made, err := r.s.Drafts.Start(r.ctx, r.who.actor(), d)
			return "/plans/drafts/" + made.ID, err
		})
	}
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeTooLarge:
		return r.askForm(http.StatusUnprocessableEntity, d, err)
	}
	return err
}

// theDraft finds the draft that the address names.
func (r *request) theDraft() (domain.Draft, error) {
	if err := r.draftsThere(); err != nil {
		return domain.Draft{}, err
	}
	return r.s.Drafts.Draft(r.ctx, r.c.Param("draft"))
}

// draftPage shows how far a draft is, or what came of it.
func (r *request) draftPage() error {
	d, err := r.theDraft()
	if err != nil {
		return err
	}
	return r.showDraft(http.StatusOK, d, nil)
}

func (r *request) showDraft(code int, d domain.Draft, refused error) error {
	operator := r.who.Role.Includes(domain.RoleOperator)
	st := draftStatus(d.State)
	p := view.DraftPage{Shell: r.shell("plans", r.t(st.Word)+" · "+visible(cut(d.Query, 60))), Name: visible(cut(d.Query, 120)), ID: d.ID, Status: st, Idem: newID(), Intent: d.Query, Change: visible(d.Change), CanStart: operator,
		Open: d.State == domain.DraftReady, CanDiscard: operator && d.State.Open(), Planning: d.State == domain.DraftPlanning, Progress: r.draftNotes(d)}
	if p.Planning && r.target() == "draft-progress" {
		return r.render(http.StatusOK, view.DraftProgress(p))
	}
	if r.target() == "draft-progress" { // there is more to see now than how far it is
		r.c.Response().Header().Set("HX-Refresh", "true")
		return r.c.NoContent(http.StatusOK)
	}
	switch d.State {
	case domain.DraftPlanning:
		p.Favicon = "running"
	case domain.DraftReady:
		p.Favicon = "waiting"
	case domain.DraftFailed:
		p.Favicon = "failed"
	}
	if refused != nil {
		p.Refused = r.sentence(refused)
	}
	p.Facts = append(p.Facts, view.Fact{Term: r.t("Wanted by"), Text: visible(d.Actor)}, view.Fact{Term: r.t("When"), Text: r.time(d.CreatedAt).Text})
	if d.Model != "" {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Model"), Text: visible(d.Model)})
	}
	if u := d.Usage; !u.Zero() {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Planning took"), Text: r.t("%s tokens", r.number(u.InputTokens+u.OutputTokens))})
	}
	if d.Found {
		p.Facts = append(p.Facts, view.Fact{Term: r.t("Asked before"), Text: r.t("The same was asked before: this is its plan.")})
	}
	if e := d.Error; e != nil {
		p.Failure = &view.DraftFailure{Message: r.said(e.Message), Suggestion: r.said(e.Suggestion), Code: visible(e.Code), Rules: e.Violations, Answer: visible(e.Answer), Providers: r.plannerOptions("")}
		for i := range p.Failure.Providers { // another one than before, if there is one
			p.Failure.Providers[i].Selected = false
		}
		if i := slices.IndexFunc(p.Failure.Providers, func(o view.Option) bool { return o.Value != "" && !strings.HasPrefix(d.Model, o.Value) }); i >= 0 {
			p.Failure.Providers[i].Selected = true
		}
	}
	if err := r.draftRelatives(&p, d); err != nil {
		return err
	}
	if d.Direct != "" {
		p.Reason = d.Reason
	}
	if d.Hash != "" {
		if err := r.draftVersionOf(&p, d); err != nil {
			return err
		}
	}
	if operator && !p.Planning {
		p.Form = r.intentForm(d.DraftRequest)
		p.Form.Action, p.Form.Button, p.Form.Refine, p.Form.Idem = "/plans/drafts/"+d.ID+"/refine", r.t("Make another draft"), true, p.Idem+"-again"
	}
	return r.render(code, view.Draft(p))
}

// draftVersionOf fills in the plan that a draft came to.
func (r *request) draftVersionOf(p *view.DraftPage, d domain.Draft) error {
	v, err := r.s.Reader.VersionByHash(r.ctx, d.Hash)
	if err != nil {
		return err
	}
	pl, err := r.s.Reader.Plan(r.ctx, v.PlanID)
	if err != nil {
		return err
	}
	intent := d.Query
	if d.Change != "" {
		intent += "\n" + d.Change
	}
	if err := r.draftedPlan(p, pl, v, intent); err != nil {
		return err
	}
	p.Open = p.Open && !pl.Archived
	if d.Parent == "" {
		return nil
	}
	parent, err := r.s.Drafts.Draft(r.ctx, d.Parent)
	if err != nil || parent.Hash == "" {
		return err
	}
	before, err := r.s.Reader.VersionByHash(r.ctx, parent.Hash)
	if err != nil {
		return err
	}
	return r.draftBefore(p, before, v)
}

// draftRelatives leads to the draft that this one refines, and to those that refine
// it.
func (r *request) draftRelatives(p *view.DraftPage, d domain.Draft) error {
	link := func(d domain.Draft) view.Link {
		return view.Link{Text: r.t("revision %d", d.Revision), Href: "/plans/drafts/" + d.ID}
	}
	p.Revision = r.t("revision %d", d.Revision)
	if d.Parent != "" {
		parent, err := r.s.Drafts.Draft(r.ctx, d.Parent)
		if err != nil {
			return err
		}
		l := link(parent)
		p.Before, p.Revision = &l, r.t("revision %d, made from", d.Revision)
	}
	list, err := r.s.Drafts.DraftsFrom(r.ctx, d.ID)
	if err != nil {
		return err
	}
	for _, c := range list {
		p.Later = append(p.Later, link(c))
	}
	return nil
}

// draftStatus is where a draft stands, as operators read it.
func draftStatus(s domain.DraftState) view.Status {
	switch s {
	case domain.DraftPlanning:
		return word("now", "i-now", locale.Mark("Being planned"), false)
	case domain.DraftReady:
		return word("need", "i-need", locale.Mark("To be accepted"), false)
	case domain.DraftFailed:
		return word("fail", "i-fail", locale.Mark("No plan"), true)
	case domain.DraftAccepted:
		return word("ok", "i-ok", locale.Mark("Accepted"), true)
	}
	return word("idle", "i-cancelled", locale.Mark("Discarded"), true)
}

// draftNotes say how far planning is, or how it went.
func (r *request) draftNotes(d domain.Draft) []view.DraftNote {
	var out []view.DraftNote
	for i, n := range d.Progress {
		row := view.DraftNote{At: r.time(n.At), What: r.draftPhase(n), Text: visible(cut(n.Text, 300)), Last: d.State == domain.DraftPlanning && i == len(d.Progress)-1}
		if n.Who != "" && n.Phase != domain.PhaseUnderstanding {
			row.Who = visible(n.Who)
			if n.Who == "rules" {
				row.Who = r.t("by rules")
			}
		}
		if n.Phase == domain.PhaseUnderstanding {
			row.Text = r.t(complexities[domain.Complexity(n.Who)])
		}
		for _, q := range n.Problems {
			row.Problems = append(row.Problems, r.said(cut(q, 300)))
		}
		end := d.EndedAt
		if i+1 < len(d.Progress) {
			end = d.Progress[i+1].At
		}
		if !end.IsZero() {
			row.Took = took(end.Sub(n.At))
		} else if row.Last {
			row.Start = n.At.UnixMilli()
			row.Took = took(r.s.now().Sub(n.At).Truncate(time.Second))
		}
		out = append(out, row)
	}
	return out
}

func (r *request) draftPhase(n domain.DraftNote) string {
	switch n.Phase {
	case domain.PhaseUnderstanding:
		return r.t("Understanding what is wanted")
	case domain.PhaseChoosing:
		if n.Attempt == 0 && n.Who != "rules" {
			return r.t("Choosing among the agents")
		}
		return r.t("Choosing tools")
	case domain.PhaseDrafting:
		switch {
		case n.Attempt > 1:
			return r.t("Drafting, attempt %d, because", n.Attempt)
		case len(n.Problems) > 0:
			return r.t("No plan this way, because")
		}
		return r.t("Drafting")
	case domain.PhaseValidating:
		if len(n.Problems) > 0 {
			return r.t("Validating: it cannot be used")
		}
		return r.t("Validating")
	case domain.PhaseStoring:
		return r.t("Storing the plan")
	}
	return r.t("kairosd was restarted: taken up again")
}

// refineDraft makes another draft: with what should be different, or by another
// provider.
func (r *request) refineDraft() error {
	d, err := r.theDraft()
	if err != nil {
		return err
	}
	typed, err := r.typedDraft()
	if err == nil {
		if r.c.FormValue("do") == "retry" { // as it was, by somebody else
			typed = domain.DraftRequest{Provider: typed.Provider}
		}
		err = r.once(func() (string, error) {
			made, err := r.s.Drafts.Refine(r.ctx, r.who.actor(), d.ID, typed)
			return "/plans/drafts/" + made.ID, err
		})
	}
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeTooLarge:
		return r.showDraft(http.StatusUnprocessableEntity, d, err)
	case domain.CodeConflict:
		return r.showDraft(http.StatusConflict, d, err)
	}
	return err
}

// acceptDraft takes exactly the plan that was shown into use, and starts a run of it
// if that is wanted; or it only tries it.
func (r *request) acceptDraft() error {
	d, err := r.theDraft()
	if err != nil {
		return err
	}
	if d.Hash == "" || d.State != domain.DraftReady && d.State != domain.DraftAccepted {
		return r.showDraft(http.StatusConflict, d, domain.Errorf(domain.CodeConflict, "there is no plan to accept"))
	}
	v, err := r.s.Reader.VersionByHash(r.ctx, d.Hash)
	if err != nil {
		return err
	}
	pl, err := r.s.Reader.Plan(r.ctx, v.PlanID)
	if err != nil {
		return err
	}
	do, intent := r.c.FormValue("do"), strings.ReplaceAll(r.c.FormValue("intent"), "\r\n", "\n")
	if do == "try" {
		return r.startDrafted(pl, v, intent, true)
	}
	why := r.acceptedWhy(d, v.Number)
	if do == "start" {
		if _, err := r.s.Drafts.Accept(r.ctx, r.who.actor(), d.ID, domain.DraftAcceptance{Reason: why}); err != nil {
			return r.conflicting(d, err)
		}
		return r.startDrafted(pl, v, intent, false)
	}
	kind := r.c.FormValue("alternative")
	return r.conflicting(d, r.onceOf(":accept"+kind, func() (string, error) {
		_, err := r.s.Drafts.Accept(r.ctx, r.who.actor(), d.ID, domain.DraftAcceptance{Alternative: kind, Reason: why})
		return "/plans/" + url.PathEscape(pl.Key), err
	}))
}

// conflicting shows a draft that has changed meanwhile with what it is now.
func (r *request) conflicting(d domain.Draft, err error) error {
	if domain.CodeOf(err) != domain.CodeConflict {
		return err
	}
	now, readErr := r.s.Drafts.Draft(r.ctx, d.ID)
	if readErr != nil {
		return readErr
	}
	return r.showDraft(http.StatusConflict, now, err)
}

func (r *request) discardDraft() error {
	d, err := r.theDraft()
	if err != nil {
		return err
	}
	return r.conflicting(d, r.onceOf(":discard", func() (string, error) {
		_, err := r.s.Drafts.Discard(r.ctx, r.who.actor(), d.ID, strings.TrimSpace(r.c.FormValue("reason")))
		return "/plans?state=draft", err
	}))
}

// draftsShown is how many open drafts a list has at most.
const draftsShown = 100

// draftRows are the open drafts whose intent holds a text.
func (r *request) draftRows(q string) ([]view.DraftRow, error) {
	if r.s.Drafts == nil {
		return nil, nil
	}
	list, err := r.s.Drafts.Drafts(r.ctx, false, draftsShown)
	if err != nil {
		return nil, err
	}
	var out []view.DraftRow
	for _, d := range list {
		if q != "" && !strings.Contains(strings.ToLower(d.Query), strings.ToLower(q)) {
			continue
		}
		row := view.DraftRow{Status: draftStatus(d.State), Intent: visible(cut(d.Query, 160)), Href: "/plans/drafts/" + d.ID, Who: visible(d.Actor), At: r.time(d.CreatedAt), Plan: visible(d.Plan)}
		if d.Revision > 1 {
			row.Revision = r.t("revision %d", d.Revision)
		}
		if d.Version > 0 {
			row.Plan += fmt.Sprintf(" v%d", d.Version)
		}
		if d.Error != nil {
			row.Error = r.said(cut(d.Error.Message, 200))
		}
		out = append(out, row)
	}
	return out, nil
}

// hasDraft reports whether the newest version of a plan came of an open draft.
func (r *request) hasDraft(pl domain.Plan) (bool, error) {
	if r.s.Drafts == nil {
		return false, nil
	}
	d, err := r.s.Drafts.DraftOfVersion(r.ctx, pl.LatestHash)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return false, nil
	}
	return err == nil && d.State.Open(), err
}
