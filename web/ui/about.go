package ui

import (
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
)

// EventObject returns a link to the object of an event.
func (c *Context) EventObject(e domain.AuditEvent) kit.Link {
	if e.Run != "" {
		l := kit.Link{Text: c.T("run %s", domain.ShortID(e.Run)), Href: "/runs/" + e.Run}
		kind, name, _ := strings.Cut(e.Object, ":")
		switch kind {
		case "": // the run itself
		case "approval":
			l.Text, l.Href = c.T("approval in run %s", domain.ShortID(e.Run)), "/approvals/"+url.PathEscape(name)
		case "run":
			l.Text += " → " + domain.ShortID(name)
		default:
			l.Text += " · " + kit.Escape(e.Object)
		}
		return l
	}
	kind, name, _ := strings.Cut(e.Object, ":")
	l := kit.Link{Text: kit.Escape(e.Object)}
	admin := c.Principal.Role.Includes(domain.RoleAdmin)
	switch kind {
	case "plan":
		l.Href = "/plans/" + url.PathEscape(name)
	case "run":
		l.Href = "/runs/" + url.PathEscape(name)
	case "bulk":
		l.Text, l.Href = c.T("bulk operation %s", kit.Escape(domain.ShortID(name))), "/bulk/"+url.PathEscape(name)
	case "approval":
		l.Text, l.Href = c.T("approval %s", kit.Escape(domain.ShortID(name))), "/approvals/"+url.PathEscape(name)
	case "tool":
		l.Href = "/agents/tools/" + url.PathEscape(name)
	case "agent":
		l.Href = link.Agent(name)
	case "provider":
		l.Href = link.Provider(name)
	case "draft":
		l.Text, l.Href = c.T("draft %s", kit.Escape(domain.ShortID(name))), "/plans/drafts/"+url.PathEscape(name)
	case "secret":
		if admin {
			l.Href = "/settings/secrets"
		}
	case "mcp":
		l.Href = "/agents/tools"
	case "memory":
		l.Href = "/memory"
	case "backup":
		l.Href = "/system/storage"
	case "version":
		l.Href = "/system"
	case "view":
		l.Href = "/runs"
	case "user":
		if l.Href = link.List("/audit", "object:"+filter.Quote(e.Object)); admin {
			if l.Href = "/settings/users"; e.Result == "ok" { // a failed request may name a user that does not exist
				l.Href += "/" + url.PathEscape(name)
			}
		}
	case "token":
		if l.Href = link.List("/audit", "object:"+filter.Quote(e.Object)); admin {
			l.Href = "/settings/tokens"
		}
	case "channel":
		if admin {
			l.Href = "/settings/notifications"
		}
	}
	return l
}
