package action

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
)

// resumeOptions reads the options of a resume from the form.
func (r *request) resumeOptions(req *domain.ActionRequest) error {
	value := func(key string) string { return strings.TrimSpace(r.Field(key)) }
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
			return domain.Errorf(domain.CodeInvalid, "invalid timeout %q", s).
				Suggest("use a number and a unit, such as 90s or 10m")
		}
		req.Timeout = d
	}
	return nil
}

// asksMore reports whether a resume has options.
func asksMore(req domain.ActionRequest) bool {
	return req.Only != "" || req.Timeout != 0 || req.Attempts != 0
}

// resumeChoices adds the options of a resume, and a note about a newer version.
func (r *request) resumeChoices(p *PreviewPage, req domain.ActionRequest, run domain.Run) error {
	if run.Status != domain.RunFailed && run.Status != domain.RunCancelled || !p.Allowed {
		return nil
	}
	plain, err := r.App.Runs.Preview(r.Context, r.Principal.Actor(), domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil {
		return err
	}
	o := ResumeForm{Timeout: r.Field("timeout"), Attempts: r.Field("attempts")}
	o.Open = r.Query("limits") != "" || o.Timeout != "" || o.Attempts != ""
	o.Only = append(o.Only, kit.Option{Text: r.T("everything that is left"), Selected: req.Only == ""})
	for _, s := range plain.Again {
		if !s.Reopened() {
			continue
		}
		name := fmt.Sprintf("%s#%d", s.Node, s.Visit)
		o.Only = append(
			o.Only,
			kit.Option{
				Value:    name,
				Text:     r.T("only %s, then pause", kit.StepName(s.Node, s.Visit)),
				Selected: req.Only == name || req.Only == s.Node,
			},
		)
	}
	if err := r.waitInstead(p, run); err != nil {
		return err
	}
	p.Resume, p.Check = &o, r.T("Show what would happen")
	latest, err := r.App.Plans.Get(r.Context, r.Principal.Actor(), run.PlanID)
	if err != nil {
		return err
	}
	if latest.Latest <= run.Version {
		return nil
	}
	key := url.PathEscape(run.PlanKey)
	p.Newer = r.T("Resuming keeps v%d; v%d is the newest.", run.Version, latest.Latest)
	p.NewerLinks = append(
		p.NewerLinks,
		kit.Link{
			Text: r.T("Changes from v%d to v%d", run.Version, latest.Latest),
			Href: fmt.Sprintf("/plans/%s/diff/%d/%d", key, run.Version, latest.Latest),
		},
	)
	if r.Principal.Role.Includes(domain.RoleAuthor) {
		p.NewerLinks = append(
			p.NewerLinks,
			kit.Link{
				Text: r.T("Continue with v%d in a fork, keeping the unchanged steps", latest.Latest),
				Href: fmt.Sprintf("/runs/%s/fork?at=%d&version=-1", run.ID, run.LastSeq),
			},
		)
	}
	return nil
}

// waitInstead adds the causes that would make a resume fail again, and a link that resumes when
// they are resolved.
func (r *request) waitInstead(p *PreviewPage, run domain.Run) error {
	d, err := r.Engine.Detail(r.Context, run.ID)
	if err != nil {
		return err
	}
	uses, err := r.Reader.Uses(r.Context, run.ID)
	if err != nil {
		return err
	}
	list, err := part.Troubles(r.Context, r.App, uses, d.Journal)
	for _, t := range list {
		p.Around = append(p.Around, t.Text)
	}
	if len(list) == 0 {
		return err
	}
	q := list[0].Until
	q.Set("do", "resume")
	q.Set("run", run.ID)
	p.Wait = kit.Link{Text: r.T("Resume it once calls go through again…"), Href: "/bulk/new?" + q.Encode(), Dialog: true}
	return err
}
