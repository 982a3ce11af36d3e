package hooks

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/plan"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// schemeNames are the labels of the schemes in the form.
var schemeNames = map[domain.HookScheme]string{
	domain.HookStandard: locale.Mark("Standard Webhooks: signed, with a timestamp"),
	domain.HookGitHub:   locale.Mark("GitHub: signed"),
	domain.HookStripe:   locale.Mark("Stripe: signed, with a timestamp"),
	domain.HookSlack:    locale.Mark("Slack: signed, with a timestamp"),
	domain.HookBearer:   locale.Mark("Bearer token: not signed"),
	domain.HookFiles:    locale.Mark("Files: new files in a directory"),
}

func schemes(c *ui.Context, chosen domain.HookScheme) (out []kit.Option) {
	for _, v := range domain.HookSchemes {
		out = append(out, kit.Option{Value: string(v), Text: c.T(schemeNames[v]), Selected: v == chosen})
	}
	return out
}

// typed holds the values of the form as the user typed them.
func typed(c *ui.Context) EditPage {
	f := func(name string) string { return strings.TrimSpace(c.Field(name)) }
	return EditPage{Key: f("key"), Plan: f("plan"), Version: f("version"), Signal: f("signal"), SignalKey: f("signalKey"),
		Secret: f("secret"), Files: f("files"), Settle: f("settle"), Filter: f("filter"), Input: f("input"), Labels: f("labels"),
		Profile: plan.ProfileField{Value: f("profile")}, Scheme: schemes(c, domain.HookScheme(f("scheme")))}
}

// newPage shows the form for a new hook. The query of the address can fill in fields.
func (s *section) newPage(c *ui.Context) error { return s.showNew(c, http.StatusOK, typed(c), "") }

func (s *section) showNew(c *ui.Context, code int, p EditPage, problem string) error {
	p.New, p.Heading, p.Button, p.Post, p.Back = true, c.T("New hook"), c.T("Create"), incoming.Hooks+"/new", incoming.Hooks
	p.Crumbs = kit.Crumbs{Path: []kit.Link{{Text: c.T("Hooks"), Href: incoming.Hooks}}}
	return s.showEdit(c, code, p, problem)
}

func (s *section) showEdit(c *ui.Context, code int, p EditPage, problem string) error {
	p.Shell, p.Idem, p.Error = c.Shell("plans", p.Heading), kit.NewID(), problem
	plans, err := s.App.Plans.List(c, c.Principal.Actor(), domain.PlanFilter{Page: domain.Page{Limit: 100}})
	if err != nil {
		return err
	}
	for _, pl := range plans.Items {
		p.Plans = append(p.Plans, pl.Key)
	}
	if p.Profile, err = s.profile(c, p); err != nil {
		return err
	}
	return c.Render(code, Edit(p))
}

// profile returns the field for the profile, with the profiles of the plan.
func (s *section) profile(c *ui.Context, p EditPage) (plan.ProfileField, error) {
	return plan.ProfileFieldOf(c, s.App.Plans, p.Post, p.Plan, p.Version, p.Profile.Value)
}

// profileOf returns only this field, for the plan that the form has now.
func (s *section) profileOf(c *ui.Context) (templ.Component, error) {
	p := typed(c)
	p.Post = c.Echo.Request().URL.Path
	f, err := s.profile(c, p)
	return plan.Profile(f), err
}

func (s *section) create(c *ui.Context) error {
	p := typed(c)
	fields, err := fieldsOf(c, p)
	if err == nil {
		var x domain.Hook
		if x, err = s.App.Hooks.Create(c, app.NewHook{Meta: c.Meta(), Key: p.Key, HookFields: fields}); err == nil {
			return c.RedirectTo(incoming.Hook(x.Key))
		}
	}
	return s.refused(c, err, func(problem string) error { return s.showNew(c, http.StatusUnprocessableEntity, p, problem) })
}

// refused shows the form again with the error.
func (s *section) refused(c *ui.Context, err error, show func(string) error) error {
	if says, ok := c.Refused(err); ok {
		return show(says)
	}
	if code := domain.CodeOf(err); code == domain.CodeNotFound || code == domain.CodeStale {
		return show(c.Sentence(err))
	}
	return err
}

// fieldsOf reads the values of the form.
func fieldsOf(c *ui.Context, p EditPage) (f app.HookFields, err error) {
	version := 0
	if p.Version != "" {
		if version, err = strconv.Atoi(strings.TrimPrefix(p.Version, "v")); err != nil || version < 0 {
			return f, domain.Errorf(domain.CodeInvalid, "%q is not a version", kit.Truncate(p.Version, 40))
		}
	}
	labels, err := part.ParseLabels(p.Labels)
	if err != nil {
		return f, err
	}
	scheme, settle := domain.HookScheme(c.Field("scheme")), time.Duration(0)
	if scheme == domain.HookFiles {
		p.Secret = ""
	} else {
		p.Files, p.Settle = "", ""
	}
	if p.Settle != "" {
		if settle, err = time.ParseDuration(p.Settle); err != nil {
			return f, domain.Errorf(domain.CodeInvalid, "%q is not a duration such as 5s", kit.Truncate(p.Settle, 40))
		}
	}
	return app.HookFields{Plan: &p.Plan, Version: &version, Scheme: &scheme, Secret: &p.Secret, Files: &p.Files,
		Settle: &settle, Filter: &p.Filter, Input: &p.Input, Signal: &p.Signal, SignalKey: &p.SignalKey,
		Profile: &p.Profile.Value, Labels: &labels}, nil
}

// editPage shows the form with the settings of a hook.
func (s *section) editPage(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p := EditPage{Key: x.Key, Plan: x.PlanKey, Signal: x.Signal, SignalKey: x.SignalKey, Secret: x.Secret, Filter: x.Filter, Input: x.Input,
		Profile: plan.ProfileField{Value: x.Profile}, Scheme: schemes(c, x.Scheme), Labels: part.LabelText(x.Labels)}
	if x.Scheme == domain.HookFiles {
		p.Files, p.Settle = x.Files, x.Settle.String()
	}
	if x.Version > 0 {
		p.Version = strconv.Itoa(x.Version)
	}
	return s.showChange(c, http.StatusOK, x, p, "")
}

func (s *section) showChange(c *ui.Context, code int, x domain.Hook, p EditPage, problem string) error {
	p.Heading, p.Button, p.Post, p.Back = c.T("Edit %s", x.Key), c.T("Save"), incoming.Hook(x.Key)+"/edit", incoming.Hook(x.Key)
	p.Crumbs, p.Rev = crumbs(c, x), strconv.FormatInt(x.Rev, 10)
	return s.showEdit(c, code, p, problem)
}

func (s *section) edit(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p := typed(c)
	fields, err := fieldsOf(c, p)
	if err == nil {
		if _, err = s.App.Hooks.Update(c, app.HookEdit{Meta: c.Meta(), Hook: x.Key, Rev: revision(c), HookFields: fields}); err == nil {
			return c.RedirectTo(incoming.Hook(x.Key))
		}
	}
	return s.refused(c, err, func(problem string) error { return s.showChange(c, http.StatusUnprocessableEntity, x, p, problem) })
}
