package ui

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/static"
)

// Shell returns the frame of a page. section is the nav item that the page belongs to, and title a
// message or literal text.
func (c *Context) Shell(section, title string) kit.Shell {
	s := kit.Shell{
		Title: c.T(
			title,
		), Section: section, Version: c.Site.Version, Static: static.Path, Now: c.Site.Now().UnixMilli(), Favicon: "idle",
		RequestStart: c.Start, Position: c.At, Address: "/", Dialog: c.Target() == "dialog",
		Account: kit.Account{User: c.Principal.Name, Role: string(c.Principal.Role), CSRF: c.Principal.CSRF, Zone: c.Display.Zone.String()},
		Appearance: kit.Appearance{
			Theme:     c.Display.Theme,
			Density:   c.Display.Density,
			Inspector: c.Display.Inspector,
			Shortcuts: c.Display.Shortcuts,
			Display:   displayChoices(c),
		},
	}
	if c.Echo.Request().Method == http.MethodGet {
		s.Address = c.Echo.Request().URL.RequestURI()
		s.JSON = apiAddress(c)
	}
	s.Done = doneMessage(c)
	if c.Principal.Name != "" {
		s.Node, s.Idle = c.Site.Node, c.Site.Idle.Milliseconds()
		if counts, err := c.Site.Reader.RunCounts(c); err == nil {
			if s.InboxCount = counts.OpenApprovals + counts.Waiting[domain.WaitInDoubt]; s.InboxCount > 0 {
				s.Favicon = "waiting"
			}
		}
		if c.Site.Notices != nil {
			for _, n := range c.Site.Notices(c) {
				if section == "system" && n.Href == "/system" {
					n.Href = "" // the system page shows the full notice
				}
				s.Notices = append(s.Notices, kit.Notice{Bad: n.Bad, Text: c.Message(n.Text), Href: n.Href, LinkText: c.Message(n.Action)})
			}
		}
	}
	s.Initials, s.AccountLinks = kit.Initials(c.Principal.Name), nav(c, accountNavItems, section, 0)
	s.Nav, s.Tabs = nav(c, places, section, s.InboxCount), nav(c, phoneNavItems, section, s.InboxCount)
	return s
}
