package auth

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
)

// tokenActor begins the names of actors that are tokens.
const tokenActor = "token "

// Directory is where people and their tokens are found.
type Directory interface {
	Tokens(ctx context.Context) ([]kairos.Token, error)
	User(ctx context.Context, idOrName string) (kairos.User, error)
}

// People are the persons behind the name of an actor: of a token, the users who made
// tokens of that name, also revoked ones. A token that no user made, because somebody
// at the machine did, is nobody but itself.
func People(ctx context.Context, from Directory, name string) ([]string, error) {
	of, isToken := strings.CutPrefix(name, tokenActor)
	if !isToken {
		return []string{name}, nil
	}
	list, err := from.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	out := []string{name}
	for _, t := range list {
		if t.Name != of {
			continue
		}
		switch u, err := from.User(ctx, t.CreatedBy); {
		case err == nil:
			out = append(out, u.Name)
		case kairos.CodeOf(err) != kairos.CodeNotFound:
			return nil, err
		}
	}
	return out, nil
}
