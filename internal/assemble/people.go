package assemble

import (
	"context"
	"os/user"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
)

// PeopleOf says who is behind the names of actors, for what needs two people.
func PeopleOf(from auth.Directory) func(ctx context.Context, name string) ([]string, error) {
	return func(ctx context.Context, name string) ([]string, error) { return auth.People(ctx, from, name) }
}

// LocalActor is the person at this machine, with the rights of an administrator.
func LocalActor() domain.Actor {
	name := "local"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return domain.Actor{Name: "cli:" + name, Role: domain.RoleAdmin, Surface: "cli"}
}
