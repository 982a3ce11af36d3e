package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// alike are open approvals of one step of a plan that the reader may answer and
// that ask for no values.
func (r *request) alike() (list []domain.Approval, answer string, err error) {
	plan, node := r.c.FormValue("plan"), r.c.FormValue("node")
	answer = r.c.FormValue("answer")
	if plan == "" || node == "" || answer == "" {
		return nil, "", domain.Errorf(domain.CodeInvalid, "say which plan, which step and which answer")
	}
	all, err := r.s.App.Approvals.List(r.ctx, r.who.actor(), domain.ApprovalFilter{Plan: plan, Node: node, For: r.who.Name, Page: domain.Page{Limit: alikeMax}})
	if err != nil {
		return nil, "", err
	}
	for _, a := range all.Items {
		if _, wrong := a.AnswerOf(domain.DecideRequest{Answer: answer}); wrong != nil {
			err = wrong
		} else if len(a.Form) == 0 {
			list = append(list, a)
		}
	}
	if len(list) > 0 { // the others are of another version of the plan
		err = nil
	}
	return list, answer, err
}

// bulkApprovals lists each approval that one answer would decide; it is safe to open.
func (r *request) bulkApprovals() error { return r.showAlike(http.StatusOK, "", nil) }

func (r *request) showAlike(code int, problem string, refused []string) error {
	list, answer, err := r.alike()
	if err != nil {
		return err
	}
	p := view.ApprovalsBulkPage{Plan: r.c.FormValue("plan"), Node: r.c.FormValue("node"), Answer: answer, Idem: newID(), Error: problem, Refused: refused,
		Reason: r.c.FormValue("comment")}
	for _, a := range list {
		v, err := r.approvalView(a)
		if err != nil {
			return err
		}
		p.Items = append(p.Items, v)
		for _, x := range v.Answers {
			if x.ID == answer {
				p.Verb, p.Danger = x.Label, x.Rejects
			}
		}
	}
	p.Heading = r.n(len(list), "%[2]s: %[1]s approval", "%[2]s: %[1]s approvals", p.Verb)
	if len(list) == 0 {
		p.Heading = r.t("Nothing like this waits any more.")
	}
	p.Shell = r.shell("approvals", p.Heading)
	return r.render(code, view.ApprovalsBulk(p))
}

// decideAlike decides what was previewed, one after the other; what has changed
// since is left and named.
func (r *request) decideAlike() error {
	if err := r.c.Request().ParseForm(); err != nil {
		return domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	form := r.c.Request().PostForm
	answer, comment := form.Get("answer"), strings.TrimSpace(form.Get("comment"))
	items, digests := form["item"], form["digest"]
	if answer == "" || len(items) == 0 || len(items) > alikeMax || len(items) != len(digests) {
		return domain.Errorf(domain.CodeInvalid, "say which approvals, at most %d, and which answer", alikeMax)
	}
	var refused []string
	for i, id := range items {
		m := r.meta()
		if m.Key != "" {
			m.Key += ":" + id
		}
		_, err := r.s.App.Approvals.Decide(r.ctx, app.DecideRequest{Meta: m, DecideRequest: domain.DecideRequest{Approval: id, Answer: answer, Comment: comment, Digest: digests[i]}})
		switch domain.CodeOf(err) {
		case "":
		case domain.CodeConflict, domain.CodeStale, domain.CodeNotFound, domain.CodeForbidden:
			refused = append(refused, r.sentence(err))
		default:
			return err
		}
	}
	if len(refused) > 0 {
		err := domain.Errorf(domain.CodeConflict, "%d of %d were not decided", len(refused), len(items))
		return r.showAlike(http.StatusConflict, r.sentence(err), refused)
	}
	return r.to(with("/approvals", url.Values{"show": {"decided"}, "plan": {form.Get("plan")}}))
}
