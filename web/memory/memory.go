package memory

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// remembered finds whose session the address speaks of: one's own, or as an
// admin another's.
func (s *section) remembered(c *ui.Context) (owner, session string, err error) {
	owner, session = cmp.Or(c.Field("owner"), c.Who.Name), c.Field("session")
	return owner, session, domain.CheckMemoryOwner(c.Who.Actor(), owner)
}

// memory lists sessions that remember something, or shows what one remembers.
func (s *section) memory(c *ui.Context) error {
	owner, session, err := s.remembered(c)
	if err != nil {
		return err
	}
	title := c.T("Memory")
	if session != "" {
		title = c.T("Memory of %s", kit.Visible(session))
	}
	p := MemoryPage{
		Shell:   c.Shell("", title),
		Session: kit.Visible(session),
		Example: `kairos ask --session customer-7 "…"`,
		Back:    link.Memory(c.Who.Name, "/memory", owner, "", ""),
	}
	if owner != c.Who.Name {
		p.Owner = kit.Visible(owner)
	}
	page := c.Page()
	if session == "" {
		list, err := s.App.Memory.Sessions(c, c.Who.Actor(), owner, page)
		if err != nil {
			return err
		}
		for _, m := range list.Items {
			p.Sessions = append(
				p.Sessions,
				MemorySessionRow{
					Name:      kit.Visible(m.Session),
					Href:      link.Memory(c.Who.Name, "/memory", owner, m.Session, ""),
					Exchanges: c.Number(m.Exchanges),
					Last:      c.Time(m.LastAt),
				},
			)
		}
		if list.Next != "" {
			p.More = link.Memory(c.Who.Name, "/memory", owner, "", list.Next)
		}
		return c.Render(http.StatusOK, Memory(p))
	}
	list, err := s.App.Memory.Exchanges(c, c.Who.Actor(), owner, session, page)
	if err != nil {
		return err
	}
	if len(list.Items) == 0 && page.After == "" {
		return domain.Errorf(domain.CodeNotFound, "session %q has no memory", kit.Visible(session))
	}
	for _, m := range list.Items {
		p.Items = append(
			p.Items,
			MemoryRow{
				Asked:    kit.Visible(m.Input),
				Answered: kit.Visible(m.Output),
				Run:      kit.Link{Text: m.Run[max(0, len(m.Run)-4):], Href: "/runs/" + m.Run},
				At:       c.Time(m.At),
			},
		)
	}
	if list.Next != "" {
		p.More = link.Memory(c.Who.Name, "/memory", owner, session, list.Next)
	}
	if c.Who.Role.Includes(domain.RoleOperator) {
		p.Forget = link.Memory(c.Who.Name, "/memory/forget", owner, session, "")
	}
	return c.Render(http.StatusOK, Memory(p))
}

// forgetPage asks before a session is made to forget.
func (s *section) forgetPage(c *ui.Context) error { return s.showForget(c, http.StatusOK, "") }

func (s *section) showForget(c *ui.Context, code int, problem string) error {
	owner, session, err := s.remembered(c)
	if err != nil {
		return err
	}
	list, err := s.App.Memory.Exchanges(c, c.Who.Actor(), owner, session, domain.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return domain.Errorf(domain.CodeNotFound, "session %q has no memory", kit.Visible(session))
	}
	p := kit.ConfirmPage{
		Shell:   c.Shell("", c.T("Forget %s", kit.Visible(session))),
		Heading: c.T("Forget %s", kit.Visible(session)),
		Crumb:   kit.Link{Text: c.T("Memory"), Href: link.Memory(c.Who.Name, "/memory", owner, "", "")},
		Text: c.T(
			"Agents in later runs of this session no longer see its messages. This cannot be undone. The journals of its " +
				"runs stay until you delete them.",
		),
		Post: link.Memory(
			c.Who.Name,
			"/memory/forget",
			owner,
			session,
			"",
		),
		Back:        link.Memory(c.Who.Name, "/memory", owner, session, ""),
		Idem:        kit.NewID(),
		Error:       problem,
		Danger:      true,
		NeedsReason: true,
		Facts: []kit.Fact{
			{Term: c.T("Session"), Text: kit.Visible(session)},
			{Term: c.T("Owner"), Text: kit.Visible(owner)},
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
	return c.To(link.Memory(c.Who.Name, "/memory", owner, "", ""))
}
