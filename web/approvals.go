package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

func (r *request) approvalView(a kairos.Approval) view.ApprovalView {
	v := view.ApprovalView{ID: a.ID, Href: "/approvals/" + a.ID, Action: "/approvals/" + a.ID, Message: visible(a.Message), Run: kairos.ShortID(a.Run),
		RunHref: "/runs/" + a.Run, Plan: a.PlanKey, Node: a.Node, Since: r.time(a.CreatedAt), Digest: a.Digest, Status: a.Status,
		DecidedBy: visible(a.DecidedBy), Comment: visible(a.Comment), CSRF: r.who.csrf, Idem: newID()}
	if a.DueAt.IsZero() {
		v.Due = r.t("no deadline")
	} else {
		v.Due = r.t("until %s, then %s", r.time(a.DueAt).Text, r.t(a.OnTimeout))
		if a.Status == "open" {
			v.Due = r.ago(r.s.now().Sub(a.DueAt)) + " · " + v.Due
		}
	}
	v.StartedBy = visible(a.StartedBy)
	if a.Tool != "" {
		v.Tool, v.Arguments = a.Tool, visible(pretty(a.Arguments))
		v.Facts = argumentFacts(a.Arguments)
	}
	if schema := formSchema(a); schema != nil {
		v.Fields = r.fields(schema)
	}
	return v
}

// argumentFacts are the arguments of a call as terms and values, if it has a few
// plain ones; what is larger is read in the JSON below.
func argumentFacts(arguments kairos.RawJSON) []view.Fact {
	v, err := planner.DecodeValue(arguments)
	if err != nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok || len(m) > 20 {
		return nil
	}
	var out []view.Fact
	for _, k := range sorted(m) {
		text := planner.Text(m[k])
		if short := []rune(text); len(short) > 400 {
			text = string(short[:400]) + "…"
		}
		out = append(out, view.Fact{Term: visible(k), Text: visible(text)})
	}
	return out
}

func formSchema(a kairos.Approval) any {
	if a.Form == nil {
		return nil
	}
	schema, err := planner.DecodeValue(a.Form)
	if err != nil {
		return nil
	}
	return schema
}

func (r *request) approvals() error {
	list, err := r.s.Reader.Approvals(r.ctx, kairos.ApprovalFilter{Status: r.c.QueryParam("status"), Page: r.page()})
	if err != nil {
		return err
	}
	p := view.ApprovalsPage{Shell: r.shell("approvals", "Approvals"), Topic: "runs"}
	p.Live = true
	status := r.c.QueryParam("status")
	if status == "" { // what ends by itself first, first; then what waits longest
		slices.SortStableFunc(list.Items, func(a, b kairos.Approval) int {
			if a.DueAt.IsZero() != b.DueAt.IsZero() {
				if b.DueAt.IsZero() {
					return -1
				}
				return 1
			}
			return cmp.Or(a.DueAt.Compare(b.DueAt), a.CreatedAt.Compare(b.CreatedAt))
		})
	}
	for _, a := range list.Items {
		p.Items = append(p.Items, r.approvalView(a))
	}
	for _, s := range []struct{ status, word string }{{"", r.t("Open")}, {"approved", r.t("Approved")}, {"rejected", r.t("Rejected")}, {"expired", r.t("Expired")}} {
		href := "/approvals"
		if s.status != "" {
			href += "?status=" + s.status
		}
		p.States = append(p.States, view.Link{Text: s.word, Href: href, Current: status == s.status})
	}
	if list.Prev != "" {
		p.Newer = "/approvals?" + url.Values{"status": {status}, "before": {list.Prev}}.Encode()
	}
	if list.Next != "" {
		p.Older = "/approvals?" + url.Values{"status": {status}, "after": {list.Next}}.Encode()
	}
	if status == "" {
		doubts, err := r.s.Reader.Runs(r.ctx, kairos.RunFilter{WaitReasons: []kairos.WaitReason{kairos.WaitInDoubt}, Page: kairos.Page{Limit: 50}})
		if err != nil {
			return err
		}
		p.Doubts = r.runRows(doubts.Items)
	}
	return r.render(http.StatusOK, view.Approvals(p))
}

func (r *request) approval() error {
	a, err := r.s.Reader.Approval(r.ctx, r.c.Param("approval"))
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, view.Approval(view.ApprovalPage{Shell: r.shell("approvals", "Approval"), Approval: r.approvalView(a)}))
}

func (r *request) decide() error {
	a, err := r.s.Reader.Approval(r.ctx, r.c.Param("approval"))
	if err != nil {
		return err
	}
	req := kairos.DecideRequest{Approval: a.ID, Approve: r.c.FormValue("answer") == "approve", Comment: strings.TrimSpace(r.c.FormValue("comment")), Digest: r.c.FormValue("digest")}
	problem := ""
	if !req.Approve && req.Comment == "" {
		problem = r.t("Say why you reject it.")
	}
	if schema := formSchema(a); schema != nil && req.Approve {
		if values := r.formValues(schema); values != nil {
			if req.Values, err = planner.EncodeValue(values); err != nil {
				problem = err.Error()
			}
		}
	}
	if problem == "" {
		err = r.once(func() (string, error) {
			decided, err := r.s.Engine.Decide(r.ctx, r.who.actor(), req)
			if err != nil {
				return "", err
			}
			return "/runs/" + decided.Run, nil
		})
		if kairos.CodeOf(err) != kairos.CodeInvalid {
			return err
		}
		problem = sentence(err)
	}
	v := r.approvalView(a)
	v.FormError = problem
	return r.render(http.StatusUnprocessableEntity, view.Approval(view.ApprovalPage{Shell: r.shell("approvals", "Approval"), Approval: v}))
}
