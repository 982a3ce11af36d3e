package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// This file is what the preview of a resume lets one choose: one step by itself,
// and other limits for what runs again, off each time.

// resumeOptions reads them from the form.
func (r *request) resumeOptions(req *domain.VerbRequest) error {
	value := func(key string) string { return strings.TrimSpace(r.c.FormValue(key)) }
	req.Only = value("only")
	if s := value("attempts"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return domain.Errorf(domain.CodeInvalid, "attempts %q is not a number", s)
		}
		req.Attempts = n
	}
	if s := value("timeout"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "timeout %q is no duration", s).Suggest(`write a number and a unit, like "90s" or "10m"`)
		}
		req.Timeout = d
	}
	return nil
}

// asksMore reports whether a resume is asked for more than to go on.
func asksMore(req domain.VerbRequest) bool {
	return req.Only != "" || req.Timeout != 0 || req.Attempts != 0
}

// resumeChoices adds what a resume lets one choose, and what a newer version
// would do instead.
func (r *request) resumeChoices(p *view.PreviewPage, req domain.VerbRequest, run domain.Run) error {
	if run.Status != domain.RunFailed && run.Status != domain.RunCancelled || !p.Allowed {
		return nil
	}
	plain, err := r.s.Engine.Preview(r.ctx, r.who.actor(), domain.VerbRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil {
		return err
	}
	o := view.ResumeForm{Timeout: r.c.FormValue("timeout"), Attempts: r.c.FormValue("attempts")}
	o.Only = append(o.Only, view.Option{Text: r.t("everything that is left"), Selected: req.Only == ""})
	for _, s := range plain.Again {
		if !s.Reopened() {
			continue
		}
		name := fmt.Sprintf("%s#%d", s.Node, s.Visit)
		o.Only = append(o.Only, view.Option{Value: name, Text: r.t("only %s, then pause", stepName(s.Node, s.Visit)), Selected: req.Only == name || req.Only == s.Node})
	}
	if err := r.waitInstead(p, run); err != nil {
		return err
	}
	p.Resume, p.Check = &o, r.t("Show what would happen")
	latest, err := r.s.Reader.Plan(r.ctx, run.PlanID)
	if err != nil {
		return err
	}
	if latest.Latest <= run.Version {
		return nil
	}
	key := url.PathEscape(run.PlanKey)
	p.Newer = r.t("Resuming keeps v%d; v%d is the newest.", run.Version, latest.Latest)
	p.NewerLinks = append(p.NewerLinks, view.Link{Text: r.t("What changed from v%d to v%d", run.Version, latest.Latest), Href: fmt.Sprintf("/plans/%s/diff/%d/%d", key, run.Version, latest.Latest)})
	if r.who.Role.Includes(domain.RoleAuthor) {
		p.NewerLinks = append(p.NewerLinks, view.Link{Text: r.t("Go on with v%d in a fork, keeping what is the same", latest.Latest), Href: fmt.Sprintf("/runs/%s/fork?at=%d&version=-1", run.ID, run.LastSeq)})
	}
	return nil
}
