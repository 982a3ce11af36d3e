package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// alike are open approvals of one step of a plan that the reader may answer and
// that ask for no values.
func (r *request) alike() (list []kairos.Approval, answer string, err error) {
	plan, node := r.c.FormValue("plan"), r.c.FormValue("node")
	answer = r.c.FormValue("answer")
	if plan == "" || node == "" || answer != "approve" && answer != "reject" {
		return nil, "", kairos.Errorf(kairos.CodeInvalid, "say which plan, which step and which answer")
	}
	all, err := r.s.Reader.Approvals(r.ctx, kairos.ApprovalFilter{Plan: plan, Node: node, For: r.who.Name, Page: kairos.Page{Limit: alikeMax}})
	if err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(all.Items, func(a kairos.Approval) bool { return len(a.Form) > 0 }), answer, nil
}

// bulkApprovals lists each approval that one answer would decide; it is safe to open.
func (r *request) bulkApprovals() error { return r.showAlike(http.StatusOK, "", nil) }

func (r *request) showAlike(code int, problem string, refused []string) error {
	list, answer, err := r.alike()
	if err != nil {
		return err
	}
	p := view.ApprovalsBulkPage{Plan: r.c.FormValue("plan"), Node: r.c.FormValue("node"), Answer: answer, Idem: newID(), Error: problem, Refused: refused, Danger: answer == "reject",
		Reason: r.c.FormValue("comment")}
	for _, a := range list {
		v, err := r.approvalView(a)
		if err != nil {
			return err
		}
		p.Items = append(p.Items, v)
		p.Verb = v.Yes
		if p.Danger {
			p.Verb = v.No
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
		return kairos.Errorf(kairos.CodeInvalid, "the form cannot be read: %w", err)
	}
	form := r.c.Request().PostForm
	answer, comment := form.Get("answer"), strings.TrimSpace(form.Get("comment"))
	items, digests := form["item"], form["digest"]
	switch {
	case answer != "approve" && answer != "reject" || len(items) == 0 || len(items) > alikeMax || len(items) != len(digests):
		return kairos.Errorf(kairos.CodeInvalid, "say which approvals, at most %d, and which answer", alikeMax)
	case answer == "reject" && comment == "":
		return r.showAlike(http.StatusUnprocessableEntity, r.t("Say why you reject it."), nil)
	}
	var refused []string
	err := r.once(func() (string, error) {
		for i, id := range items {
			_, err := r.s.Engine.Decide(r.ctx, r.who.actor(), kairos.DecideRequest{Approval: id, Approve: answer == "approve", Comment: comment, Digest: digests[i]})
			switch kairos.CodeOf(err) {
			case "":
				if err != nil {
					return "", err
				}
			case kairos.CodeConflict, kairos.CodeStale, kairos.CodeNotFound, kairos.CodeForbidden:
				refused = append(refused, r.sentence(err))
			default:
				return "", err
			}
		}
		if len(refused) > 0 {
			return "", kairos.Errorf(kairos.CodeConflict, "%d of %d were not decided", len(refused), len(items))
		}
		return with("/approvals", url.Values{"show": {"decided"}, "plan": {form.Get("plan")}}), nil
	})
	if kairos.CodeOf(err) == kairos.CodeConflict {
		return r.showAlike(http.StatusConflict, r.sentence(err), refused)
	}
	return err
}
