package account

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// roleActions describe the permissions that a role adds to the previous one.
var roleActions = map[domain.Role]string{
	domain.RoleViewer: locale.Mark("see runs, plans, approvals, agents, the audit log, and the state of the server"),
	domain.RoleOperator: locale.Mark(
		"start, resume, fork, cancel, and delete runs; decide approvals and in-doubt steps; disable tools and " +
			"providers; maintenance; verify the audit log",
	),
	domain.RoleAuthor: locale.Mark("write, restore and archive plans; try tools; resume and fork onto another version of a plan"),
	domain.RoleAdmin: locale.Mark(
		"users, API tokens, secrets, retention, notifications and backups; accept changed tools; see the configuration",
	),
}

// roleSettings serves the list of roles with their permissions and users.
func (s *section) roleSettings(c *ui.Context) error {
	users, err := s.App.Accounts.Users(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	p := RolesPage{Shell: c.Shell("settings", "Roles")}
	for _, role := range roles {
		row := RoleRow{Name: string(role), Permissions: c.T(roleActions[role])}
		var names []string
		for _, u := range users {
			if u.Role == role && !u.Disabled {
				names = append(names, kit.Escape(u.Name))
			}
		}
		slices.Sort(names)
		row.People = c.Number(int64(len(names)))
		row.Names = strings.Join(names[:min(len(names), 5)], ", ")
		if len(names) > 5 {
			row.Names += ", …"
		}
		p.Roles = append(p.Roles, row)
	}
	return c.Render(http.StatusOK, Roles(p))
}
