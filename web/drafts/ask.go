package drafts

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// askPage serves the form for a request.
func (s *section) askPage(c *ui.Context) error {
	return s.askForm(c, http.StatusOK,
		domain.DraftRequest{Query: c.Query("q"), Agent: c.Query("agent"), Constraints: domain.Constraints{ApproveUnsafe: true}}, nil)
}

// askForm renders the form with the typed values, and with the error if they were refused.
func (s *section) askForm(c *ui.Context, code int, typed domain.DraftRequest, refused error) error {
	p := AskPage{Shell: c.Shell("plans", "Plan from a request"), Form: s.requestForm(c, typed)}
	p.Form.Action, p.Form.Button = "/plans/drafts", c.T("Make a plan")
	if refused != nil {
		p.Error = c.Sentence(refused)
	}
	return c.Render(code, Ask(p))
}

// requestForm returns the form with the typed values and the available options.
func (s *section) requestForm(c *ui.Context, d domain.DraftRequest) RequestForm {
	f := RequestForm{CSRF: c.Principal.CSRF, Idem: kit.NewID(), Request: d.Query, Examples: d.Examples, Agents: s.agentOptions(c, d.Agent),
		Approve: d.Constraints.ApproveUnsafe, Fresh: d.Fresh}
	if n := d.Constraints.MaxSteps; n > 0 {
		f.MaxSteps = strconv.Itoa(n)
	}
	if b := d.Constraints.Budget; b > 0 {
		f.Budget = strconv.FormatFloat(b, 'f', -1, 64)
	}
	f.Providers = s.plannerOptions(c, d.Provider)
	catalog := s.Engine.Catalog()
	names := slices.Sorted(maps.Keys(catalog.Tools))
	for _, id := range slices.Sorted(maps.Keys(catalog.Agents)) {
		if !catalog.Agents[id].System {
			f.Only = append(f.Only,
				kit.Option{Value: id, Text: c.T("agent %s", kit.Escape(id)), Selected: slices.Contains(d.Constraints.Only, id)})
		}
	}
	for _, id := range names {
		f.Only = append(f.Only, kit.Option{Value: id, Text: kit.Escape(id), Selected: slices.Contains(d.Constraints.Only, id)})
	}
	return f
}

// plannerOptions returns the providers whose models can plan. It returns nil if there is no choice.
func (s *section) plannerOptions(c *ui.Context, chosen string) []kit.Option {
	names := s.App.Drafts.Planners()
	if len(names) == 0 {
		return nil
	}
	out := []kit.Option{{Text: c.T("As configured"), Selected: chosen == ""}}
	for _, n := range names {
		out = append(out, kit.Option{Value: n, Text: kit.Escape(n), Selected: n == chosen})
	}
	return out
}

// agentOptions returns the agents that can answer a request without a plan.
func (s *section) agentOptions(c *ui.Context, chosen string) []kit.Option {
	out := []kit.Option{{Text: c.T("Automatic"), Selected: chosen == ""}}
	agents := s.Engine.Catalog().Agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		if agents[id].System {
			continue
		}
		out = append(out, kit.Option{Value: id, Text: id, Selected: id == chosen})
	}
	return out
}

// typedDraft reads the form of a request.
func (s *section) typedDraft(c *ui.Context) (domain.DraftRequest, error) {
	plain := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(c.Field(name), "\r\n", "\n"))
	}
	d := domain.DraftRequest{Query: plain("intent"), Change: plain("change"), Examples: plain("examples"), Agent: c.Field("agent"),
		Provider: c.Field("provider"), Fresh: c.Field("fresh") != "", Constraints: domain.Constraints{Only: c.Echo.Request().Form["only"],
			ApproveUnsafe: c.Field("approve") != ""}}
	for _, b := range []struct {
		name string
		set  func(float64)
	}{{"max_steps", func(v float64) { d.Constraints.MaxSteps = int(v) }}, {"budget", func(v float64) { d.Constraints.Budget = v }}} {
		if typed := plain(b.name); typed != "" {
			v, err := strconv.ParseFloat(typed, 64)
			if err != nil || v < 0 || v > 1e12 {
				return d, domain.Errorf(domain.CodeInvalid, "%q is not a number", typed)
			}
			b.set(v)
		}
	}
	return d, nil
}

// makeDraft handles the form. It stores a draft, which is planned in the background, and redirects
// to its page.
func (s *section) makeDraft(c *ui.Context) error {
	d, err := s.typedDraft(c)
	if err == nil {
		var made domain.Draft
		if made, err = s.App.Drafts.Start(c, app.DraftStart{Meta: c.Meta(), DraftRequest: d}); err == nil {
			return c.RedirectTo(pathOf(made))
		}
	}
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeTooLarge:
		return s.askForm(c, http.StatusUnprocessableEntity, d, err)
	}
	return err
}
