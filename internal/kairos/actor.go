package kairos

// Role orders what a principal may do: each includes the ones before.
type Role string

const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleAuthor   Role = "author"
	RoleAdmin    Role = "admin"
)

// Roles lists all roles, weakest first.
var Roles = []Role{RoleViewer, RoleOperator, RoleAuthor, RoleAdmin}

// Includes reports whether r may do what needs the role s.
func (r Role) Includes(s Role) bool { return roleRank(r) >= roleRank(s) }

func roleRank(r Role) int {
	for i, x := range Roles {
		if x == r {
			return i + 1
		}
	}
	return 0
}

// Actor is who does something, and through which door.
type Actor struct {
	Name    string // "marta", "token ci", "cli:root"
	Role    Role
	Surface string // ui, api, cli, engine
	// Scopes narrow what an API token may do, separated by blanks; empty: all
	// that Role allows.
	Scopes string
}

// System is the daemon itself.
var System = Actor{Name: "system", Role: RoleAdmin, Surface: "engine"}
