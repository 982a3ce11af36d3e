package approvals

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
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/form"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// decision returns an approval with its evidence: the agent's input and response, the predicted
// path of each answer, and earlier decisions.
func (s *section) decision(c *ui.Context, a domain.Approval) (approval.Card, error) {
	v, err := s.Cards.Card(c, a)
	if err != nil {
		return v, err
	}
	if err := s.basis(c, a, &v); err != nil {
		return v, err
	}
	past, err := s.App.Approvals.List(
		c,
		c.Principal.Actor(),
		domain.ApprovalFilter{Decided: true, Plan: a.PlanKey, Node: a.Node, Tool: a.Tool, Page: domain.Page{Limit: maxHistory + 1}},
	)
	if err != nil {
		return v, err
	}
	if err := s.history(c, a, past.Items, &v); err != nil {
		return v, err
	}
	if a.Status != "pending" {
		s.entered(c, a, a.Values, &v)
		return v, nil
	}
	if err := s.Cards.Prediction(c, a, &v); err != nil {
		return v, err
	}
	if !v.CanAct {
		return v, nil
	}
	if len(a.Form) == 0 {
		f := domain.ApprovalFilter{Plan: a.PlanKey, Node: a.Node, For: c.Principal.Name}
		alike, err := s.Reader.ApprovalsCount(c, f, approval.MaxGroup+1)
		if err != nil {
			return v, err
		}
		if n := min(alike, approval.MaxGroup); n > 1 {
			for _, x := range v.Answers {
				v.Similar = append(
					v.Similar,
					kit.Link{Text: c.N(n, "%[2]s: all %[1]s like this…", "%[2]s: all %[1]s like this…", x.Label), Danger: x.Rejects,
						Href: link.With("/approvals/bulk", url.Values{"plan": {a.PlanKey}, "node": {a.Node}, "answer": {x.ID}})},
				)
			}
		}
	}
	return v, s.assignees(c, a, &v)
}

// assignees fills in the users to whom the approval can be assigned.
func (s *section) assignees(c *ui.Context, a domain.Approval, v *approval.Card) error {
	v.Assign = []kit.Option{{Value: "", Text: c.T("Anyone"), Selected: a.Assignee == ""}}
	names := []string{c.Principal.Name}
	assignees, err := s.App.Approvals.Assignees(c, c.Principal.Actor())
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
		v.Assign = append(v.Assign, kit.Option{Value: n, Text: kit.Escape(n), Selected: n == a.Assignee})
	}
	return nil
}

// maxEvidenceFacts is the maximum number of facts shown as the evidence of a decision. More facts are
// shown as JSON.
const maxEvidenceFacts = 12

// basis fills in the evidence. For a call of an agent, it contains the agent's input and last
// response, and otherwise the output of the previous step.
func (s *section) basis(c *ui.Context, a domain.Approval, v *approval.Card) error {
	d, err := s.Engine.Detail(c, a.Run)
	if err != nil {
		return err
	}
	v.Version = fmt.Sprintf("v%d", d.Run.Version)
	if facts, whole := approval.Basis(a, d.Run.Input, d.Journal, maxEvidenceFacts); whole {
		v.Basis = facts
	}
	var input domain.RawJSON
	before := &domain.Entry{}
	for i := range d.Journal {
		e := &d.Journal[i]
		if e.Ref == a.ID && e.Kind == domain.EntryWait {
			approval.Tail(c, e, d.Run, v)
			break
		}
		if e.Node == a.Node && e.Visit == a.Visit && e.Item == a.Item {
			if input == nil && e.Input != nil && e.Kind != domain.EntrySubstep {
				input = e.Input
			}
			if what, ok := part.Call(e); ok && what == "model" {
				var said struct{ Text string }
				if json.Unmarshal(e.Output, &said) == nil && strings.TrimSpace(said.Text) != "" {
					v.Why = kit.Escape(kit.Truncate(said.Text, 2000))
				}
			}
		} else if e.Final && e.Output != nil {
			before = e
		}
	}
	if a.Agent != "" && input != nil {
		v.Seen = append(v.Seen, collapsed(value.Block(c.Display.Lang, "saw", c.T("Input of the agent"), input, "")))
	}
	if before.Output != nil {
		v.Seen = append(
			v.Seen,
			collapsed(value.Block(c.Display.Lang, "before", c.T("Output of %s, the step before", before.Node), before.Output, "")),
		)
	}
	if d.Run.Input != nil {
		v.Seen = append(v.Seen, collapsed(value.Block(c.Display.Lang, "input", c.T("Input of the run"), d.Run.Input, "")))
	}
	return nil
}

func collapsed(b kit.Block) kit.Block {
	b.Folded = true
	return b
}

// history counts the earlier decisions on the same step and tool.
func (s *section) history(c *ui.Context, a domain.Approval, past []domain.Approval, v *approval.Card) error {
	n, yes := 0, 0
	for _, p := range past {
		if p.ID == a.ID || n == maxHistory || p.Status == "cancelled" {
			continue
		}
		n++
		if p.Status == "approved" {
			yes++
		}
		row, err := s.Cards.Card(c, p)
		if err != nil {
			return err
		}
		v.Past = append(v.Past, row)
	}
	if n > 0 {
		v.History = c.N(n, "Last %s: %s approved", "Last %s: %s approved", c.Number(int64(yes)))
	}
	return nil
}

// entered fills in the difference between the values of the form and the proposed values.
func (s *section) entered(c *ui.Context, a domain.Approval, values domain.RawJSON, v *approval.Card) {
	if len(values) == 0 || len(a.Form) == 0 {
		return
	}
	v.Changes, _ = value.Diff(c.Display.Lang, defaultValues(approval.Schema(a)), values)
}

// defaultValues returns the default values of a form.
func defaultValues(schema any) domain.RawJSON {
	props, _, order := form.Properties(schema)
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

// decide handles the form of a decision, or previews changed values. If the approval has changed or
// was decided in the meantime, it returns the page with the new state and status 409.
func (s *section) decide(c *ui.Context) error {
	a, err := s.App.Approvals.Get(c, c.Principal.Actor(), c.Param("approval"))
	if err != nil {
		return err
	}
	req, problem := readDecision(c, a)
	if c.Field("do") == "check" {
		return s.checked(c, a, req)
	}
	if problem != "" {
		return s.inbox(c, http.StatusUnprocessableEntity, &a, problem)
	}
	decided, err := s.App.Approvals.Decide(c, app.DecideRequest{Meta: metaOf(c, a.ID), DecideRequest: req})
	switch domain.CodeOf(err) {
	case domain.CodeInvalid:
		return s.inbox(c, http.StatusUnprocessableEntity, &a, c.Sentence(err))
	case domain.CodeConflict, domain.CodeStale:
		return s.refused(c, a.ID, http.StatusConflict, err)
	}
	if err != nil {
		return err
	}
	return s.after(c, decided)
}

// readDecision reads the form of an approval. problem states what is missing.
func readDecision(c *ui.Context, a domain.Approval) (req domain.DecideRequest, problem string) {
	do := c.Field("do")
	req = domain.DecideRequest{
		Approval:       a.ID,
		Answer:         c.Field("answer"),
		RequestChanges: do == "ask",
		Comment:        strings.TrimSpace(c.Field("comment")),
		Digest:         c.Field("digest"),
	}
	rejects := false
	if given, err := a.AnswerOf(req); err == nil {
		rejects = given.Rejects()
	} else if do == "" {
		problem = c.Sentence(err)
	}
	if req.RequestChanges && req.Comment == "" {
		problem = c.T("Enter your question or the change that you want.")
	}
	if schema := approval.Schema(a); schema != nil && !req.RequestChanges && !rejects {
		if values := form.Values(c, schema); values != nil {
			var err error
			if req.Values, err = jsonvalue.Encode(values); err != nil {
				problem = err.Error()
			}
		}
	}
	if problem == "" && do != "check" && needsConfirmation(a, req) && !rejects && c.Field("confirm") == "" {
		problem = c.T("Confirm that you have checked the risk: %s", kit.Escape(kit.Truncate(a.Label, 80)))
	}
	return req, problem
}

// checked renders the changes of the form's values before they are sent.
func (s *section) checked(c *ui.Context, a domain.Approval, req domain.DecideRequest) error {
	v, err := s.decision(c, a)
	if err != nil {
		return err
	}
	if len(req.Values) == 0 {
		req.Values = domain.RawJSON("{}")
	}
	s.entered(c, a, req.Values, &v)
	p := ApprovalsPage{Shell: c.Shell("approvals", "Approval"), Chosen: true, Decision: &v, List: "/approvals"}
	return c.Render(http.StatusOK, Approvals(p))
}

// after redirects after a decision: to the run, to home, or to the next approval. The target page
// confirms the decision.
func (s *section) after(c *ui.Context, a domain.Approval) error {
	switch c.Field("back") {
	case "run":
		return c.RedirectTo("/runs/" + a.Run)
	case "home":
		return c.RedirectTo(link.With("/", url.Values{"decided": {a.ID}}))
	}
	keep, err := url.ParseQuery(c.Field("keep"))
	if err != nil {
		keep = url.Values{}
	}
	return s.next(c, keep, []string{a.ID})
}

// next redirects to the next pending approval that matches the filter.
func (s *section) next(c *ui.Context, keep url.Values, decided []string) error {
	list, err := s.App.Approvals.List(c, c.Principal.Actor(), domain.ApprovalFilter{
		For: c.Principal.Name, Plan: keep.Get("plan"), Agent: keep.Get("agent"), Page: domain.Page{Limit: len(decided) + 1},
	})
	at := "/approvals"
	if err == nil { // the decision is stored, so an error here does not matter
		if i := slices.IndexFunc(list.Items, func(o domain.Approval) bool { return !slices.Contains(decided, o.ID) }); i >= 0 {
			at += "/" + list.Items[i].ID
		}
	}
	keep["decided"] = decided
	return c.RedirectTo(link.With(at, keep, "show", "", "status", ""))
}

// needsConfirmation reports whether a decision must confirm that the risk was checked. Decisions on
// closed or changed approvals are excluded, because they fail for that reason.
func needsConfirmation(a domain.Approval, req domain.DecideRequest) bool {
	return a.Label != "" && !req.RequestChanges && a.Status == "pending" && a.Digest == req.Digest
}

// assign handles the form that assigns an approval to a user, or to anyone.
func (s *section) assign(c *ui.Context) error {
	a, err := s.App.Approvals.Get(c, c.Principal.Actor(), c.Param("approval"))
	if err != nil {
		return err
	}
	_, err = s.App.Approvals.Assign(c, app.AssignRequest{Meta: c.Meta(), Approval: a.ID, Before: c.Field("before"),
		Assignee: c.Field("assignee"), Reason: c.Field("reason")})
	if err == nil {
		return c.RedirectTo("/approvals/" + a.ID)
	}
	if code := domain.CodeOf(err); code == domain.CodeConflict || code == domain.CodeInvalid {
		return s.refused(c, a.ID, ui.StatusOf[code], err)
	}
	return err
}

// metaOf is the origin of a decision. A form can be shared by several approvals, so that the
// idempotency key contains that of the approval.
func metaOf(c *ui.Context, approval string) app.Meta {
	m := c.Meta()
	if m.Key != "" {
		m.Key += ":" + approval
	}
	return m
}

// refused shows the inbox with the approval as it is now, and why a change of it was refused.
func (s *section) refused(c *ui.Context, id string, code int, why error) error {
	fresh, err := s.App.Approvals.Get(c, c.Principal.Actor(), id)
	if err != nil {
		return err
	}
	return s.inbox(c, code, &fresh, c.Sentence(why))
}
