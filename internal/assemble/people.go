package assemble

import (
	"context"
	"os/user"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
)

// PeopleOf returns a function that returns the people behind the name of an actor, for rules that
// require two people.
func PeopleOf(from auth.Directory) func(ctx context.Context, name string) ([]string, error) {
	return func(ctx context.Context, name string) ([]string, error) { return auth.People(ctx, from, name) }
}

// LocalActor is the user of this machine, with the rights of an administrator.
func LocalActor() domain.Actor {
	name := "local"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return domain.Actor{Name: "cli:" + name, Role: domain.RoleAdmin, Source: "cli"}
}
