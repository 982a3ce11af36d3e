package agents

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// budgetPages serves the pages of budgets.
type budgetPages struct{ *section }

const budgetsPath = "/agents/budgets"

// budgetPath is the address of the page of a budget.
func budgetPath(key string) string { return budgetsPath + "/" + url.PathEscape(key) }

// Names of periods and units.
var (
	periodNames = map[string]string{domain.PeriodHour: locale.Mark("hour"), domain.PeriodDay: locale.Mark("day"),
		domain.PeriodMonth: locale.Mark("month")}
	unitNames = map[string]string{domain.UnitCost: locale.Mark("cost, in the currency of the configured prices"),
		domain.UnitTokens: locale.Mark("tokens")}
)

// budgetAmount formats an amount of a budget.
func budgetAmount(c *ui.Context, unit string, v float64) string {
	if unit == domain.UnitTokens {
		return c.N(int(v), "%s token", "%s tokens")
	}
	return value.Money(c, v)
}

// list shows the budgets, by key.
func (s budgetPages) list(c *ui.Context) error {
	list, err := s.App.Budgets.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p := BudgetsPage{Shell: c.Shell("agents", c.T("Budgets")), Parts: parts(c, "budgets")}
	for _, b := range list {
		p.Rows = append(p.Rows, budgetRow(c, b))
	}
	if c.May(app.CreateBudget) {
		p.New = budgetsPath + "/new"
	}
	return c.Render(http.StatusOK, Budgets(p))
}

func budgetRow(c *ui.Context, b domain.BudgetState) BudgetRow {
	r := BudgetRow{Name: kit.Link{Text: kit.Escape(b.Key), Href: budgetPath(b.Key)}, Scope: kit.Escape(b.Scope),
		Period: c.T(periodNames[b.Period]),
		Used:   budgetAmount(c, b.Unit, b.Window.Used), Status: budgetStatus(b), Prediction: prediction(c, b),
		Waiting: c.Number(int64(b.Waiting)),
		Next:    c.Time(b.Window.End)}
	r.Bar, r.Limit = usedBar(b), limitText(c, b)
	return r
}

// limitText returns the highest line of a budget in its window.
func limitText(c *ui.Context, b domain.BudgetState) string {
	return budgetAmount(c, b.Unit, highest(b))
}

// highest returns the line that the usage is compared with.
func highest(b domain.BudgetState) float64 {
	if b.Hard > 0 {
		return b.Limit()
	}
	return max(b.Soft, b.Degrade)
}

func usedBar(b domain.BudgetState) string {
	return kit.Percent(min(100, 100*b.Window.Used/max(highest(b), 1e-12)))
}

// The states of a budget.
var (
	withinBudget = kit.Word("ok", "i-ok", locale.Mark("below its lines"), true)
	overSoft     = kit.Word("need", "i-need", locale.Mark("above the soft line"), false)
	degraded     = kit.Word("need", "i-need", locale.Mark("uses the cheaper model"), false)
	runsWait     = kit.Word("need", "i-need", locale.Mark("runs wait"), false)
	usedUp       = kit.Word("fail", "i-fail", locale.Mark("used up"), false)
)

func budgetStatus(b domain.BudgetState) kit.Status {
	switch used := b.Window.Used; {
	case b.Hard > 0 && used >= b.Limit():
		return usedUp
	case b.Waiting > 0:
		return runsWait
	case b.Degrade > 0 && used >= b.Degrade:
		return degraded
	case b.Soft > 0 && used >= b.Soft:
		return overSoft
	}
	return withinBudget
}

// prediction states what happens at the pace of the window.
func prediction(c *ui.Context, b domain.BudgetState) string {
	switch {
	case b.Window.Used == 0:
		return c.T("No usage in this window yet.")
	case b.Hard > 0 && b.Window.Used >= b.Limit():
		return c.T("Used up. The next window begins at %s.", c.Time(b.Window.End).Text)
	case !b.Exhausted.IsZero():
		return c.T("At this pace, used up at %s.", c.Time(b.Exhausted).Text)
	}
	return c.T("At this pace, %s at the end of the window.", budgetAmount(c, b.Unit, b.Predicted))
}

func (s budgetPages) find(c *ui.Context) (domain.BudgetState, error) {
	return s.App.Budgets.Get(c, c.Principal.Actor(), c.Param("budget"))
}

// budget shows one budget with its windows and the runs that wait for it.
func (s budgetPages) budget(c *ui.Context) error {
	b, err := s.find(c)
	if err != nil {
		return err
	}
	p := BudgetPage{Shell: c.Shell("agents", b.Key), Crumbs: budgetCrumbs(c, b), Heading: kit.Escape(b.Key), Status: budgetStatus(b),
		Prediction: prediction(c, b), Used: budgetAmount(c, b.Unit, b.Window.Used), Limit: limitText(c, b), Bar: usedBar(b)}
	if len(b.Unpriced) > 0 {
		p.Unpriced = c.T("Models without a price: runs that call them wait. Add %s to the configuration.",
			kit.Escape(strings.Join(b.Unpriced, ", ")))
	}
	p.Facts = []kit.Fact{{Icon: "i-tag", Term: c.T("Model calls"), Text: kit.Escape(b.Scope), Mono: true},
		{Icon: "i-clock", Term: c.T("Window"), Text: c.T("one %s, in the time zone %s", c.T(periodNames[b.Period]), kit.Escape(b.Zone))},
		{Icon: "i-user", Term: c.T("Changed by"), Text: kit.Escape(b.Actor)}}
	p.Lines = budgetLines(c, b)
	at := budgetPath(b.Key)
	if c.May(app.RaiseBudget) && b.Hard > 0 {
		p.Actions = append(p.Actions, kit.Link{Text: c.T("Raise…"), Href: at + "/raise", Dialog: true, Primary: true})
	}
	if c.May(app.UpdateBudget) {
		p.Actions = append(p.Actions, kit.Link{Text: c.T("Edit…"), Href: at + "/edit"},
			kit.Link{Text: c.T("Delete…"), Href: at + "/delete", Dialog: true, Danger: true})
	}
	if err := s.addWindows(c, b, &p); err != nil {
		return err
	}
	waiting, err := s.App.Budgets.Waiters(c, c.Principal.Actor(), b.ID)
	for _, w := range waiting {
		p.Runs = append(p.Runs, BudgetRun{Run: kit.Link{Text: domain.ShortID(w.Run), Href: "/runs/" + w.Run},
			Plan: kit.Link{Text: kit.Escape(w.PlanKey), Href: link.Plan(w.PlanKey)}, Since: c.Time(w.Since)})
	}
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, Budget(p))
}

func budgetCrumbs(c *ui.Context, b domain.BudgetState) kit.Crumbs {
	return kit.Crumbs{Path: []kit.Link{{Text: c.T("Budgets"), Href: budgetsPath}, {Text: kit.Escape(b.Key), Href: budgetPath(b.Key)}}}
}

// budgetLines returns the lines of a budget and their effects.
func budgetLines(c *ui.Context, b domain.BudgetState) (out []BudgetLine) {
	add := func(term string, amount float64, effect string) {
		if amount > 0 {
			out = append(out, BudgetLine{term, budgetAmount(c, b.Unit, amount), effect})
		}
	}
	add(c.T("Soft line"), b.Soft, c.T("kairosd sends a notification."))
	add(c.T("Degrade line"), b.Degrade, c.T("Calls go to %s.", kit.Escape(b.DegradeTo)))
	add(c.T("Hard line"), b.Hard, c.T("Runs wait for the next window, or for a raise."))
	add(c.T("Raised"), b.Window.Extra, c.T("Added to the hard line until this window ends."))
	add(c.T("Reserved"), b.Reserved, c.T("By calls in flight."))
	add(c.T("Estimated"), b.Window.Estimated, c.T("The part of the usage of calls that a crash interrupted."))
	return out
}

func (s budgetPages) addWindows(c *ui.Context, b domain.BudgetState, p *BudgetPage) error {
	windows, err := s.App.Budgets.Windows(c, c.Principal.Actor(), b.ID)
	most := 1e-12
	for _, w := range windows {
		most = max(most, w.Used)
	}
	for _, w := range windows {
		r := BudgetWindow{From: c.Time(w.Start), Calls: c.Number(w.Calls), Used: budgetAmount(c, b.Unit, w.Used),
			Bar: kit.Percent(100 * w.Used / most)}
		if w.Extra > 0 {
			r.Raised = budgetAmount(c, b.Unit, w.Extra)
		}
		p.Windows = append(p.Windows, r)
	}
	return err
}

// typedBudget holds the values of the form as the user typed them.
func typedBudget(c *ui.Context) BudgetEdit {
	f := func(name string) string { return strings.TrimSpace(c.Field(name)) }
	return BudgetEdit{Key: f("key"), Scope: f("scope"), Zone: f("zone"), Soft: f("soft"), Degrade: f("degrade"),
		DegradeTo: f("degradeTo"),
		Hard:      f("hard"), Periods: options(c, domain.BudgetPeriods, periodNames, f("period")),
		Units: options(c, domain.BudgetUnits, unitNames, f("unit"))}
}

func options(c *ui.Context, values []string, names map[string]string, chosen string) (out []kit.Option) {
	for _, v := range values {
		out = append(out, kit.Option{Value: v, Text: c.T(names[v]), Selected: v == chosen})
	}
	return out
}

// newPage shows the form for a new budget.
func (s budgetPages) newPage(c *ui.Context) error {
	return s.showNew(c, http.StatusOK, typedBudget(c), "")
}

func (s budgetPages) showNew(c *ui.Context, code int, p BudgetEdit, problem string) error {
	p.New, p.Heading, p.Button, p.Post, p.Back = true, c.T("New budget"), c.T("Create"), budgetsPath+"/new", budgetsPath
	p.Crumbs = kit.Crumbs{Path: []kit.Link{{Text: c.T("Budgets"), Href: budgetsPath}}}
	return showBudgetEdit(c, code, p, problem)
}

func showBudgetEdit(c *ui.Context, code int, p BudgetEdit, problem string) error {
	p.Shell, p.Idem, p.Error = c.Shell("agents", p.Heading), kit.NewID(), problem
	return c.Render(code, EditBudget(p))
}

// amount reads an amount of the form. An empty field is 0.
func amount(name, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimPrefix(text, "+"), 64)
	if err != nil {
		return 0, domain.Errorf(domain.CodeInvalid, "%s %q is not a number", name, kit.Truncate(text, 40))
	}
	return v, nil
}

// lines reads the lines of the form.
func (p BudgetEdit) lines() (out [3]float64, err error) {
	for i, f := range [][2]string{{"soft", p.Soft}, {"degrade", p.Degrade}, {"hard", p.Hard}} {
		if out[i], err = amount(f[0], f[1]); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s budgetPages) create(c *ui.Context) error {
	p := typedBudget(c)
	lines, err := p.lines()
	if err == nil {
		var b domain.BudgetState
		b, err = s.App.Budgets.Create(c, app.NewBudget{Meta: c.Meta(), Key: p.Key, BudgetSpec: domain.BudgetSpec{Scope: p.Scope,
			Period: c.Field("period"), Zone: p.Zone, Unit: c.Field("unit"), Soft: lines[0], Degrade: lines[1], Hard: lines[2],
			DegradeTo: p.DegradeTo}})
		if err == nil {
			return c.RedirectTo(budgetPath(b.Key))
		}
	}
	return refusedBudget(c, err, func(problem string) error { return s.showNew(c, http.StatusUnprocessableEntity, p, problem) })
}

// refusedBudget shows a form again with the error.
func refusedBudget(c *ui.Context, err error, show func(string) error) error {
	if problem, ok := c.Refused(err); ok {
		return show(problem)
	}
	if domain.CodeOf(err) == domain.CodeStale {
		return show(c.Sentence(err))
	}
	return err
}

// editPage shows the form with the lines of a budget.
func (s budgetPages) editPage(c *ui.Context) error {
	b, err := s.find(c)
	if err != nil {
		return err
	}
	text := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return showBudgetChange(c, http.StatusOK, b, BudgetEdit{Soft: text(b.Soft), Degrade: text(b.Degrade), DegradeTo: b.DegradeTo,
		Hard: text(b.Hard)}, "")
}

func showBudgetChange(c *ui.Context, code int, b domain.BudgetState, p BudgetEdit, problem string) error {
	p.Heading, p.Button, p.Back = c.T("Edit %s", b.Key), c.T("Save"), budgetPath(b.Key)
	p.Post, p.Crumbs, p.Rev = p.Back+"/edit", budgetCrumbs(c, b), strconv.FormatInt(b.Rev, 10)
	return showBudgetEdit(c, code, p, problem)
}

func (s budgetPages) edit(c *ui.Context) error {
	b, err := s.find(c)
	if err != nil {
		return err
	}
	p := typedBudget(c)
	lines, err := p.lines()
	if err == nil {
		if _, err = s.App.Budgets.Update(c, app.BudgetEdit{Meta: c.Meta(), Budget: b.ID, Rev: budgetRev(c), Soft: &lines[0],
			Degrade: &lines[1], Hard: &lines[2], DegradeTo: &p.DegradeTo}); err == nil {
			return c.RedirectTo(budgetPath(b.Key))
		}
	}
	return refusedBudget(c, err, func(problem string) error {
		return showBudgetChange(c, http.StatusUnprocessableEntity, b, p, problem)
	})
}

// budgetRev returns the revision of the budget when the form was shown. 0 means any.
func budgetRev(c *ui.Context) int64 {
	n, err := strconv.ParseInt(c.Field("rev"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// raisePage shows what a raise changes: the usage, the line, and the runs that wait.
func (s budgetPages) raisePage(c *ui.Context) error {
	b, err := s.find(c)
	if err != nil {
		return err
	}
	return s.showRaise(c, http.StatusOK, b, "", "")
}

func (s budgetPages) showRaise(c *ui.Context, code int, b domain.BudgetState, typed, problem string) error {
	waiting, err := s.App.Budgets.Waiters(c, c.Principal.Actor(), b.ID)
	if err != nil {
		return err
	}
	p := RaisePage{Crumbs: budgetCrumbs(c, b), Heading: c.T("Raise %s", b.Key), Post: budgetPath(b.Key) + "/raise",
		Back: budgetPath(b.Key),
		Idem: kit.NewID(), Amount: typed, Error: problem}
	p.Facts = []kit.Fact{{Term: c.T("Used"), Text: budgetAmount(c, b.Unit, b.Window.Used)},
		{Term: c.T("Hard line"), Text: budgetAmount(c, b.Unit, b.Limit())},
		{Term: c.T("Next window"), Text: c.Time(b.Window.End).Text}, {Term: c.T("Waiting runs"), Text: c.Number(int64(b.Waiting))}}
	if len(waiting) > 0 {
		first, all := 0.0, 0.0
		for i, w := range waiting {
			if all += w.Least; i == 0 {
				first = w.Least
			}
		}
		need := func(sum float64) string { return budgetAmount(c, b.Unit, max(0, b.Window.Used+sum-b.Limit())) }
		p.Effect = c.T("With at least %s, the oldest waiting run continues. With at least %s, all of them make their next call.",
			need(first), need(all))
	} else {
		p.Effect = c.T("No run waits for this budget.")
	}
	p.Shell = c.Shell("agents", p.Heading)
	return c.Render(code, RaiseBudget(p))
}

func (s budgetPages) raise(c *ui.Context) error {
	b, err := s.find(c)
	if err != nil {
		return err
	}
	typed := strings.TrimSpace(c.Field("amount"))
	v, err := amount("the amount", typed)
	if err == nil {
		if _, err = s.App.Budgets.Raise(c, app.BudgetRaise{Meta: c.Meta(), Budget: b.ID, Amount: v,
			Reason: strings.TrimSpace(c.Field("reason"))}); err == nil {
			return c.RedirectTo(budgetPath(b.Key))
		}
	}
	return refusedBudget(c, err, func(problem string) error { return s.showRaise(c, http.StatusUnprocessableEntity, b, typed, problem) })
}

// deletePage asks for confirmation.
func (s budgetPages) deletePage(c *ui.Context) error {
	b, err := s.find(c)
	if err != nil {
		return err
	}
	at := budgetPath(b.Key)
	p := kit.ConfirmPage{Crumbs: budgetCrumbs(c, b), Back: at, Post: at + "/delete", Idem: kit.NewID(),
		Danger:  true,
		Heading: c.T("Delete %s", b.Key),
		Text:    c.T("Its lines and its usage are deleted. Runs that wait for it continue. This cannot be undone."),
		Facts:   []kit.Fact{{Term: c.T("Waiting runs"), Text: c.Number(int64(b.Waiting))}}}
	p.Shell = c.Shell("agents", p.Heading)
	return c.Render(http.StatusOK, kit.Confirm(p))
}

func (s budgetPages) delete(c *ui.Context) error {
	if _, err := s.App.Budgets.Delete(c, app.BudgetDelete{Meta: c.Meta(), Budget: c.Param("budget"), Rev: budgetRev(c)}); err != nil {
		return err
	}
	return c.RedirectTo(budgetsPath)
}
