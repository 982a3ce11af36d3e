package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/view"
)

// decision is an approval with all that helps to decide it: what the agent saw and
// said, where each answer leads, and how it was decided before.
func (r *request) decision(a domain.Approval) (view.ApprovalView, error) {
	v, err := r.approvalView(a)
	if err != nil {
		return v, err
	}
	if err := r.context(a, &v); err != nil {
		return v, err
	}
	past, err := r.s.App.Approvals.List(r.ctx, r.who.actor(), domain.ApprovalFilter{Decided: true, Plan: a.PlanKey, Node: a.Node, Tool: a.Tool, Page: domain.Page{Limit: historyMax + 1}})
	if err != nil {
		return v, err
	}
	if err := r.history(a, past.Items, &v); err != nil {
		return v, err
	}
	if a.Status != "open" {
		r.entered(a, a.Values, &v)
		return v, nil
	}
	if err := r.forecasts(a, &v); err != nil {
		return v, err
	}
	if !v.CanAct {
		return v, nil
	}
	if len(a.Form) == 0 {
		alike, err := r.s.Reader.ApprovalsCount(r.ctx, domain.ApprovalFilter{Plan: a.PlanKey, Node: a.Node, For: r.who.Name}, alikeMax+1)
		if err != nil {
			return v, err
		}
		if n := min(alike, alikeMax); n > 1 {
			for _, x := range v.Answers {
				v.Alike = append(v.Alike, view.Link{Text: r.n(n, "%[2]s: all %[1]s like this…", "%[2]s: all %[1]s like this…", x.Label), Danger: x.Rejects,
					Href: with("/approvals/bulk", url.Values{"plan": {a.PlanKey}, "node": {a.Node}, "answer": {x.ID}})})
			}
		}
	}
	return v, r.assignees(a, &v)
}

// assignees are those who may be given the approval.
func (r *request) assignees(a domain.Approval, v *view.ApprovalView) error {
	v.Assign = []view.Option{{Value: "", Text: r.t("whoever may"), Selected: a.Assignee == ""}}
	names := []string{r.who.Name}
	assignees, err := r.s.App.Approvals.Assignees(r.ctx, r.who.Actor())
	if err != nil {
		return err
	}
	for _, name := range assignees {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if a.Assignee != "" && !slices.Contains(names, a.Assignee) {
		names = append(names, a.Assignee)
	}
	for _, n := range names {
		v.Assign = append(v.Assign, view.Option{Value: n, Text: visible(n), Selected: n == a.Assignee})
	}
	return nil
}

// tailOf is what a planner would have a run go on with, and why, if that is asked.
func (r *request) tailOf(e *domain.Entry, run domain.Run, v *view.ApprovalView) {
	var p struct {
		Tail *struct {
			Version int
			Reason  string
		}
	}
	if json.Unmarshal(e.Decision, &p) == nil && p.Tail != nil && p.Tail.Version > 0 {
		v.Diff = view.Link{Text: r.t("What version %d changes", p.Tail.Version), Href: fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(run.PlanKey), run.Version, p.Tail.Version)}
		v.Why = visible(cut(p.Tail.Reason, 2000))
	}
}

// forecasts say where each answer leads.
func (r *request) forecasts(a domain.Approval, v *view.ApprovalView) error {
	ahead, err := r.s.Engine.Forecast(r.ctx, a.ID)
	if err != nil && domain.CodeOf(err) != domain.CodeConflict {
		return err
	}
	for _, f := range ahead {
		v.Ahead = append(v.Ahead, r.forecast(f, *v))
	}
	return nil
}

// context is what the question rests on: for an agent's call what it was given and
// said, else what the step before it made.
func (r *request) context(a domain.Approval, v *view.ApprovalView) error {
	d, err := r.s.Engine.Detail(r.ctx, a.Run)
	if err != nil {
		return err
	}
	v.Version = fmt.Sprintf("v%d", d.Run.Version)
	var input domain.RawJSON
	before := &domain.Entry{}
	for i := range d.Journal {
		e := &d.Journal[i]
		if e.Ref == a.ID && e.Kind == domain.EntryWait {
			r.tailOf(e, d.Run, v)
			break
		}
		if e.Node == a.Node && e.Visit == a.Visit && e.Item == a.Item {
			if input == nil && e.Input != nil && e.Kind != domain.EntrySubstep {
				input = e.Input
			}
			if what, ok := callOf(e); ok && what == "model" {
				var said struct{ Text string }
				if json.Unmarshal(e.Output, &said) == nil && strings.TrimSpace(said.Text) != "" {
					v.Why = visible(cut(said.Text, 2000))
				}
			}
		} else if e.Final && e.Output != nil {
			before = e
		}
	}
	if a.Agent != "" && input != nil {
		v.Seen = append(v.Seen, folded(r.block("saw", r.t("What the agent was given"), input, "")))
	}
	if before.Output != nil {
		v.Seen = append(v.Seen, folded(r.block("before", r.t("Output of %s, the step before", before.Node), before.Output, "")))
	}
	if d.Run.Input != nil {
		v.Seen = append(v.Seen, folded(r.block("input", r.t("Input of the run"), d.Run.Input, "")))
	}
	return nil
}

func folded(b view.Block) view.Block {
	b.Folded = true
	return b
}

// history counts how the same was decided before.
func (r *request) history(a domain.Approval, past []domain.Approval, v *view.ApprovalView) error {
	n, yes := 0, 0
	for _, p := range past {
		if p.ID == a.ID || n == historyMax || p.Status == "cancelled" {
			continue
		}
		n++
		if p.Status == "approved" {
			yes++
		}
		row, err := r.approvalView(p)
		if err != nil {
			return err
		}
		v.Past = append(v.Past, row)
	}
	if n > 0 {
		v.History = r.n(n, "Last %s: %s approved", "Last %s: %s approved", r.number(int64(yes)))
	}
	return nil
}

// entered is how the values of a form differ from what was proposed.
func (r *request) entered(a domain.Approval, values domain.RawJSON, v *view.ApprovalView) {
	if len(values) == 0 || len(a.Form) == 0 {
		return
	}
	v.Changes, _ = r.jsonDiff(proposed(formSchema(a)), values)
}

// proposed are the values that a form begins with.
func proposed(schema any) domain.RawJSON {
	props, _, order := properties(schema)
	out := map[string]any{}
	for _, name := range order {
		if p, ok := props[name].(map[string]any); ok {
			if d, ok := p["default"]; ok {
				out[name] = d
			}
		}
	}
	j, err := jsonvalue.Encode(out)
	if err != nil {
		return domain.RawJSON("{}")
	}
	return j
}

// forecast puts where an answer leads into words.
func (r *request) forecast(f domain.Forecast, v view.ApprovalView) view.Ahead {
	a := view.Ahead{Answer: r.t("Ask back")}
	approves := false
	if i := slices.IndexFunc(v.Answers, func(x view.AnswerButton) bool { return x.ID == f.Answer }); i >= 0 {
		a.Answer, approves = v.Answers[i].Label, !v.Answers[i].Rejects
	}
	names := func(steps []domain.PreviewStep) []string {
		var out []string
		for _, s := range steps[:min(len(steps), 12)] {
			out = append(out, s.Node+" · "+s.Type)
		}
		return out
	}
	switch {
	case f.Note == "tail" && approves:
		a.Says = r.t("The run follows the new version.")
	case f.Note == "tail":
		a.Says = r.t("The step's failure stands.")
	case f.Note == "agent" && f.Answer == "ask_back":
		a.Says = r.t("The agent reads your question as the tool's answer, goes on, and may ask again.")
	case f.Note == "agent":
		a.Says = r.t("The call is not made; the agent reads why and goes on.")
	case v.Tool != "" && approves:
		a.Says = r.t("%s is called with exactly these arguments.", v.Tool)
	case len(f.Next) > 0:
		a.Says, a.Steps = r.t("Next:"), names(f.Next)
	case f.Ends == domain.RunFailed:
		a.Says = r.t("The run fails.")
	case f.Ends != "":
		a.Says = r.t("The run ends here.")
	default:
		a.Says = r.t("Nothing new starts; the run waits for what else is under way.")
	}
	for _, e := range f.Effects[:min(len(f.Effects), 12)] {
		a.Effects = append(a.Effects, fmt.Sprintf("%s · %s · %s", e.Node, e.Type, r.effect(e.Effect)))
	}
	return a
}

// decide answers, or only shows what was changed. If the question has changed or
// was answered meanwhile, the page comes back with how it stands (409).
func (r *request) decide() error {
	a, err := r.s.App.Approvals.Get(r.ctx, r.who.actor(), r.c.Param("approval"))
	if err != nil {
		return err
	}
	do := r.c.FormValue("do")
	req := domain.DecideRequest{Approval: a.ID, Answer: r.c.FormValue("answer"), AskBack: do == "ask", Comment: strings.TrimSpace(r.c.FormValue("comment")), Digest: r.c.FormValue("digest")}
	problem := ""
	rejects := false
	if given, err := a.AnswerOf(req); err == nil {
		rejects = given.Rejects()
	} else if do == "" {
		problem = r.sentence(err)
	}
	if req.AskBack && req.Comment == "" {
		problem = r.t("Write what you want to know.")
	}
	if schema := formSchema(a); schema != nil && !req.AskBack && !rejects {
		if values := r.formValues(schema); values != nil {
			if req.Values, err = jsonvalue.Encode(values); err != nil {
				problem = err.Error()
			}
		}
	}
	if do == "check" {
		return r.checked(a, req)
	}
	if problem == "" {
		decided, err := r.s.App.Approvals.Decide(r.ctx, app.DecideRequest{Meta: r.meta(), DecideRequest: req})
		if err == nil {
			return r.after(decided)
		}
		switch domain.CodeOf(err) {
		case domain.CodeInvalid:
			problem = r.sentence(err)
		case domain.CodeConflict, domain.CodeStale:
			fresh, readErr := r.s.App.Approvals.Get(r.ctx, r.who.actor(), a.ID)
			if readErr != nil {
				return readErr
			}
			return r.inbox(http.StatusConflict, &fresh, r.sentence(err))
		default:
			return err
		}
	}
	return r.inbox(http.StatusUnprocessableEntity, &a, problem)
}

// checked shows what the values of the form change, before they are sent.
func (r *request) checked(a domain.Approval, req domain.DecideRequest) error {
	v, err := r.decision(a)
	if err != nil {
		return err
	}
	if len(req.Values) == 0 {
		req.Values = domain.RawJSON("{}")
	}
	r.entered(a, req.Values, &v)
	p := view.ApprovalsPage{Shell: r.shell("approvals", "Approval"), Chosen: true, Decision: &v, List: "/approvals"}
	return r.render(http.StatusOK, view.Approvals(p))
}

// after is where a decision leads: back to its run, or on to what waits next.
func (r *request) after(a domain.Approval) error {
	if r.c.FormValue("back") == "run" {
		return r.to("/runs/" + a.Run)
	}
	keep, err := url.ParseQuery(r.c.FormValue("keep"))
	if err != nil {
		keep = url.Values{}
	}
	list, err := r.s.App.Approvals.List(r.ctx, r.who.actor(), domain.ApprovalFilter{For: r.who.Name, Plan: keep.Get("plan"), Agent: keep.Get("agent"), Page: domain.Page{Limit: 2}})
	if err != nil {
		return r.to("/approvals") // what was decided is; where to go next is not worth a failure
	}
	for _, next := range list.Items {
		if next.ID != a.ID {
			return r.to(with("/approvals/"+next.ID, keep, "show", "", "status", ""))
		}
	}
	return r.to("/approvals/" + a.ID)
}

// assign gives an approval to somebody, or to whoever may.
func (r *request) assign() error {
	a, err := r.s.App.Approvals.Get(r.ctx, r.who.actor(), r.c.Param("approval"))
	if err != nil {
		return err
	}
	_, err = r.s.App.Approvals.Assign(r.ctx, app.AssignRequest{Meta: r.meta(), Approval: a.ID, Before: r.c.FormValue("before"), Assignee: r.c.FormValue("assignee"), Reason: r.c.FormValue("reason")})
	if err == nil {
		return r.to("/approvals/" + a.ID)
	}
	if code := domain.CodeOf(err); code == domain.CodeConflict || code == domain.CodeInvalid {
		fresh, readErr := r.s.App.Approvals.Get(r.ctx, r.who.actor(), a.ID)
		if readErr != nil {
			return readErr
		}
		return r.inbox(statusOf[code], &fresh, r.sentence(err))
	}
	return err
}
