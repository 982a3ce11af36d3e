package cli

import (
	"context"

	"github.com/kairosd/kairosd/internal/auth"
)

// peopleOf says who is behind the names of actors, for what needs two people.
func peopleOf(from auth.Directory) func(ctx context.Context, name string) ([]string, error) {
	return func(ctx context.Context, name string) ([]string, error) { return auth.People(ctx, from, name) }
}
