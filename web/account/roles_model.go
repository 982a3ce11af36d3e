package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// RolesPage lists the permissions of each role.
type RolesPage struct {
	kit.Shell
	Roles []RoleRow
}

// RoleRow is a role, what it may beyond the one before it, and who has it.
type RoleRow struct{ Name, Permissions, People, Names string }
