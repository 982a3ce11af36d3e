package memory

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

// remembered returns the owner and the session in the request. The owner is the user by default.
// Only admins may name another owner.
func (s *section) remembered(c *ui.Context) (owner, session string, err error) {
	owner, session = cmp.Or(c.Field("owner"), c.Principal.Name), c.Field("session")
	return owner, session, domain.CheckMemoryOwner(c.Principal.Actor(), owner)
}

// rowsPerPage is the maximum number of sessions or exchanges per page.
const rowsPerPage = 50

// memory serves the list of sessions with memory, or the memory of one session.
func (s *section) memory(c *ui.Context) error {
	owner, session, err := s.remembered(c)
	if err != nil {
		return err
	}
	q := strings.TrimSpace(c.Query("q"))
	p := memoryPage(c, owner, session, q)
	var sample any = domain.MemorySession{}
	read := s.sessions
	if session != "" {
		sample, read = domain.Memory{}, s.exchanges
	}
	if _, problem := filter.ParseItems(q, sample); problem != nil {
		p.Error, p.Suggestion = c.FilterProblem(problem)
		return c.Render(http.StatusBadRequest, Memory(p))
	}
	if err := read(c, &p, owner, session); err != nil {
		return err
	}
	if session != "" && c.Principal.Role.Includes(domain.RoleOperator) {
		p.Forget = link.Memory(c.Principal.Name, "/memory/forget", owner, session, "")
	}
	return c.Render(http.StatusOK, Memory(p))
}

// memoryPage is the page without its items.
func memoryPage(c *ui.Context, owner, session, q string) MemoryPage {
	title := c.T("Memory")
	if session != "" {
		title = c.T("Memory of %s", kit.Escape(session))
	}
	p := MemoryPage{
		Shell:   c.Shell("", title),
		Bar:     query.BarOf("/memory", q),
		Session: kit.Escape(session),
		Example: `kairos ask --session customer-7 "…"`,
		Back:    link.Memory(c.Principal.Name, "/memory", owner, "", ""),
	}
	if owner != c.Principal.Name {
		p.Owner = kit.Escape(owner)
		p.Bar.Keep("owner", owner)
	}
	p.Bar.Keep("session", session)
	p.Bar.Label, p.Bar.Example = c.T("Filter sessions"), "session:customer-7"
	if session != "" {
		p.Bar.Label, p.Bar.Example = c.T("Filter messages"), c.T("words of a message, or run:…")
	}
	return p
}

// sessions fills in the sessions that match the filter.
func (s *section) sessions(c *ui.Context, p *MemoryPage, owner, _ string) error {
	page := c.Page()
	list, next, err := filter.Search(p.Bar.Query, cmp.Or(page.Limit, rowsPerPage), page.After,
		func(after string, limit int) ([]domain.MemorySession, string, error) {
			list, err := s.App.Memory.Sessions(c, c.Principal.Actor(), owner, domain.Page{After: after, Limit: limit})
			return list.Items, list.Next, err
		})
	for _, m := range list {
		p.Sessions = append(p.Sessions, MemorySessionRow{
			Name:      kit.Escape(m.Session),
			Href:      link.Memory(c.Principal.Name, "/memory", owner, m.Session, ""),
			Exchanges: c.Number(m.Exchanges),
			Last:      c.Time(m.LastAt),
		})
	}
	p.after(c, owner, "", next)
	return err
}

// exchanges fills in the exchanges of a session that match the filter.
func (s *section) exchanges(c *ui.Context, p *MemoryPage, owner, session string) error {
	page := c.Page()
	list, next, err := filter.Search(p.Bar.Query, cmp.Or(page.Limit, rowsPerPage), page.After,
		func(after string, limit int) ([]domain.Memory, string, error) {
			list, err := s.App.Memory.Exchanges(c, c.Principal.Actor(), owner, session, domain.Page{After: after, Limit: limit})
			return list.Items, list.Next, err
		})
	if err == nil && len(list) == 0 && next == "" && page.After == "" && p.Bar.Query == "" {
		return domain.Errorf(domain.CodeNotFound, "session %q has no memory", kit.Escape(session))
	}
	for _, m := range list {
		p.Items = append(p.Items, MemoryRow{
			Asked:    kit.Escape(m.Input),
			Answered: kit.Escape(m.Output),
			Run:      kit.Link{Text: domain.ShortID(m.Run), Href: "/runs/" + m.Run},
			At:       c.Time(m.At),
		})
	}
	p.after(c, owner, session, next)
	return err
}

// after sets the address of the next page.
func (p *MemoryPage) after(c *ui.Context, owner, session, next string) {
	if next == "" {
		return
	}
	p.More = link.Memory(c.Principal.Name, "/memory", owner, session, next)
	if p.Bar.Query != "" {
		p.More += "&" + url.Values{"q": {p.Bar.Query}}.Encode()
	}
}

// forgetPage serves the confirmation page for clearing the memory of a session.
func (s *section) forgetPage(c *ui.Context) error { return s.showForget(c, http.StatusOK, "") }

func (s *section) showForget(c *ui.Context, code int, problem string) error {
	owner, session, err := s.remembered(c)
	if err != nil {
		return err
	}
	list, err := s.App.Memory.Exchanges(c, c.Principal.Actor(), owner, session, domain.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return domain.Errorf(domain.CodeNotFound, "session %q has no memory", kit.Escape(session))
	}
	p := kit.ConfirmPage{
		Shell:   c.Shell("", c.T("Forget %s", kit.Escape(session))),
		Heading: c.T("Forget %s", kit.Escape(session)),
		Crumbs:  kit.CrumbsOf(kit.Link{Text: c.T("Memory"), Href: link.Memory(c.Principal.Name, "/memory", owner, "", "")}),
		Text: c.T(
			"Agents in later runs of this session no longer see its messages. This cannot be undone. The journals of its " +
				"runs stay until you delete them.",
		),
		Post: link.Memory(
			c.Principal.Name,
			"/memory/forget",
			owner,
			session,
			"",
		),
		Back:        link.Memory(c.Principal.Name, "/memory", owner, session, ""),
		Idem:        kit.NewID(),
		Error:       problem,
		Danger:      true,
		NeedsReason: true,
		Facts: []kit.Fact{
			{Term: c.T("Session"), Text: kit.Escape(session)},
			{Term: c.T("Owner"), Text: kit.Escape(owner)},
			{Term: c.T("Last"), Text: c.Time(list.Items[0].At).Text},
		},
	}
	return c.Render(code, kit.Confirm(p))
}

func (s *section) forget(c *ui.Context) error {
	owner, session, err := s.remembered(c)
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(c.Field("reason"))
	if reason == "" {
		return s.showForget(c, http.StatusUnprocessableEntity, c.T("Enter a reason. The audit log keeps it."))
	}
	if _, err := s.App.Memory.Forget(c, app.SessionChange{Meta: c.Meta(), Owner: owner, Session: session, Reason: reason}); err != nil {
		return err
	}
	return c.RedirectTo(link.Memory(c.Principal.Name, "/memory", owner, "", ""))
}
