package schedules

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/plan"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

// overlapNames and catchUpNames are the labels of the options of the form.
var (
	overlapNames = map[domain.Overlap]string{
		domain.OverlapSkip: locale.Mark("Skip the slot"), domain.OverlapQueue: locale.Mark("Wait for the earlier run"),
		domain.OverlapCancelOldest: locale.Mark("Cancel the earlier run"),
	}
	catchUpNames = map[domain.CatchUp]string{
		domain.CatchUpDefault: locale.Mark("Automatic: ask if the plan has side effects, else run the last one"),
		domain.CatchUpNone:    locale.Mark("Run none"), domain.CatchUpLast: locale.Mark("Run the last one"),
		domain.CatchUpAll: locale.Mark("Run all"), domain.CatchUpAsk: locale.Mark("Ask an operator"),
	}
)

// typed holds the values of the form as the user typed them.
func typed(c *ui.Context) EditPage {
	f := func(name string) string { return strings.TrimSpace(c.Field(name)) }
	return EditPage{Key: f("key"), Plan: f("plan"), Version: f("version"),
		Profile: plan.ProfileField{Value: f("profile")}, Cron: f("cron"), Zone: f("zone"),
		Jitter: f("jitter"), Input: c.Field("input"), Labels: f("labels"),
		Overlap: options(c, domain.Overlaps, overlapNames, domain.Overlap(f("overlap"))),
		CatchUp: options(c, domain.CatchUps, catchUpNames, domain.CatchUp(f("catchup")))}
}

func options[T ~string](c *ui.Context, all []T, words map[T]string, chosen T) (out []kit.Option) {
	for _, v := range all {
		out = append(out, kit.Option{Value: string(v), Text: c.T(words[v]), Selected: v == chosen})
	}
	return out
}

// newPage shows the form for a new schedule. The query of the address can fill in fields.
func (s *section) newPage(c *ui.Context) error {
	p := typed(c)
	p.Zone = cmp.Or(p.Zone, c.Display.Zone.String())
	if p.Zone == "Local" {
		p.Zone = "UTC"
	}
	return s.showNew(c, http.StatusOK, p, "")
}

func (s *section) showNew(c *ui.Context, code int, p EditPage, problem string) error {
	p.New, p.Heading, p.Button, p.Post, p.Back = true, c.T("New schedule"), c.T("Create"), "/schedules/new", "/schedules"
	p.Crumbs = kit.Crumbs{Path: []kit.Link{{Text: c.T("Schedules"), Href: "/schedules"}}}
	return s.showEdit(c, code, p, problem)
}

// showEdit shows the form with the next times, if the expression is valid.
func (s *section) showEdit(c *ui.Context, code int, p EditPage, problem string) error {
	p.Shell, p.Idem, p.Error = c.Shell("plans", p.Heading), kit.NewID(), problem
	if times, err := s.App.Schedules.Next(c, c.Principal.Actor(), p.Cron, p.Zone, 3); err == nil {
		for _, at := range times {
			p.Times = append(p.Times, c.Time(at))
		}
	}
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
	if err == nil && c.Field("do") != "check" {
		var x domain.Schedule
		if x, err = s.App.Schedules.Create(c, app.NewSchedule{Meta: c.Meta(), Key: p.Key, ScheduleFields: fields}); err == nil {
			return c.RedirectTo(schedule.Address(x.Key))
		}
	}
	if err == nil {
		return s.showNew(c, http.StatusOK, p, "")
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
func fieldsOf(c *ui.Context, p EditPage) (f app.ScheduleFields, err error) {
	version, jitter := 0, time.Duration(0)
	if p.Version != "" {
		if version, err = strconv.Atoi(strings.TrimPrefix(p.Version, "v")); err != nil {
			return f, domain.Errorf(domain.CodeInvalid, "%q is not a version", kit.Truncate(p.Version, 40))
		}
	}
	if p.Jitter != "" {
		if jitter, err = time.ParseDuration(p.Jitter); err != nil {
			return f, domain.Errorf(domain.CodeInvalid, "%q is not a duration", kit.Truncate(p.Jitter, 40)).Suggest("write 30s or 5m")
		}
	}
	var input domain.RawJSON
	if strings.TrimSpace(p.Input) != "" {
		if input, err = form.JSON(p.Input); err != nil {
			return f, domain.Errorf(domain.CodeInvalid, "the input is not JSON: %w", err)
		}
	}
	labels, err := part.ParseLabels(p.Labels)
	if err != nil {
		return f, err
	}
	overlap, catchUp := domain.Overlap(c.Field("overlap")), domain.CatchUp(c.Field("catchup"))
	return app.ScheduleFields{Plan: &p.Plan, Version: &version, Cron: &p.Cron, Zone: &p.Zone, Jitter: &jitter, Input: &input,
		Profile: &p.Profile.Value, Labels: &labels, Overlap: &overlap, CatchUp: &catchUp}, nil
}

// editPage shows the form with the settings of a schedule.
func (s *section) editPage(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p := EditPage{Key: x.Key, Plan: x.PlanKey,
		Profile: plan.ProfileField{Value: x.Profile}, Cron: x.Cron, Zone: x.Zone, Input: string(x.Input),
		Overlap: options(c, domain.Overlaps, overlapNames, x.Overlap), CatchUp: options(c, domain.CatchUps, catchUpNames, x.CatchUp)}
	if x.Version > 0 {
		p.Version = strconv.Itoa(x.Version)
	}
	if x.Jitter > 0 {
		p.Jitter = x.Jitter.String()
	}
	p.Labels = part.LabelText(x.Labels)
	return s.showChange(c, http.StatusOK, x, p, "")
}

func (s *section) showChange(c *ui.Context, code int, x domain.Schedule, p EditPage, problem string) error {
	p.Heading, p.Button, p.Post, p.Back = c.T("Edit %s", x.Key), c.T("Save"), schedule.Address(x.Key)+"/edit", schedule.Address(x.Key)
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
	if err == nil && c.Field("do") != "check" {
		if x.Cron == p.Cron && x.Zone == p.Zone && x.Jitter == *fields.Jitter { // the next slot stays the same
			fields.Cron, fields.Zone, fields.Jitter = nil, nil, nil
		}
		if _, err = s.App.Schedules.Update(c, app.ScheduleEdit{Meta: c.Meta(), Schedule: x.Key, Rev: revision(c),
			ScheduleFields: fields}); err == nil {
			return c.RedirectTo(schedule.Address(x.Key))
		}
	}
	if err == nil {
		return s.showChange(c, http.StatusOK, x, p, "")
	}
	return s.refused(c, err, func(problem string) error { return s.showChange(c, http.StatusUnprocessableEntity, x, p, problem) })
}
