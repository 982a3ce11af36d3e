package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

// decision is an approval with all that helps to decide it: what the agent saw and
// said, where each answer leads, and how it was decided before.
func (r *request) decision(a kairos.Approval) (view.ApprovalView, error) {
	v, err := r.approvalView(a)
	if err != nil {
		return v, err
	}
	if err := r.context(a, &v); err != nil {
		return v, err
	}
	past, err := r.s.Reader.Approvals(r.ctx, kairos.ApprovalFilter{Decided: true, Plan: a.PlanKey, Node: a.Node, Tool: a.Tool, Page: kairos.Page{Limit: historyMax + 1}})
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
		alike, err := r.s.Reader.ApprovalsCount(r.ctx, kairos.ApprovalFilter{Plan: a.PlanKey, Node: a.Node, For: r.who.Name}, alikeMax+1)
		if err != nil {
			return v, err
		}
		if n := min(alike, alikeMax); n > 1 {
			for _, answer := range []string{"approve", "reject"} {
				l := view.Link{Text: r.n(n, "%[2]s: all %[1]s like this…", "%[2]s: all %[1]s like this…", v.Yes), Href: with("/approvals/bulk", url.Values{"plan": {a.PlanKey}, "node": {a.Node}, "answer": {answer}})}
				if answer == "reject" {
					l.Text, l.Danger = r.n(n, "%[2]s: all %[1]s like this…", "%[2]s: all %[1]s like this…", v.No), true
				}
				v.Alike = append(v.Alike, l)
			}
		}
	}
	return v, r.assignees(a, &v)
}

// assignees are those who may be given the approval.
func (r *request) assignees(a kairos.Approval, v *view.ApprovalView) error {
	v.Assign = []view.Option{{Value: "", Text: r.t("whoever may"), Selected: a.Assignee == ""}}
	names := []string{r.who.Name}
	if r.s.Accounts != nil {
		users, err := r.s.Accounts.Users(r.ctx)
		if err != nil {
			return err
		}
		for _, u := range users {
			if !u.Disabled && u.Role.Includes(kairos.RoleOperator) && !slices.Contains(names, u.Name) {
				names = append(names, u.Name)
			}
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
func (r *request) tailOf(e *kairos.Entry, run kairos.Run, v *view.ApprovalView) {
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
func (r *request) forecasts(a kairos.Approval, v *view.ApprovalView) error {
	ahead, err := r.s.Engine.Forecast(r.ctx, a.ID)
	if err != nil && kairos.CodeOf(err) != kairos.CodeConflict {
		return err
	}
	for _, f := range ahead {
		v.Ahead = append(v.Ahead, r.forecast(f, *v))
	}
	return nil
}

// context is what the question rests on: for an agent's call what it was given and
// said, else what the step before it made.
func (r *request) context(a kairos.Approval, v *view.ApprovalView) error {
	d, err := r.s.Engine.Detail(r.ctx, a.Run)
	if err != nil {
		return err
	}
	v.Version = fmt.Sprintf("v%d", d.Run.Version)
	var input kairos.RawJSON
	before := &kairos.Entry{}
	for i := range d.Journal {
		e := &d.Journal[i]
		if e.Ref == a.ID && e.Kind == kairos.EntryWait {
			r.tailOf(e, d.Run, v)
			break
		}
		if e.Node == a.Node && e.Visit == a.Visit && e.Item == a.Item {
			if input == nil && e.Input != nil && e.Kind != kairos.EntrySubstep {
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
func (r *request) history(a kairos.Approval, past []kairos.Approval, v *view.ApprovalView) error {
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
func (r *request) entered(a kairos.Approval, values kairos.RawJSON, v *view.ApprovalView) {
	if len(values) == 0 || len(a.Form) == 0 {
		return
	}
	v.Changes, _ = r.jsonDiff(proposed(formSchema(a)), values)
}

// proposed are the values that a form begins with.
func proposed(schema any) kairos.RawJSON {
	props, _, order := properties(schema)
	out := map[string]any{}
	for _, name := range order {
		if p, ok := props[name].(map[string]any); ok {
			if d, ok := p["default"]; ok {
				out[name] = d
			}
		}
	}
	j, err := planner.EncodeValue(out)
	if err != nil {
		return kairos.RawJSON("{}")
	}
	return j
}

// forecast puts where an answer leads into words.
func (r *request) forecast(f kairos.Forecast, v view.ApprovalView) view.Ahead {
	a := view.Ahead{Answer: map[string]string{"approve": v.Yes, "reject": v.No, "ask_back": r.t("Ask back")}[f.Answer]}
	names := func(steps []kairos.PreviewStep) []string {
		var out []string
		for _, s := range steps[:min(len(steps), 12)] {
			out = append(out, s.Node+" · "+s.Type)
		}
		return out
	}
	switch {
	case f.Note == "tail" && f.Answer == "approve":
		a.Says = r.t("The run follows the new version.")
	case f.Note == "tail":
		a.Says = r.t("The step's failure stands.")
	case f.Note == "agent" && f.Answer == "ask_back":
		a.Says = r.t("The agent reads your question as the tool's answer, goes on, and may ask again.")
	case f.Note == "agent":
		a.Says = r.t("The call is not made; the agent reads why and goes on.")
	case v.Tool != "" && f.Answer == "approve":
		a.Says = r.t("%s is called with exactly these arguments.", v.Tool)
	case len(f.Next) > 0:
		a.Says, a.Steps = r.t("Next:"), names(f.Next)
	case f.Ends == kairos.RunFailed:
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
	a, err := r.s.Reader.Approval(r.ctx, r.c.Param("approval"))
	if err != nil {
		return err
	}
	answer := r.c.FormValue("answer")
	req := kairos.DecideRequest{Approval: a.ID, Approve: answer == "approve", AskBack: answer == "ask", Comment: strings.TrimSpace(r.c.FormValue("comment")), Digest: r.c.FormValue("digest")}
	problem := ""
	switch {
	case req.AskBack && req.Comment == "":
		problem = r.t("Write what you want to know.")
	case answer == "reject" && req.Comment == "":
		problem = r.t("Say why you reject it.")
	}
	if schema := formSchema(a); schema != nil && (req.Approve || answer == "check") {
		if values := r.formValues(schema); values != nil {
			if req.Values, err = planner.EncodeValue(values); err != nil {
				problem = err.Error()
			}
		}
	}
	if answer == "check" {
		return r.checked(a, req)
	}
	if problem == "" {
		err = r.once(func() (string, error) {
			decided, err := r.s.Engine.Decide(r.ctx, r.who.actor(), req)
			if err != nil {
				return "", err
			}
			return r.after(decided)
		})
		switch kairos.CodeOf(err) {
		case kairos.CodeInvalid:
			problem = r.sentence(err)
		case kairos.CodeConflict, kairos.CodeStale:
			fresh, readErr := r.s.Reader.Approval(r.ctx, a.ID)
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
func (r *request) checked(a kairos.Approval, req kairos.DecideRequest) error {
	v, err := r.decision(a)
	if err != nil {
		return err
	}
	if len(req.Values) == 0 {
		req.Values = kairos.RawJSON("{}")
	}
	r.entered(a, req.Values, &v)
	p := view.ApprovalsPage{Shell: r.shell("approvals", "Approval"), Chosen: true, Decision: &v, List: "/approvals"}
	return r.render(http.StatusOK, view.Approvals(p))
}

// after is where a decision leads: back to its run, or on to what waits next.
func (r *request) after(a kairos.Approval) (string, error) {
	if r.c.FormValue("back") == "run" {
		return "/runs/" + a.Run, nil
	}
	keep, err := url.ParseQuery(r.c.FormValue("keep"))
	if err != nil {
		keep = url.Values{}
	}
	list, err := r.s.Reader.Approvals(r.ctx, kairos.ApprovalFilter{For: r.who.Name, Plan: keep.Get("plan"), Agent: keep.Get("agent"), Page: kairos.Page{Limit: 2}})
	if err != nil {
		return "/approvals", nil // what was decided is; where to go next is not worth a failure
	}
	for _, next := range list.Items {
		if next.ID != a.ID {
			return with("/approvals/"+next.ID, keep, "show", "", "status", ""), nil
		}
	}
	return "/approvals/" + a.ID, nil
}

// assign gives an approval to somebody, or to whoever may.
func (r *request) assign() error {
	a, err := r.s.Reader.Approval(r.ctx, r.c.Param("approval"))
	if err != nil {
		return err
	}
	err = r.once(func() (string, error) {
		_, err := r.s.Reader.AssignApproval(r.ctx, r.who.actor(), a.ID, r.c.FormValue("before"), strings.TrimSpace(r.c.FormValue("assignee")), strings.TrimSpace(r.c.FormValue("reason")))
		return "/approvals/" + a.ID, err
	})
	if code := kairos.CodeOf(err); code == kairos.CodeConflict || code == kairos.CodeInvalid {
		fresh, readErr := r.s.Reader.Approval(r.ctx, a.ID)
		if readErr != nil {
			return readErr
		}
		return r.inbox(statusOf[code], &fresh, r.sentence(err))
	}
	return err
}
