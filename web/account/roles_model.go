package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

type RolesPage struct {
	kit.Shell
	Roles []RoleRow
}

// RoleRow is a role with the permissions it adds to the previous one, and its users.
type RoleRow struct{ Name, Permissions, People, Names string }
